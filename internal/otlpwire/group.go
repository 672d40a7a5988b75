package otlpwire

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Tags of resources and scopes, the same for all signals.
const (
	Resource  = 1<<3 | Prefixed // of ResourceSpans, ResourceMetrics …
	Scopes    = 2<<3 | Prefixed
	SchemaURL = 3<<3 | Prefixed

	Scope = 1<<3 | Prefixed // of ScopeSpans, ScopeMetrics …
	Items = 2<<3 | Prefixed

	resourceAttributes = 1<<3 | Prefixed
	scopeName          = 1<<3 | Prefixed
	scopeVersion       = 2<<3 | Prefixed
	scopeAttributes    = 3<<3 | Prefixed
)

// AppendResource appends the resource r, and the URL of the resource's schema. Both are fields of a
// group message such as ResourceSpans. AppendResource appends nothing if r is nil.
func AppendResource(b []byte, r *resource.Resource) []byte {
	if r == nil {
		return b
	}
	b, at := BeginMessage(b, Resource)
	b = AppendSet(b, resourceAttributes, r.Set())
	b = EndMessage(b, at)
	return AppendText(b, SchemaURL, r.SchemaURL())
}

// AppendScope appends the instrumentation scope s, and the URL of the scope's schema. Both are
// fields of a group message such as ScopeSpans. AppendScope omits an empty scope.
func AppendScope(b []byte, s instrumentation.Scope) []byte {
	if s != (instrumentation.Scope{}) {
		var at int
		b, at = BeginMessage(b, Scope)
		b = AppendText(b, scopeName, s.Name)
		b = AppendText(b, scopeVersion, s.Version)
		b = AppendSet(b, scopeAttributes, &s.Attributes)
		b = EndMessage(b, at)
	}
	return AppendText(b, SchemaURL, s.SchemaURL)
}

// AppendSet appends the attributes in set. Each attribute becomes a field with the given tag.
func AppendSet(b []byte, tag uint64, set *attribute.Set) []byte {
	for i := set.Iter(); i.Next(); {
		kv := i.Attribute()
		b = AppendKeyValue(b, tag, &kv, 0)
	}
	return b
}
