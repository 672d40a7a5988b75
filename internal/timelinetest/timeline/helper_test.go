package timeline_test

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/internal/leaktest"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// manual is a process timeline whose clock and tasks a test moves by hand.
type manual struct {
	*observer.Timeline
	now   time.Duration
	tasks []func()
}

func newManual(change ...func(*observer.TimelineOptions)) *manual {
	m := &manual{}
	o := observer.TimelineOptions{
		Clock:     func() time.Duration { return m.now },
		Scheduler: func(task func()) { m.tasks = append(m.tasks, task) },
	}
	for _, c := range change {
		c(&o)
	}
	m.Timeline = observer.NewTimeline(o)
	return m
}

// run runs the tasks that wait, and those that they cause.
func (m *manual) run() {
	for len(m.tasks) > 0 {
		task := m.tasks[0]
		m.tasks = m.tasks[1:]
		task()
	}
}

// add records an entry of type typ that starts now.
func (m *manual) add(typ observer.Type, name string) { add(m.Timeline, typ, name) }

func add(tl *observer.Timeline, typ observer.Type, name string) {
	rec(tl).Record(record.Type(typ), name, tl.Now(), 0, nil)
}

// watch observes and gathers the names delivered.
func watch(t *testing.T, tl *observer.Timeline, o observer.Options) (*observer.Observer, *[]string) {
	t.Helper()
	var got []string
	obs, err := tl.Observe(func(l observer.List) { got = append(got, names(l.Entries())...) }, o)
	if err != nil {
		t.Fatal(err)
	}
	return obs, &got
}

// entry makes a mark without recording it.
func entry(t *testing.T, tl *observer.Timeline, name string, attrs ...slog.Attr) observer.Entry {
	t.Helper()
	e, err := rec(tl).NewEntry(record.Mark, name, tl.Now(), 0, attrs...)
	if err != nil {
		t.Fatal(err)
	}
	return observer.Entry(e)
}

func names(entries []observer.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

var (
	marksOnly = observer.Options{Types: []observer.Type{observer.Mark}}
	both      = observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}}
)

// rec returns a timeline as code sees it that records, and view returns it as its users see it.
func rec(t *observer.Timeline) *record.Timeline { return (*record.Timeline)(t) }

func view(t *record.Timeline) *observer.Timeline { return (*observer.Timeline)(t) }

// recorded returns an entry as code sees it that records.
func recorded(e observer.Entry) *record.Entry { return (*record.Entry)(&e) }

// spawn does what wg.Go does, which came with Go 1.25.
func spawn(wg *sync.WaitGroup, f func()) {
	wg.Add(1)
	go func() {
		defer wg.Done()
		f()
	}()
}

// inBubble runs a subtest in a bubble.
func inBubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// still runs f while no time passes.
func still(t *testing.T, f func()) {
	t.Helper()
	bubble(t, func(*testing.T) { f() })
}
