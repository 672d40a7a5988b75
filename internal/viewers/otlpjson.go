package viewers

import (
	"encoding/base64"
	"io"
	"iter"
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/text"
)

// WriteRequestOTLP writes the spans of a request in OTLP's JSON encoding, as one
// ExportTraceServiceRequest. A Collector reads the file with the encoding otlp_json. Jaeger reads
// the file by "Upload".
//
//   - Spans are grouped by resource and by scope, in the order of first appearance in the request.
//   - Ids are hexadecimal. Enums are numbers. Integers of 64 bits are texts. Bytes are base 64. The
//     texts "NaN", "Infinity" and "-Infinity" replace numbers that JSON cannot express.
//   - Texts are complete. U+FFFD replaces invalid UTF-8.
//
// The file omits samples and states. The content equals the OTLP request of package otlpenc for the
// same spans.
func WriteRequestOTLP(w io.Writer, q requests.Request) error {
	f := otlpFile{newJSONStream(w)}
	f.raw(`{"resourceSpans":[`)
	for i, all := range inGroups(q.Spans, func(s *otlpenc.Span) any { return s.Group.Resource() }) {
		if f.failed() {
			break
		}
		f.separate(i)
		f.resource(all)
	}
	f.raw("]}\n")
	return f.Flush()
}

// inGroups yields the spans with equal keys, in the order of each key's first span.
func inGroups(spans []*otlpenc.Span, key func(*otlpenc.Span) any) iter.Seq2[int, []*otlpenc.Span] {
	var order []any
	groups := map[any][]*otlpenc.Span{}
	for _, s := range spans {
		k := key(s)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	return func(yield func(int, []*otlpenc.Span) bool) {
		for i, k := range order {
			if !yield(i, groups[k]) {
				return
			}
		}
	}
}

// otlpFile is the state of writing a file.
type otlpFile struct{ jsonStream }

// separate writes a comma before all elements but the first.
func (f otlpFile) separate(i int) {
	if i > 0 {
		f.raw(",")
	}
}

func (f otlpFile) resource(spans []*otlpenc.Span) {
	f.raw("{")
	if r := spans[0].Group.Resource(); r != nil {
		f.raw(`"resource":{`)
		f.write(trimComma(appendOTLPAttributes(nil, r.Attributes(), 0)))
		f.raw(`},`)
		f.write(appendOTLPText(nil, `"schemaUrl":`, r.SchemaURL()))
	}
	f.raw(`"scopeSpans":[`)
	for i, all := range inGroups(spans, func(s *otlpenc.Span) any { return s.Group }) {
		f.separate(i)
		f.scope(all[0].Group.Scope())
		f.raw(`"spans":[`)
		for n, s := range all {
			if f.failed() {
				return
			}
			f.separate(n)
			f.raw("\n")
			f.write(appendOTLPSpan(nil, s))
		}
		f.raw("]}")
	}
	f.raw("]}")
}

func (f otlpFile) scope(s instrumentation.Scope) {
	f.raw("{")
	if s != (instrumentation.Scope{}) {
		b := appendOTLPText([]byte(`"scope":{`), `"name":`, s.Name)
		b = appendOTLPText(b, `"version":`, s.Version)
		b = appendOTLPAttributes(b, s.Attributes.ToSlice(), 0)
		f.write(append(trimComma(b), "},"...))
	}
	f.write(appendOTLPText(nil, `"schemaUrl":`, s.SchemaURL))
}

// appendOTLPSpan appends a span without members of default values, as in OTLP's binary encoding.
func appendOTLPSpan(b []byte, s *otlpenc.Span) []byte {
	b = appendOTLPIDs(append(b, '{'), s.TraceID, s.SpanID)
	if s.ParentID.IsValid() {
		b = append(append(append(b, `,"parentSpanId":"`...), s.ParentID.String()...), '"')
	}
	b = append(b, ',')
	b = appendOTLPText(b, `"traceState":`, s.TraceState)
	b = appendOTLPNumber(b, `"flags":`, uint64(otlpFlags(s.TraceFlags, s.Remote)))
	b = appendOTLPText(b, `"name":`, s.Name)
	if k := s.Kind; k > trace.SpanKindUnspecified && k <= trace.SpanKindConsumer {
		b = appendOTLPNumber(b, `"kind":`, uint64(k))
	}
	b = appendOTLPTime(b, `"startTimeUnixNano":`, s.Start)
	b = appendOTLPTime(b, `"endTimeUnixNano":`, s.End)
	b = appendOTLPAttributes(b, s.Attributes, s.DroppedAttributes)
	b = appendOTLPList(b, `"events":`, s.Events, appendOTLPEvent)
	b = appendOTLPNumber(b, `"droppedEventsCount":`, otlpCount(s.DroppedEvents))
	b = appendOTLPList(b, `"links":`, s.Links, appendOTLPLink)
	b = appendOTLPNumber(b, `"droppedLinksCount":`, otlpCount(s.DroppedLinks))
	b = append(b, `"status":{`...)
	b = appendOTLPText(b, `"message":`, s.Status.Description)
	switch s.Status.Code {
	case codes.Ok:
		b = append(b, `"code":1`...)
	case codes.Error:
		b = append(b, `"code":2`...)
	case codes.Unset:
	}
	return append(trimComma(b), "}}"...)
}

func appendOTLPEvent(b []byte, e sdktrace.Event) []byte {
	b = appendOTLPTime(append(b, '{'), `"timeUnixNano":`, e.Time)
	b = appendOTLPText(b, `"name":`, e.Name)
	return append(trimComma(appendOTLPAttributes(b, e.Attributes, e.DroppedAttributeCount)), '}')
}

func appendOTLPLink(b []byte, l sdktrace.Link) []byte {
	b = append(appendOTLPIDs(append(b, '{'), l.SpanContext.TraceID(), l.SpanContext.SpanID()), ',')
	b = appendOTLPText(b, `"traceState":`, l.SpanContext.TraceState().String())
	b = appendOTLPAttributes(b, l.Attributes, l.DroppedAttributeCount)
	flags := otlpFlags(l.SpanContext.TraceFlags(), l.SpanContext.IsRemote())
	return append(trimComma(appendOTLPNumber(b, `"flags":`, uint64(flags))), '}')
}

// otlpFlags returns the flags of a span or a link (SpanFlags of OTLP): the trace's flags, and
// whether the parent or the linked span was in another process.
func otlpFlags(own trace.TraceFlags, remote bool) uint32 {
	const known, isRemote = 0x100, 0x200
	if remote {
		return uint32(own) | known | isRemote
	}
	return uint32(own) | known
}

func appendOTLPIDs(b []byte, id trace.TraceID, span trace.SpanID) []byte {
	b = append(append(append(b, `"traceId":"`...), id.String()...), '"')
	return append(append(append(b, `,"spanId":"`...), span.String()...), '"')
}

// appendOTLPText appends a member and a comma, unless the text is empty. trimComma removes the last
// comma.
func appendOTLPText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return append(append(append(b, name...), marshal(text.Valid(s))...), ',')
}

