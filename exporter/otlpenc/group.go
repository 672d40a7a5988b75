package otlpenc

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A Group has the resource and the instrumentation scope that the spans of one tracer share, encoded once.
// Two groups are the same if their pointers are. A Group is immutable.
type Group struct {
	resource *resource.Resource // nil if the spans have none
	scope    instrumentation.Scope

	// Fields of ResourceSpans and of ScopeSpans, but for the spans.
	resourceFields, scopeFields string
}

// Resource returns the resource of the group's spans.
func (g *Group) Resource() *resource.Resource { return g.resource }

// Scope returns the instrumentation scope of the group's spans.
func (g *Group) Scope() instrumentation.Scope { return g.scope }

const (
	maxGroups = 1024 // of a Groups, before it starts anew
	slots     = 64   // groups that are found without a lock
)

// Groups finds the [Group] of a span. The zero value is ready for use; a Groups must not be copied. Its
// methods are safe for concurrent use.
//
// A Groups holds at most 1024 groups with their resources. Then it starts anew, because a program may
// make providers and tracers without end. Older groups remain valid. A scope with an older and a newer
// group appears twice in a request.
type Groups struct {
	recent  [slots]atomic.Pointer[Group] // filled in this order, and then again
	turn    atomic.Uint32                // the slot of the next one
	scratch sync.Pool                    // of *[]byte, see Encode

	mu     sync.Mutex // guards what follows
	groups map[groupKey]*Group
}

// A groupKey has a scope as it is encoded. A scope with NaN among its attributes does not equal itself, and each of its
// spans would get a group.
type groupKey struct {
	resource    *resource.Resource
	scopeFields string
}

// Of returns the group of s. It takes no lock and allocates nothing while there are at most 64 groups.
// Resources are the same if their pointers are, which all spans of a provider share.
func (t *Groups) Of(s sdktrace.ReadOnlySpan) *Group {
	var room Snapshot
	return t.of(snapshotOf(s, &room))
}

func (t *Groups) of(s *Snapshot) *Group {
	for i := range t.recent {
		g := t.recent[i].Load()
		if g == nil {
			break
		}
		if g.resource == s.Resource && g.scope == s.InstrumentationScope {
			return g
		}
	}
	g := t.Group(s.Resource, s.InstrumentationScope)
	if g.scope == s.InstrumentationScope { // it can be found there: it has no NaN
		t.recent[(t.turn.Add(1)-1)%slots].Store(g)
	}
	return g
}

// Group returns the group of spans with this resource and this scope. It takes a lock and encodes the scope, so callers
// keep the result.
func (t *Groups) Group(res *resource.Resource, scope instrumentation.Scope) *Group {
	key := groupKey{res, string(appendScope(nil, scope))}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.groups[key]; g != nil {
		return g
	}
	if len(t.groups) >= maxGroups || t.groups == nil {
		t.groups = map[groupKey]*Group{}
		for i := range t.recent {
			t.recent[i].Store(nil)
		}
		t.turn.Store(0)
	}
	g := &Group{res, scope, string(appendResource(nil, res)), key.scopeFields}
	t.groups[key] = g
	return g
}

func appendResource(b []byte, r *resource.Resource) []byte {
	if r == nil {
		return b
	}
	b, at := beginMessage(b, resourceSpansResource)
	b = appendSet(b, resourceAttributes, r.Set())
	b = endMessage(b, at)
	return appendText(b, resourceSpansSchemaURL, r.SchemaURL())
}

func appendScope(b []byte, s instrumentation.Scope) []byte {
	if s != (instrumentation.Scope{}) {
		var at int
		b, at = beginMessage(b, scopeSpansScope)
		b = appendText(b, scopeName, s.Name)
		b = appendText(b, scopeVersion, s.Version)
		b = appendSet(b, scopeAttributes, &s.Attributes)
		b = endMessage(b, at)
	}
	return appendText(b, scopeSpansSchemaURL, s.SchemaURL)
}

func appendSet(b []byte, tag uint64, set *attribute.Set) []byte {
	for i := set.Iter(); i.Next(); {
		kv := i.Attribute()
		b = appendKeyValue(b, tag, &kv, 0)
	}
	return b
}
