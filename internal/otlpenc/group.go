package otlpenc

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/otlpwire"
)

// A Group has the resource and the instrumentation scope that the spans of one tracer share, or the
// records of one logger, encoded once. Two groups are the same if their pointers are. A Group is
// immutable.
type Group struct {
	resource *resource.Resource // nil if the items have none
	scope    instrumentation.Scope

	// Fields of ResourceSpans and of ScopeSpans, but for the spans. ResourceLogs and ScopeLogs have
	// the same.
	resourceFields, scopeFields string
}

// Resource returns the resource of the group's items.
func (g *Group) Resource() *resource.Resource { return g.resource }

// Scope returns the instrumentation scope of the group's items.
func (g *Group) Scope() instrumentation.Scope { return g.scope }

// maxGroups is the number of groups that a Groups has before it starts anew.
const maxGroups = 256

// Groups finds the [Group] of a span or a log record. The zero value is ready for use; a Groups
// must not be copied. Its methods are safe for concurrent use.
//
// A Groups holds at most 256 groups with their resources. Then it starts anew, because a program
// may make providers and tracers without end. Older groups remain valid. A scope with an older and
// a newer group appears twice in a request.
type Groups struct {
	known   atomic.Pointer[[]*Group] // a list does not change: mu guards its replacement by another
	mu      sync.Mutex
	scratch sync.Pool // of *scratch, see Encode
}

// all returns the groups that there are.
func (t *Groups) all() []*Group {
	if known := t.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Group returns the group of items with this resource and this scope. Resources are the same if
// their pointers are, which all spans of a provider share. It takes no lock and allocates nothing
// if it has the group already. An exception is a scope with NaN among its attributes, which does
// not equal itself.
func (t *Groups) Group(res *resource.Resource, scope instrumentation.Scope) *Group {
	for _, g := range t.all() {
		if g.resource == res && g.scope == scope {
			return g
		}
	}
	return t.add(res, scope)
}

// add returns a new group, unless there is one with the same encoded scope.
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
