package cputime

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// A Meter reads the usage of the process. It knows the control groups that limited the process when
// the meter was made. Its methods must not be called concurrently.
type Meter struct {
	root   fs.FS
	groups []group
}

// NewMeter looks for the control groups of the process.
func NewMeter() *Meter {
	root := os.DirFS("/")
	return &Meter{root: root, groups: limits(root)}
}

// Read returns the usage so far.
func (m *Meter) Read() Usage {
	u := Usage{Process: Process()}
	u.Delayed = delayed(m.root)
	var most time.Duration
	for i := range m.groups {
		g := &m.groups[i]
		before := g.throttled
		g.throttled = g.readThrottled(m.root)
		u.Throttled += g.throttled
		if added := g.throttled - before; added > most {
			most, u.Limit = added, g.processors
		}
	}
	return u
}

// delayed returns how long the threads that there are have waited for a processor, as the scheduler
// counts it. Linux has no such count of the process. The second number of a thread's schedstat is
// nanoseconds.
func delayed(root fs.FS) (all time.Duration) {
	const tasks = "proc/self/task"
	threads, _ := fs.ReadDir(root, tasks)
	for _, t := range threads {
		if words := strings.Fields(textOf(root, path.Join(tasks, t.Name(), "schedstat"))); len(
			words) > 1 {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			all += time.Duration(n)
		}
	}
	return all
}
