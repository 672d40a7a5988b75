// Package stray counts work without a request: queries, commands, calls, messages and marks that
// begin in a context without a span. Each stray counts for the place in the program where the stray
// begins. Work before the first request is no stray: programs migrate and load data then.
//
//	var t stray.Table
//	t.Note(scope, trace.SpanKindClient, attributes) // where a span without a parent starts
//	…
//	places := append(t.Places(), stray.Marks(timeline, t.Since())...)
//	fmt.Println(stray.Sentence(places)) // These 312 queries have no request: …
//
// The place of a span is the innermost function of the program's main module on the stack. If the
// stack contains no such function, the place is the innermost function outside the standard library
// and outside instrumentation. The place of a mark is the name of the mark.
//
// A span in a request costs nothing. A stray span costs a walk of its stack, about a microsecond.
// Table.Note takes no lock and allocates nothing for a known place.
//
// # Limitations
//
//   - A table holds 256 places. Strays of further places count for the place [Others].
//   - Instrumentation that makes no span without a request, such as otelpgx, hides its queries.
//   - With the SDK's provider, only spans that the sampler records count.
package stray

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/text"
)

// A Table counts the stray spans of each place. The zero Table is empty. All methods may be called
// concurrently.
type Table struct {
	frames frames
	counts grownMap[key, *atomic.Uint64]
	first  atomic.Pointer[firstRequest]
}

// A firstRequest has the time and the counts at the start of the first request.
type firstRequest struct {
	at     time.Time
	counts map[key]uint64
}

// NoteRequest says that a request starts. Work before the first call is no stray. NoteRequest takes
// no lock. Only the first call allocates.
func (t *Table) NoteRequest() {
	if t.first.Load() != nil {
		return
	}
	first := &firstRequest{time.Now(), map[key]uint64{}}
	for k, n := range t.counts.load() {
		first.counts[k] = n.Load()
	}
	t.first.CompareAndSwap(nil, first)
}

// Since returns the time of the first call of NoteRequest, or the zero Time before that call.
func (t *Table) Since() time.Time {
	if first := t.first.Load(); first != nil {
		return first.at
	}
	return time.Time{}
}

const (
	maxPlaces = 256
	maxScope  = 256 // bytes of the name of a scope
)

// A key identifies a place before [Table.Places] knows the work of all scopes.
type key struct {
	function, scope string
	work            string // empty if only the scope tells
}

// Is reports whether a root span of a kind and a name is a stray. Housekeeping of a pool of
// connections is no stray.
func Is(kind trace.SpanKind, name string) bool {
	return (kind == trace.SpanKindClient || kind == trace.SpanKindProducer) &&
		local.ClassOf(kind, name, false, false) == local.Background
}

// Note counts a stray span for the place on the caller's stack. scope is the name of the span's
// instrumentation scope. attrs are the attributes at the start of the span.
func (t *Table) Note(scope string, kind trace.SpanKind, attrs []attribute.KeyValue) {
	t.count(key{t.frames.origin(scope), text.Start(scope, maxScope), workOf(kind, attrs)})
}

func (t *Table) count(k key) {
	n, known := t.counts.get(k)
	if !known {
		k.scope = strings.Clone(k.scope)
		if n, known = t.counts.add(k, new(atomic.Uint64), maxPlaces); !known {
			// few keys, beyond the limit
			n, _ = t.counts.add(key{Others, "", k.kind()}, new(atomic.Uint64), maxPlaces+len(works))
		}
	}
	n.Add(1)
}

// A grownMap is a map that only grows. Readers take no lock, because each change copies the map.
type grownMap[K comparable, V any] struct {
	all atomic.Pointer[map[K]V]
	mu  sync.Mutex // guards changes of all
}

func (m *grownMap[K, V]) load() map[K]V {
	if all := m.all.Load(); all != nil {
		return *all
	}
	return nil
}

func (m *grownMap[K, V]) get(k K) (v V, ok bool) {
	v, ok = m.load()[k]
	return v, ok
}

// add adds v unless the map has k, and returns the value of k. add returns false if the map has
// most elements already.
func (m *grownMap[K, V]) add(k K, v V, most int) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.load()
	if known, ok := all[k]; ok {
		return known, true
	}
	if len(all) >= most {
		return v, false
	}
	grown := make(map[K]V, len(all)+1)
	maps.Copy(grown, all)
	grown[k] = v
	m.all.Store(&grown)
	return v, true
}
