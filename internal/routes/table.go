package routes

import (
	"cmp"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/onread"
	"github.com/perfline/perfline/internal/text"
)

// Config configures [NewTable].
type Config struct {
	MaxRoutes int // of each class; 0 means 200
}

// Others is the route of all requests whose own route exceeds Config.MaxRoutes.
const Others = "other routes"

const maxName = 256 // bytes of a route

// A Table counts requests and their durations by route. Make one with [NewTable].
type Table struct {
	maxRoutes int
	start     time.Time
	origin    time.Time // the start of the first column: start, truncated to columnStep
	classes   [local.Classes]classTable
	onRead    onread.Functions
}

// A classTable holds the routes of a class.
type classTable struct {
	routes atomic.Pointer[map[string]*route] // copied on each change
	others route

	mu sync.Mutex // guards changes of routes
}

// NewTable returns an empty table, which starts now.
func NewTable(c Config) *Table {
	start := time.Now()
	into := start.Sub(start.Truncate(columnStep))
	t := &Table{maxRoutes: max(0, cmp.Or(c.MaxRoutes, 200)), start: start, origin: start.Add(-into)}
	for i := range t.classes {
		t.classes[i].routes.Store(&map[string]*route{})
	}
	return t
}

// Add counts a local root. The table keeps no reference to root.
func (t *Table) Add(root local.Root) {
	r := t.classes[min(root.Class, local.Housekeeping)].route(root.Name, t.maxRoutes)
	r.add(t.columnAt(root.End), &root, t)
}

// OnRead registers a function that every reading method calls first, on the caller's goroutine and
// without a lock. A tracer provider that hands local roots over late registers one, so that a
// reader sees each root that ended before the call. Several functions may be registered. The
// function must not read the table.
func (t *Table) OnRead(f func()) { t.onRead.Add(f) }

// columnAt returns the number of the column that contains a time.
func (t *Table) columnAt(at time.Time) int { return max(0, int(at.Sub(t.origin)/columnStep)) }

func (t *Table) now() int { return t.columnAt(time.Now()) }

// route returns the route of a name. A new name gets a route if the class has less than most.
func (c *classTable) route(name string, most int) *route {
	name = text.Start(name, maxName)
	known := *c.routes.Load()
	if r := known[name]; r != nil {
		return r
	}
	name = NameOf(name)
	if r := c.find(name); r != nil {
		return r
	}
	if len(known) >= most {
		return &c.others
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known = *c.routes.Load()
	switch r := known[name]; {
	case r != nil:
		return r
	case len(known) >= most:
		return &c.others
	}
	all := maps.Clone(known)
	r := &route{}
	all[strings.Clone(name)] = r
	c.routes.Store(&all)
	return r
}

// find returns the route of a name that NameOf returned, or nil.
func (c *classTable) find(name string) *route {
	if name == Others {
		return &c.others
	}
	return (*c.routes.Load())[name]
}

// each calls do for each route, and for the others.
func (c *classTable) each(do func(name string, r *route)) {
	for name, r := range *c.routes.Load() {
		do(name, r)
	}
	do(Others, &c.others)
}

// NameOf returns the route of a root span's name: at most 256 bytes of UTF-8.
func NameOf(span string) string {
	// Twice, because U+FFFD is longer than a byte that it replaces.
	return text.Start(text.Valid(text.Start(span, maxName)), maxName)
}
