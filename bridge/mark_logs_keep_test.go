package bridge_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
)

// The log records of requests that the sampler drops are the ones of requests that are kept and exported.
func TestMarkFormsOfKeptRequests(t *testing.T) {
	for name, c := range map[string]struct {
		policy   bridge.KeepPolicy
		remote   bool // another process began the trace
		recorded bool // the recorders get it
		exported bool
	}{
		"dropped":                  {policy: bridge.KeepPolicy{Slow: -1, Export: true}},
		"kept":                     {policy: bridge.KeepPolicy{Share: 1, PerSecond: -1}, recorded: true},
		"kept and exported":        {policy: bridge.KeepPolicy{Share: 1, PerSecond: -1, Export: true}, recorded: true, exported: true},
		"kept, of another's trace": {policy: bridge.KeepPolicy{Share: 1, PerSecond: -1, Export: true}, remote: true, recorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			overForms(t, func(t *testing.T, form bridge.MarkForm) {
				logs := &logRecords{}
				r := newKeepRigWith(t, c.policy, form, logs)
				ctx := r.ctx
				if c.remote {
					ctx = trace.ContextWithSpanContext(ctx, spanContext(false, true))
				}
				ctx, root := r.tracer.Start(ctx, "root", trace.WithSpanKind(trace.SpanKindServer))
				marks.Mark(ctx, "event 1")
				inside, child := r.tracer.Start(ctx, "child")
				marks.Mark(inside, "event 2")
				child.End()
				marks.Mark(inside, "late 1")
				still, open := r.tracer.Start(ctx, "open")
				marks.Mark(still, "event 3")
				if err := r.provider.ForceFlush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := len(logs.all(t)); n > 0 {
					t.Errorf("%d records before the decision", n)
				}
				root.End()
				marks.Mark(ctx, "late 2")
				marks.Mark(still, "event 4")
				open.End()
				marks.Mark(still, "late 3")
				never, _ := r.tracer.Start(ctx, "never ends")
				marks.Mark(never, "of an open span")
				if err := r.provider.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				var want bridge.Stats
				var records []string
				switch all := []string{"event 1", "event 2", "event 3", "event 4", "late 1", "late 2", "late 3", "of an open span"}; {
				case !c.recorded:
				case !c.exported:
					want = bridge.Stats{MarkEvents: 4, MarksAfterEnd: 3, MarksOfOpenSpans: 1}
				case form == bridge.LogRecords:
					want, records = bridge.Stats{MarkRecords: 8}, all
				case form == bridge.SpanEvents:
					want, records = bridge.Stats{MarkEvents: 4, MarkRecords: 3, MarksOfOpenSpans: 1}, all[4:7]
				default:
					want, records = bridge.Stats{MarkEvents: 4, MarkRecords: 4}, all
				}
				if got := logs.names(t); !slices.Equal(got, records) {
					t.Errorf("records %q, want %q", got, records)
				}
				got := r.provider.Stats()
				got.OtherSpans = 0
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
				for _, l := range logs.all(t) {
					if id := root.SpanContext().TraceID(); string(l.GetTraceId()) != string(id[:]) || trace.TraceFlags(l.GetFlags()).IsSampled() {
						t.Errorf("the record has the context %s, want the trace %v, not sampled", contextOf(l), id)
					}
				}
			})
		})
	}
}

// newKeepRigWith returns a rig whose provider has log records and no processor.
func newKeepRigWith(t *testing.T, policy bridge.KeepPolicy, form bridge.MarkForm, logs *logRecords) *keepRig {
	t.Helper()
	return openKeepRig(t, bridge.TracerProviderConfig{Sampler: sdktrace.ParentBased(never), Keep: &policy, Marks: form, Logs: logs})
}

// The marks of an undecided request that has no room for more are counted as refused, also those after the end of their span.
func TestLateMarksOfRefusedRequest(t *testing.T) {
	logs := &logRecords{}
	r := newKeepRigWith(t, bridge.KeepPolicy{Slow: neverSlow, Share: 1, PerSecond: -1, Export: true}, bridge.LogRecords, logs)
	const n = 10_000
	r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
		inside, child := r.tracer.Start(ctx, "child")
		child.End()
		for range n {
			marks.Mark(inside, "late")
		}
	})
	records := uint64(len(logs.all(t)))
	if s := r.provider.Stats(); records < 1000 || s.MarkRecords != records || r.provider.RequestCounts()["refused"] != n-records || s.Lost() != 0 {
		t.Errorf("%d records, %+v; want the others refused, and no loss", records, s)
	}
	if got := strings.Join(r.recorded.kept(), ""); got != "share" {
		t.Errorf("the root says %q, want no refused span", got)
	}
}
