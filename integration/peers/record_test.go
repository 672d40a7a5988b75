package peers_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// A record is one span, or what the metrics say of one request, as text: what can
// be compared, by its name.
type record map[string]string

// telemetry is what one way to instrument said of one exchange.
type telemetry struct {
	spans       []record
	metrics     []record // one for each set of attributes
	instruments record   // by name
}

// telemetry reads it from the rig; port is the test server's, which is another
// every time.
func (r *rig) telemetry(t *testing.T, port string) telemetry {
	t.Helper()
	var got telemetry
	for _, s := range r.ended(t) {
		got.spans = append(got.spans, spanRecord(s, port))
	}
	got.metrics, got.instruments = metricRecords(t, r.measured(t), port)
	return got
}

func inOrder(spans []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	slices.SortStableFunc(spans, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	return spans
}

func spanRecord(s sdktrace.ReadOnlySpan, port string) record {
	rec := record{
		"name":                  s.Name(),
		"kind":                  s.SpanKind().String(),
		"parent":                "none",
		"links":                 fmt.Sprint(len(s.Links())),
		"status":                s.Status().Code.String(),
		"events":                "none",
		"instrumentation scope": s.InstrumentationScope().Name,
	}
	if p := s.Parent(); p.IsValid() {
		rec["parent"] = fmt.Sprintf("%s, remote %v", p.SpanID(), p.IsRemote())
	}
	if len(s.Links()) > 0 {
		rec["links"] = s.Links()[0].SpanContext.SpanID().String()
	}
	if s.Status().Code == codes.Error && s.Status().Description != "" {
		rec["status"] = "Error: " + strings.ReplaceAll(s.Status().Description, port, "PORT")
	}
	var events []string
	for _, e := range s.Events() {
		events = append(events, e.Name+" "+strings.Join(describe(e.Attributes), ", "))
	}
	if len(events) > 0 {
		rec["events"] = strings.Join(events, "; ")
	}
	rec.add(s.Attributes(), port)
	if s.SpanKind().String() == "server" && rec["network.peer.port"] != "" {
		rec["network.peer.port"] = "a port" // the client's
	}
	return rec
}

func (rec record) add(attrs []attribute.KeyValue, port string) {
	for _, kv := range attrs {
		rec[string(kv.Key)] = strings.ReplaceAll(kv.Value.String(), port, "PORT")
	}
}

// describe is an event's attributes, of stack traces that they are there.
func describe(attrs []attribute.KeyValue) (out []string) {
	for _, kv := range attrs {
		if kv.Key == "exception.stacktrace" {
			out = append(out, string(kv.Key))
		} else {
			out = append(out, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
		}
	}
	slices.Sort(out)
	return out
}

// metricRecords fails where the metrics of one exchange have different attributes.
func metricRecords(t *testing.T, metrics []metricdata.Metrics, port string) (points []record, instruments record) {
	t.Helper()
	instruments = record{}
	byAttributes := map[string]record{}
	for _, m := range metrics {
		var n int
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			n = len(data.DataPoints)
			for _, p := range data.DataPoints {
				instruments[m.Name] = fmt.Sprintf("histogram, %s, %q, up to %v", m.Unit, m.Description, p.Bounds)
				point(byAttributes, p.Attributes, port)[m.Name] = fmt.Sprintf("%d times", p.Count)
			}
		case metricdata.Histogram[int64]:
			n = len(data.DataPoints)
			for _, p := range data.DataPoints {
				instruments[m.Name] = fmt.Sprintf("histogram, %s, %q, up to %v", m.Unit, m.Description, p.Bounds)
				point(byAttributes, p.Attributes, port)[m.Name] = fmt.Sprintf("%d times, %d in all", p.Count, p.Sum)
			}
		default:
			t.Errorf("metric %s is a %T", m.Name, m.Data)
		}
		if n > 0 && n != len(byAttributes) {
			t.Errorf("%s has %d sets of attributes, the metrics before it %d", m.Name, n, len(byAttributes))
		}
	}
	for _, rec := range byAttributes {
		points = append(points, rec)
	}
	slices.SortFunc(points, func(a, b record) int {
		return cmp.Compare(a["http.response.status_code"], b["http.response.status_code"])
	})
	return points, instruments
}

func point(by map[string]record, attrs attribute.Set, port string) record {
	key := attrs.Encoded(attribute.DefaultEncoder())
	rec := by[key]
	if rec == nil {
		rec = record{}
		rec.add(attrs.ToSlice(), port)
		by[key] = rec
	}
	return rec
}