// appendOTLPNumber appends a member unless the number is zero.
func appendOTLPNumber(b []byte, name string, n uint64) []byte {
	if n == 0 {
		return b
	}
	return append(strconv.AppendUint(append(b, name...), n, 10), ',')
}

// otlpCount limits a count to the range of OTLP's counts.
func otlpCount(n int) uint64 { return min(uint64(max(0, n)), math.MaxUint32) }

func appendOTLPTime(b []byte, name string, t time.Time) []byte {
	b = append(append(b, name...), '"')
	return append(strconv.AppendUint(b, otlpwire.Nanos(t), 10), `",`...)
}

// appendOTLPList appends a member unless the list is empty.
func appendOTLPList[T any](b []byte, name string, list []T, element func([]byte, T) []byte) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(b, name...), '[')
	for _, e := range list {
		b = append(element(b, e), ',')
	}
	return append(trimComma(b), "],"...)
}

// appendOTLPAttributes appends the members of attributes and of the number of dropped attributes.
func appendOTLPAttributes(b []byte, attrs []attribute.KeyValue, dropped int) []byte {
	b = appendOTLPList(b, `"attributes":`, attrs,
		func(b []byte, kv attribute.KeyValue) []byte { return appendOTLPKeyValue(b, kv, 0) })
	return appendOTLPNumber(b, `"droppedAttributesCount":`, otlpCount(dropped))
}

func appendOTLPKeyValue(b []byte, kv attribute.KeyValue, depth int) []byte {
	b = appendOTLPText(append(b, '{'), `"key":`, string(kv.Key))
	return append(appendOTLPValue(append(b, `"value":`...), kv.Value, depth), '}')
}

// appendOTLPValue appends an AnyValue within depth lists and maps.
func appendOTLPValue(b []byte, v attribute.Value, depth int) []byte {
	list := func(all []attribute.Value) []byte {
		return appendOTLPElements(b, "arrayValue", all, depth, appendOTLPValue)
	}
	switch v.Type() {
	case attribute.EMPTY:
		return append(b, "{}"...)
	case attribute.BOOL:
		return append(strconv.AppendBool(append(b, `{"boolValue":`...), v.AsBool()), '}')
	case attribute.INT64:
		return append(strconv.AppendInt(append(b, `{"intValue":"`...), v.AsInt64(), 10), `"}`...)
	case attribute.FLOAT64:
		return append(appendOTLPDouble(append(b, `{"doubleValue":`...), v.AsFloat64()), '}')
	case attribute.STRING:
		return append(append(append(b, `{"stringValue":`...), marshal(text.Valid(v.AsString()))...),
			'}')
	case attribute.BYTESLICE:
		return append(base64.StdEncoding.AppendEncode(append(b, `{"bytesValue":"`...),
			v.AsByteSlice()), `"}`...)
	case attribute.BOOLSLICE:
		return list(values(v.AsBoolSlice(), attribute.BoolValue))
	case attribute.INT64SLICE:
		return list(values(v.AsInt64Slice(), attribute.Int64Value))
	case attribute.FLOAT64SLICE:
		return list(values(v.AsFloat64Slice(), attribute.Float64Value))
	case attribute.STRINGSLICE:
		return list(values(v.AsStringSlice(), attribute.StringValue))
	case attribute.SLICE:
		return list(v.AsSlice())
	case attribute.MAP:
		return appendOTLPElements(b, "kvlistValue", v.AsMap(), depth, appendOTLPKeyValue)
	default:
		return append(b, `{"stringValue":"INVALID"}`...) // a newer kind of value
	}
}

// appendOTLPElements appends a list or a map within depth lists and maps.
func appendOTLPElements[T any](b []byte, name string, all []T, depth int,
	element func([]byte, T, int) []byte) []byte {
	if depth == otlpwire.MaxDepth {
		return append(b, `{"stringValue":"`+otlpwire.TooDeep+`"}`...)
	}
	b = append(append(append(b, `{"`...), name...), `":{`...)
	b = appendOTLPList(b, `"values":`, all,
		func(b []byte, e T) []byte { return element(b, e, depth+1) })
	return append(trimComma(b), "}}"...)
}

func values[T any](all []T, of func(T) attribute.Value) []attribute.Value {
	list := make([]attribute.Value, 0, len(all))
	for _, e := range all {
		list = append(list, of(e))
	}
	return list
}

func appendOTLPDouble(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// trimComma removes the comma after the last member or element.
func trimComma(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}
