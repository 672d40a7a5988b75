package cputime

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// A Meter reads the CPU usage of the process. The meter reads the control groups that limited the
// process at the call of NewMeter. The methods must not be called concurrently.
type Meter struct {
	root   fs.FS
	groups []group
}

// NewMeter returns a meter for the process and for the control groups that limit the process.
func NewMeter() *Meter {
	root := os.DirFS("/")
	return &Meter{root: root, groups: limitedGroups(root)}
}

// Read returns the usage of the process so far.
func (m *Meter) Read() Usage {
	u := Usage{Process: Process(), Delayed: readDelayed(m.root)}
	var most time.Duration
	for i := range m.groups {
		g := &m.groups[i]
		before := g.throttled
		g.throttled = throttledTime(m.root, g.Group)
		u.Throttled += g.throttled
		if added := g.throttled - before; added > most {
			most, u.Limit = added, g.processors
		}
	}
	return u
}

// readDelayed returns the time for which the current threads waited for a processor: the second
// number of each thread's schedstat, in nanoseconds. Linux has no such count for a process.
func readDelayed(root fs.FS) (sum time.Duration) {
	const tasks = "proc/self/task"
	threads, _ := fs.ReadDir(root, tasks)
	for _, t := range threads {
		text, _ := fs.ReadFile(root, path.Join(tasks, t.Name(), "schedstat"))
		words := strings.Fields(string(text))
		if len(words) > 1 {
			n, _ := strconv.ParseInt(words[1], 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}
