package blackbox

import (
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/record/mirror"
)

// exported returns the names of the spans that a backend gets of the open requests.
func exported(t *testing.T, d *Death) (names []string) {
	t.Helper()
	n := 0
	for _, it := range d.Exported() {
		var request tracepb.TracesData
		if err := proto.Unmarshal(it.Body, &request); err != nil {
			t.Fatal(err)
		}
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					names = append(names, s.GetName()+" "+s.GetStatus().GetMessage())
				}
			}
		}
		n += it.Spans
	}
	if len(names) != n {
		t.Errorf("%d spans, and the count is %d", len(names), n)
	}
	return names
}

// The process died after the spool had spans, and before the slot said so: nothing is sent twice.
func TestSpooledOnce(t *testing.T) {
	entry := func(id byte, name string) mirror.Recorded {
		return mirror.Recorded{Entry: mirror.Entry{Kind: mirror.Span, Span: mirror.SpanID{id}, Name: name}}
	}
	item := func(ids ...byte) mirror.Item {
		m := &tracepb.ScopeSpans{}
		for _, id := range ids {
			m.Spans = append(m.Spans, &tracepb.Span{SpanId: append([]byte{id}, make([]byte, 7)...), Name: "spooled"})
		}
		body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{m}}}})
		if err != nil {
			t.Fatal(err)
		}
		return mirror.Item{Body: body, Spans: len(ids)}
	}
	const died = " the process ended: killed"
	for _, c := range []struct {
		name  string
		ended bool
		items []mirror.Item
		want  []string
	}{
		{"open, nothing spooled", false, nil, []string{"query ", "render ", "GET /" + died}},
		{"open, a part spooled", false, []mirror.Item{item(9, 2)}, []string{"render ", "GET /" + died}},
		{"ended, a part spooled", true, []mirror.Item{item(9), item(8, 2)}, []string{"render ", "GET / "}},
		{"ended, the root spooled", true, []mirror.Item{item(2, 3), item(1)}, nil},
	} {
		d := &Death{Kind: Killed, Last: time.Unix(9, 0), Items: c.items, Open: []mirror.Request{{
			Head: mirror.Head{Trace: mirror.TraceID{1}, Span: mirror.SpanID{1}, Kind: uint8(trace.SpanKindServer),
				Flags: mirror.Sampled, Name: "GET /"},
			Ended: c.ended, Entries: []mirror.Recorded{entry(2, "query"), entry(3, "render")},
		}}}
		if got := exported(t, d); !slices.Equal(got, c.want) {
			t.Errorf("%s: exported %q, want %q", c.name, got, c.want)
		}
	}
}

// A panic ends the requests of its goroutine by their deferred functions. The last one is named, and no earlier one, nor
// one of another goroutine. Other crashes run no deferred functions.
func TestEndedByPanic(t *testing.T) {
	request := func(name string, goroutine uint64, start time.Duration, ended bool) mirror.Request {
		return mirror.Request{Head: mirror.Head{Trace: mirror.TraceID{byte(start)}, Span: mirror.SpanID{byte(start)}, Goroutine: goroutine, Start: start, Name: name}, Ended: ended}
	}
	all := []mirror.Request{request("before", 7, 1, true), request("died", 7, 3, true), request("other", 8, 4, true), request("open", 9, 2, false)}
	for _, c := range []struct {
		crash Crash
		want  []string
	}{
		{Crash{Kind: Panic, Goroutine: 7}, []string{"died", "open"}},
		{Crash{Kind: FatalError, Goroutine: 7}, []string{"open"}},
		{Crash{Kind: Panic, Goroutine: 9}, []string{"open"}},
		{Crash{Kind: Panic}, []string{"open"}},
	} {
		d := &Death{Kind: c.crash.Kind, Crash: &c.crash, Last: time.Unix(9, 0), Open: all}
		var got []string
		for _, o := range d.Report().Open {
			got = append(got, o.Name)
			if o.Crashed != (o.Name == c.want[0] && c.crash.Goroutine > 0 && c.crash.Kind == Panic) {
				t.Errorf("%+v: %q crashed: %t", c.crash, o.Name, o.Crashed)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: open %q, want %q", c.crash, got, c.want)
		}
	}
}
