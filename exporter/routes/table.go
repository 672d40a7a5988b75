package routes

import (
	"cmp"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/text"
)

// A Kind says what a local root span stands for.
type Kind uint8

// The kinds of local root spans.
const (
	Request    Kind = iota
	Stream          // a request that lasts as long as its client stays
	Background      // a call or a measure without a request

	kinds = iota
)

// String returns the kind in lower case.
func (k Kind) String() string {
	return [kinds]string{"request", "stream", "background"}[min(k, Background)]
}

// An Ended is a local root span that has ended.
type Ended struct {
	Route  string // the span's name at its end; the table keeps no reference to it
	Kind   Kind
	End    time.Time // best with the reading of the monotonic clock
	Took   time.Duration
	Failed bool // its status is Error
}

// Config configures [NewTable].
type Config struct {
	MaxRoutes int // of each Kind; 0 means 200
}

// Others is the route of the requests for whose own routes a table has no room.
const Others = "other routes"

const maxName = 256 // bytes of a route

// A Table has the counts and the durations of requests by route. Make one with [NewTable].
type Table struct {
	maxRoutes int
	start     time.Time
	origin    time.Time // where the first column begins: a multiple of columnStep, just before start
	kinds     [kinds]kindTable
}

// A kindTable has the routes of a kind.
type kindTable struct {
	routes atomic.Pointer[map[string]*route] // the map does not change
	others route

	mu sync.Mutex // guards changes of routes
}

// NewTable returns an empty table, which starts now.
func NewTable(c Config) *Table {
	start := time.Now()
	into := start.Sub(start.Truncate(columnStep))
	t := &Table{maxRoutes: max(0, cmp.Or(c.MaxRoutes, 200)), start: start, origin: start.Add(-into)}
	for i := range t.kinds {
		t.kinds[i].routes.Store(&map[string]*route{})
	}
	return t
}

// Add counts a span.
func (t *Table) Add(e Ended) {
	r := t.kinds[min(e.Kind, Background)].get(e.Route, t.maxRoutes)
	r.add(t.columnAt(e.End), &e, t)
}

// columnAt returns the number of the column that has a time.
func (t *Table) columnAt(at time.Time) int { return max(0, int(at.Sub(t.origin)/columnStep)) }

// now returns the number of the column that has the present time.
func (t *Table) now() int { return t.columnAt(time.Now()) }

// get returns the route of a name. It makes one if there is room for it.
func (k *kindTable) get(name string, most int) *route {
	name = cut(name)
	known := *k.routes.Load()
	if r := known[name]; r != nil {
		return r
	}
	name = NameOf(name)
	if r := k.find(name); r != nil {
		return r
	}
	if len(known) >= most {
		return &k.others
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known = *k.routes.Load()
	switch r := known[name]; {
	case r != nil:
		return r
	case len(known) >= most:
		return &k.others
	}
	all := maps.Clone(known)
	r := &route{}
	all[strings.Clone(name)] = r
	k.routes.Store(&all)
	return r
}

// find returns the route of a name that is cut and valid, or nil.
func (k *kindTable) find(name string) *route {
	if name == Others {
		return &k.others
	}
	return (*k.routes.Load())[name]
}

// NameOf returns the name that a [Table] gives the route of a span with a name: at most 256 bytes of UTF-8.
func NameOf(span string) string {
	return cut(text.Valid(cut(span))) // U+FFFD is longer than a byte that it replaces
}

// cut returns the beginning of a name that is too long.
func cut(name string) string {
	if len(name) <= maxName {
		return name
	}
	end := maxName
	for range utf8.UTFMax - 1 {
		if utf8.RuneStart(name[end]) {
			break
		}
		end--
	}
	return name[:end]
}
