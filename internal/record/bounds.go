package record

import (
	"log/slog"
	"unsafe"
)

// Bounds of texts from outside, in bytes. A client may choose a text, and memory and spans must not
// grow with the text. A longer text is cut where it enters, and ends in "…". Attribute values of
// OpenTelemetry's API stay whole, because the specification has no default limit
// (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT sets one). Bounds of memory count these values.
const (
	MaxName = 2 << 10  // of spans, marks, measures, events, routes and instrumentation scopes
	MaxKey  = 256      // of an attribute
	MaxText = 16 << 10 // of an error's text, and of an attribute's value in marks and measures
)

// Name returns the name s, cut to at most [MaxName] bytes.
func Name(s string) string { return cut(s, MaxName) }

// Key returns the key s of an attribute, cut to at most [MaxKey] bytes.
func Key(s string) string { return cut(s, MaxKey) }

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	b := budget{elements: 1, bytes: limit - len(ellipsis)}
	return b.print(func(p *printer) { p.str(s) })
}

// Contents returns the memory size of the keys and values of attrs in bytes. The elements of the
// slice attrs do not count.
func Contents(attrs []slog.Attr) (n int) {
	for i := range attrs {
		n += len(attrs[i].Key) + valueSize(attrs[i].Value)
	}
	return n
}

func valueSize(v slog.Value) (n int) {
	switch v.Kind() {
	case slog.KindString:
		return len(v.String())
	case slog.KindGroup:
		members := v.Group()
		return Contents(members) + len(members)*attrSize
	case slog.KindAny:
		switch list := v.Any().(type) {
		case []string:
			for _, s := range list {
				n += len(s) + int(unsafe.Sizeof(s))
			}
		case []bool:
			n = len(list)
		case []int64:
			n = 8 * len(list)
		case []float64:
			n = 8 * len(list)
		case []byte:
			n = len(list)
		}
	default:
	}
	return n
}
