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

// A Table counts requests and durations by route. Create a Table with [NewTable].
type Table struct {
	maxRoutes int
	start     time.Time
	origin    time.Time // the start of the first column: start, truncated to columnStep
	classes   [local.Classes]classTable
	onRead    onread.Functions
	slow      atomic.Pointer[SlowRule] // nil without a rule
}

// A classTable holds the routes of a class.
type classTable struct {
	routes atomic.Pointer[map[string]*route] // copied on each change
	others route

	mu sync.Mutex // guards changes of routes
}

// NewTable returns an empty table. The table's window [SinceStart] begins now.
func NewTable(c Config) *Table {
	start := time.Now()
	into := start.Sub(start.Truncate(columnStep))
	t := &Table{maxRoutes: max(0, cmp.Or(c.MaxRoutes, 200)), start: start, origin: start.Add(-into)}
	for i := range t.classes {
		t.classes[i].routes.Store(&map[string]*route{})
	}
	return t
}

// Add counts a local root. The table does not retain the root.
func (t *Table) Add(root local.Root) {
	r := t.classes[min(root.Class, local.Housekeeping)].route(&root, t.maxRoutes)
	r.add(t.columnAt(root.End), &root, t)
}

// OnRead registers f. Each reading method calls f first, on the caller's goroutine and without a
// lock. f must not read the table. Several functions may be registered.
//
// A tracer provider that delivers local roots late registers a function that delivers the pending
// roots. Therefore a reader receives all roots that ended before the call.
func (t *Table) OnRead(f func()) { t.onRead.Add(f) }

// columnAt returns the number of the column that contains a time.
func (t *Table) columnAt(at time.Time) int { return max(0, int(at.Sub(t.origin)/columnStep)) }

func (t *Table) now() int { return t.columnAt(time.Now()) }

// route returns the route of a root. A new name gets a route if the class has less than most.
func (c *classTable) route(root *local.Root, most int) *route {
	name := text.Start(root.Name, maxName)
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
	r := &route{message: root.Message}
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

// NameOf returns the route for the name of a root span. The route is the beginning of the name, at
// most 256 bytes of valid UTF-8.
func NameOf(span string) string {
	// Twice, because U+FFFD is longer than a byte that it replaces.
	return text.Start(text.Valid(text.Start(span, maxName)), maxName)
}
