package otlpenc

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/otlpwire"
)

// A Group contains the resource and the instrumentation scope of spans or log records. A Group
// stores the encoded form, so the encoding happens once. Compare groups by pointer. A Group is
// immutable.
type Group struct {
	resource *resource.Resource // nil without a resource
	scope    instrumentation.Scope

	// Encoded fields of ResourceSpans and of ScopeSpans, without the spans. The fields of
	// ResourceLogs and ScopeLogs are the same.
	resourceFields, scopeFields string
}

// Resource returns the resource of the group's items.
func (g *Group) Resource() *resource.Resource { return g.resource }

// Scope returns the instrumentation scope of the group's items.
func (g *Group) Scope() instrumentation.Scope { return g.scope }

// NewGroup returns a group with a resource that [EncodeResource] encoded, perhaps in an earlier
// process. The group has no Resource.
func NewGroup(resource []byte, scope instrumentation.Scope) *Group {
	return &Group{nil, scope, string(resource), string(otlpwire.AppendScope(nil, scope))}
}

// EncodeResource returns an encoded resource, for [NewGroup].
func EncodeResource(r *resource.Resource) []byte { return otlpwire.AppendResource(nil, r) }

// Fields returns the encoded fields of the group's ResourceSpans and ScopeSpans.
func (g *Group) Fields() (resource, scope string) { return g.resourceFields, g.scopeFields }

const maxGroups = 256

// Groups finds the [Group] of a span or a log record. The zero value is ready for use. Groups must
// not be copied. All methods are safe for concurrent use.
//
// Groups stores at most 256 groups. The next group replaces the whole list. Therefore memory stays
// bounded if a program creates tracers without end. Removed groups remain valid. A scope appears
// twice in a request that contains a removed and a new group of the scope.
type Groups struct {
	known   atomic.Pointer[[]*Group] // a stored list does not change
	mu      sync.Mutex               // guards the replacement of known
	scratch sync.Pool                // of *scratch, see Encode
}

func (t *Groups) all() []*Group {
	if known := t.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Group returns the group for a resource and a scope. Group compares resources by pointer, because
// all spans of a provider share one pointer. If the group exists, Group uses no lock and allocates
// nothing. For a scope with a NaN attribute, Group locks and allocates, because NaN does not equal
// NaN.
func (t *Groups) Group(res *resource.Resource, scope instrumentation.Scope) *Group {
	for _, g := range t.all() {
		if g.resource == res && g.scope == scope {
			return g
		}
	}
	return t.add(res, scope)
}

// add adds a group, unless a group with the same encoded scope exists.
func (t *Groups) add(res *resource.Resource, scope instrumentation.Scope) *Group {
	fields := string(otlpwire.AppendScope(nil, scope))
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all()
	for _, g := range all {
		if g.resource == res && g.scopeFields == fields {
			return g
		}
	}
	if len(all) == maxGroups {
		all = nil
	}
	g := &Group{res, scope, string(otlpwire.AppendResource(nil, res)), fields}
	all = append(all, g)
	t.known.Store(&all)
	return g
}
