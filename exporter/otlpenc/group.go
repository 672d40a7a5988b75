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
	resourceFields, scopeFields []byte
}

// Resource returns the resource of the group's spans.
func (g *Group) Resource() *resource.Resource { return g.resource }

// Scope returns the instrumentation scope of the group's spans.
func (g *Group) Scope() instrumentation.Scope { return g.scope }

const (
	maxGroups = 1024 // of a Groups, before it starts anew
	slots     = 32   // of a Groups
	probes    = 4    // slots that a group may be in
)

// Groups finds the [Group] of a span. The zero value is ready for use; a Groups must not be copied. Its
// methods are safe for concurrent use.
//
// A Groups holds at most 1024 groups with their resources. Then it starts anew, because a program may
// make providers and tracers without end. Older groups remain valid. A scope with an older and a newer
// group appears twice in a request.
type Groups struct {
	recent  [slots]atomic.Pointer[Group]
	scratch sync.Pool // of *[]byte, see Encode

	mu        sync.Mutex // guards what follows
	groups    map[groupKey]*Group
	resources map[*resource.Resource][]byte
	turn      int // the probe that takes the next group whose slots are all taken
}

// A groupKey has the hash of a scope's attributes in place of the attributes: comparing them may be costly.
// With NaN among them, a scope does not equal itself, and each of its spans would get a group.
type groupKey struct {
	resource                 *resource.Resource
	name, version, schemaURL string
	attributes               attribute.Distinct
	none                     bool // it is the zero scope
}

// Of returns the group of s. It takes no lock and allocates nothing for a group that was in use recently.
// Resources are the same if their pointers are, which all spans of a provider share.
func (t *Groups) Of(s sdktrace.ReadOnlySpan) *Group {
	var room Snapshot
	return t.of(snapshotOf(s, &room))
}

// Group returns the group of spans with this resource and this scope. It takes a lock and makes a key, so callers
// keep the result.
func (t *Groups) Group(res *resource.Resource, scope instrumentation.Scope) *Group {
	return t.find(res, scope, slot(scope.Name))
}

func (t *Groups) of(s *Snapshot) *Group {
	res, scope := s.Resource, &s.InstrumentationScope
	at := slot(scope.Name)
	for i := range uint(probes) {
		g := t.recent[(at+i)%slots].Load()
		if g == nil {
			break // slots fill in this order
		}
		if g.resource == res && g.scope == *scope {
			return g
		}
	}
	return t.find(res, *scope, at)
}

// slot is made of the end of a scope's name, which is an import path.
func slot(name string) uint {
	h := uint(len(name))
	for i := max(0, len(name)-4); i < len(name); i++ {
		h = h*31 + uint(name[i])
	}
	return h
}

func (t *Groups) find(res *resource.Resource, scope instrumentation.Scope, at uint) *Group {
	key := groupKey{
		resource: res, name: scope.Name, version: scope.Version, schemaURL: scope.SchemaURL,
		attributes: scope.Attributes.Equivalent(), none: scope == instrumentation.Scope{},
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups[key]
	if g == nil {
		if len(t.groups) >= maxGroups || t.groups == nil {
			t.forget()
		}
		g = &Group{resource: res, scope: scope, resourceFields: t.resources[res], scopeFields: appendScope(nil, scope)}
		if g.resourceFields == nil {
			g.resourceFields = appendResource([]byte{}, res)
			t.resources[res] = g.resourceFields
		}
		t.groups[key] = g
	}
	t.remember(g, at)
	return g
}

// forget starts anew. t.mu is held.
func (t *Groups) forget() {
	t.groups = map[groupKey]*Group{}
	t.resources = map[*resource.Resource][]byte{}
	for i := range t.recent {
		t.recent[i].Store(nil)
	}
}

// remember lets Of find g without a lock. t.mu is held.
func (t *Groups) remember(g *Group, at uint) {
	for i := range uint(probes) {
		switch slot := &t.recent[(at+i)%slots]; slot.Load() {
		case g:
			return // another goroutine was faster
		case nil:
			slot.Store(g)
			return
		}
	}
	t.turn++
	t.recent[(at+uint(t.turn)%probes)%slots].Store(g)
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
