// Package attributes converts the attributes of timelines to those of OpenTelemetry, and brings
// attributes within the limits of a span.
package attributes

import (
	"log/slog"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
)

// Convert converts the detail of an entry, which is frozen. [otlpenc.Value] converts the values.
func Convert(attrs []slog.Attr) []attribute.KeyValue {
	if len(attrs) == 0 {
		return nil
	}
	return AppendConverted(make([]attribute.KeyValue, 0, len(attrs)), attrs)
}

// AppendConverted appends what Convert returns.
func AppendConverted(kvs []attribute.KeyValue, attrs []slog.Attr) []attribute.KeyValue {
	n := len(kvs)
	for _, a := range attrs {
		kvs = appendAttr(kvs, "", a)
	}
	return kvs[:n+len(Unique(kvs[n:]))]
}

// appendAttr converts one attribute. prefix has the names of the groups around it.
func appendAttr(kvs []attribute.KeyValue, prefix string, a slog.Attr) []attribute.KeyValue {
	if a.Value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, member := range a.Value.Group() {
			kvs = appendAttr(kvs, prefix, member)
		}
		return kvs
	}
	if a.Key == "" {
		return kvs
	}
	key := attribute.Key(text.Valid(prefix + a.Key))
	return append(kvs, attribute.KeyValue{Key: key, Value: otlpenc.Value(a.Value)})
}
