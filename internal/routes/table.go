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

// Others is the route of the requests for whose own routes a table has no room.
const Others = "other routes"

const maxName = 256 // bytes of a route

// A Table has the counts and the durations of requests by route. Make one with [NewTable].
type Table struct {
	maxRoutes int
	start     time.Time
	// where the first column begins: a multiple of columnStep, just before start
	origin  time.Time
	classes [local.Classes]classTable
	onRead  onread.Functions
}

// A classTable has the routes of a class.
type classTable struct {
	routes atomic.Pointer[map[string]*route] // the map does not change
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

// Add counts a local root. The table keeps no reference to it.
func (t *Table) Add(root local.Root) {
	r := t.classes[min(root.Class, local.Housekeeping)].get(root.Name, t.maxRoutes)
	r.add(t.columnAt(root.End), &root, t)
}

// OnRead registers a function that every method which reads the table calls first, on the caller's
// goroutine and without a lock. A tracer provider that hands local roots over late registers it, so
// that a reader sees each root that ended before the call. Several functions may be registered. The
// function must not read the table.
func (t *Table) OnRead(f func()) { t.onRead.Add(f) }

// columnAt returns the number of the column that has a time.
func (t *Table) columnAt(at time.Time) int { return max(0, int(at.Sub(t.origin)/columnStep)) }

// now returns the number of the column that has the present time.
func (t *Table) now() int { return t.columnAt(time.Now()) }

// get returns the route of a name. It makes one if there is room for it.
func (c *classTable) get(name string, most int) *route {
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

// find returns the route of a name that is cut and valid, or nil.
func (c *classTable) find(name string) *route {
	if name == Others {
		return &c.others
	}
	return (*c.routes.Load())[name]
}

// NameOf returns the name that a [Table] gives the route of a span with a name: at most 256 bytes
// of UTF-8.
func NameOf(span string) string {
	// Twice, because U+FFFD is longer than a byte that it replaces.
	return text.Start(text.Valid(text.Start(span, maxName)), maxName)
}
