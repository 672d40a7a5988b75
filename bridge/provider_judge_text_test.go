package bridge_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The judge compares spans by these texts. They differ if anything that a program can read differs, except that a nil
// slice has the text of an empty one, and that all stacks have the same text. The number of children is left out: our provider counts a measure
// below a program's wrapper of a span, and the SDK does not. A test of the provider compares it.

func spanText(s sdktrace.ReadOnlySpan) string {
	var b []byte
	b = fmt.Appendf(b, "%q %s\n parent %s\n kind %d from %s to %s status %d %q dropped %d %d %d\n", s.Name(), contextText(s.SpanContext()),
		contextText(s.Parent()), s.SpanKind(), timeText(s.StartTime()), timeText(s.EndTime()), s.Status().Code, s.Status().Description,
		s.DroppedAttributes(), s.DroppedEvents(), s.DroppedLinks())
	scope := s.InstrumentationScope()
	library := s.InstrumentationLibrary() //nolint:staticcheck // the interface has it
	b = fmt.Appendf(b, " scope %q %q %q and library %q", scope.Name, scope.Version, scope.SchemaURL, library.Name)
	b = append(appendAttributes(b, scope.Attributes.ToSlice()), "\n resource"...)
	b = append(appendAttributes(b, s.Resource().Attributes()), '\n')
	b = append(appendAttributes(b, s.Attributes()), '\n')
	for _, e := range s.Events() {
		b = fmt.Appendf(b, " event %q at %s dropped %d", e.Name, timeText(e.Time), e.DroppedAttributeCount)
		b = append(appendAttributes(b, e.Attributes), '\n')
	}
	for _, l := range s.Links() {
		b = fmt.Appendf(b, " link %s dropped %d", contextText(l.SpanContext), l.DroppedAttributeCount)
		b = append(appendAttributes(b, l.Attributes), '\n')
	}
	return string(b)
}

// timeText tells apart times that a program can tell apart. It has whether the time has a monotonic reading, too.
func timeText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format(time.RFC3339Nano) + map[bool]string{true: " m"}[strings.Contains(t.String(), " m=")]
}

func contextText(sc trace.SpanContext) string {
	return fmt.Sprintf("%s-%s-%s remote=%t %q", sc.TraceID(), sc.SpanID(), sc.TraceFlags(), sc.IsRemote(), sc.TraceState().String())
}

func attributesText(attrs []attribute.KeyValue) string { return string(appendAttributes(nil, attrs)) }

func appendAttributes(b []byte, attrs []attribute.KeyValue) []byte {
	for _, kv := range attrs {
		b = append(strconv.AppendQuote(append(b, ' '), string(kv.Key)), '=')
		b = appendValue(b, kv.Value)
	}
	return b
}

func appendValue(b []byte, v attribute.Value) []byte {
	b = append(strconv.AppendInt(b, int64(v.Type()), 10), ':')
	switch v.Type() {
	case attribute.STRING:
		return strconv.AppendQuote(b, withoutStack(v.AsString()))
	case attribute.BYTESLICE:
		return fmt.Appendf(b, "%x", v.AsByteSlice())
	case attribute.BOOL:
		return strconv.AppendBool(b, v.AsBool())
	case attribute.INT64:
		return strconv.AppendInt(b, v.AsInt64(), 10)
	case attribute.FLOAT64:
		return strconv.AppendUint(b, math.Float64bits(v.AsFloat64()), 16)
	case attribute.BOOLSLICE:
		return fmt.Append(b, v.AsBoolSlice())
	case attribute.INT64SLICE:
		return fmt.Append(b, v.AsInt64Slice())
	case attribute.FLOAT64SLICE:
		for _, f := range v.AsFloat64Slice() {
			b = append(strconv.AppendUint(b, math.Float64bits(f), 16), ',')
		}
	case attribute.STRINGSLICE:
		return fmt.Appendf(b, "%q", v.AsStringSlice())
	case attribute.SLICE:
		b = append(b, '[')
		for _, e := range v.AsSlice() {
			b = append(appendValue(b, e), ',')
		}
		b = append(b, ']')
	case attribute.MAP:
		b = append(appendAttributes(append(b, '{'), v.AsMap()), '}')
	default:
	}
	return b
}

// withoutStack returns s, or the same text for each stack.
func withoutStack(s string) string {
	if strings.HasPrefix(s, "goroutine ") && strings.Contains(s, " [running") {
		return "a stack"
	}
	return s
}

// firstDifference returns two texts around the place at which they differ.
func firstDifference(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	around := func(s string) string { return s[max(0, n-200):min(len(s), n+200)] }
	return around(a), around(b)
}
