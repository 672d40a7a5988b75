package observertest

import (
	"sync"
	"time"
)

// A Clock is a timeline's clock that a test moves by hand: its Now is a TimelineOptions.Clock. The
// zero Clock stands at the timeline's origin. A Clock is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex // guards now
	now time.Duration
}

// Now returns the time since the timeline's origin.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock. It panics if d is negative: a timeline's clock does not go backwards.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("observertest: Clock.Advance(" + d.String() + "): a timeline's clock does not go backwards")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
}

// Tasks is a task queue that a test runs by hand: its Schedule is a TimelineOptions.Scheduler. The
// zero Tasks is empty. Tasks is safe for concurrent use.
type Tasks struct {
	mu    sync.Mutex // guards queue
	queue []func()
}

// Schedule adds a task.
func (q *Tasks) Schedule(task func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, task)
}

// Len returns how many tasks wait.
func (q *Tasks) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// Run runs the tasks that wait, and the tasks that they cause, on the calling goroutine. It returns
// how many tasks ran.
func (q *Tasks) Run() int {
	for n := 0; ; n++ {
		task := q.next()
		if task == nil {
			return n
		}
		task()
	}
}

func (q *Tasks) next() (task func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) > 0 {
		task, q.queue = q.queue[0], q.queue[1:]
	}
	return task
}
