package otlpenc_test

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/internal/otlpenc"
)

// The marks of the HTTP request, as they are recorded: two have attributes.
var marks = []struct {
	name  string
	after time.Duration
	attrs []slog.Attr
}{
	{"cache miss", time.Millisecond, []slog.Attr{slog.String("key", "cart-42")}},
	{"first byte", 4 * time.Millisecond, []slog.Attr{slog.Int("size", 4096), slog.Bool("compressed", true)}},
	{"last byte", 5 * time.Millisecond, nil},
}

// BenchmarkMarks encodes the three marks of an HTTP request. It reports the sizes of the requests with its four spans and its marks,
// each request compressed for itself.
func BenchmarkMarks(b *testing.B) {
	spans := request(b)
	root := spans[len(spans)-1]
	var groups otlpenc.Groups
	group := groups.Group(testResource, instrumentation.Scope{Name: "github.com/perfline/perfline"})
	asEvents := func(buf []byte) []byte {
		for i := range marks {
			buf = otlpenc.AppendEvent(buf, testTime.Add(marks[i].after), marks[i].name, marks[i].attrs)
		}
		return buf
	}
	asRecords := func(buf []byte) []byte {
		for i := range marks {
			at := testTime.Add(marks[i].after)
			r := otlpenc.LogRecord{Time: at, ObservedTime: at, Severity: 9, EventName: marks[i].name, SpanContext: root.SpanContext()}
			buf = r.Append(buf, marks[i].attrs)
		}
		return buf
	}
	without := tracetest.SpanStubFromReadOnlySpan(root)
	without.Events = nil
	withoutMarks := append(append([]sdktrace.ReadOnlySpan{}, spans[:len(spans)-1]...), without.Snapshot())
	encodeAll := func(spans []sdktrace.ReadOnlySpan) []byte {
		var all []otlpenc.Spans
		for _, s := range spans {
			all = append(all, encodeIn(&groups, s))
		}
		return otlpenc.AppendRequest(nil, all)
	}
	logs := otlpenc.AppendRequest(nil, []otlpenc.Records{otlpenc.NewRecords(group, asRecords(nil), len(marks))})
	for _, c := range []struct {
		name   string
		encode func([]byte) []byte
		bodies [][]byte
	}{
		{"none", func(buf []byte) []byte { return buf }, [][]byte{encodeAll(withoutMarks)}},
		{"as events", asEvents, [][]byte{encodeAll(spans)}},
		{"as records", asRecords, [][]byte{encodeAll(withoutMarks), logs}},
	} {
		b.Run(c.name, func(b *testing.B) {
			buf := make([]byte, 0, 1<<12)
			b.ReportAllocs()
			for b.Loop() {
				buf = c.encode(buf[:0])
			}
			raw, packed := 0, 0
			for _, body := range c.bodies {
				raw += len(body)
				packed += gzipped(b, body)
			}
			b.ReportMetric(float64(len(buf)), "encoded-bytes")
			b.ReportMetric(float64(raw), "wire-bytes")
			b.ReportMetric(float64(packed), "gzip-bytes")
		})
	}
}

func gzipped(tb testing.TB, body []byte) int {
	tb.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Len()
}
