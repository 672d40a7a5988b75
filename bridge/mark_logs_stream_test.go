package bridge_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/record"
)

// A stream of two hours makes 100 000 marks. Each is a record within 5 s. Its memory is bounded.
func TestStreamOfMarkRecords(t *testing.T) {
	for _, recorders := range []bool{false, true} {
		for _, form := range []bridge.MarkForm{bridge.LogRecords, bridge.SpanEventsAndLogRecords} {
			t.Run(fmt.Sprint(form, ", recorders ", recorders), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const all, step = 100_000, 50
					var c bridge.TracerProviderConfig
					logs := &logRecords{}
					c.Timeline, c.Marks, c.Logs = observer.NewTimeline(observer.TimelineOptions{}), form, logs
					recorded := &exportedSpans{}
					if recorders {
						c.Recorders = []bridge.Output{recorded}
					}
					tp, exported := ownProvider(t, c)
					ctx, root := tp.Tracer("t").Start(t.Context(), "stream")
					most := 128 // events of the span
					if form == bridge.LogRecords && !recorders {
						most = 0
					}
					for i := range all {
						marks.Mark(ctx, "chunk", slog.Int("i", i))
						if i%step != step-1 {
							continue
						}
						time.Sleep(3600 * time.Millisecond)
						s := (*record.Timeline)(c.Timeline).UnitStats()
						if s.WaitingBytes > (most+3*step)*300 || s.Waiting > 1 {
							t.Fatalf("after %d marks: %+v", i, s)
						}
						if n := len(logs.all(t)); n < i-2*step {
							t.Fatalf("%d records of %d marks", n, i)
						}
					}
					root.End()
					events := len(exported.byName(t)["stream"].Events)
					want := bridge.Stats{MarkRecords: all, OtherSpans: 1}
					if form != bridge.LogRecords {
						want.MarkEvents, want.MarkRecords = 128, all-128
					}
					if got := tp.Stats(); got != want || events != int(want.MarkEvents) {
						t.Errorf("%d events, %+v; want %+v", events, got, want)
					}
					if recorders && len(recorded.spans[0].Events) != 128 {
						t.Errorf("the recorders got %d events, want 128", len(recorded.spans[0].Events))
					}
					for i, l := range logs.all(t) {
						if got := l.GetAttributes()[0].GetValue().GetIntValue(); got != int64(i) {
							t.Fatalf("record %d is of mark %d", i, got)
						}
					}
				})
			})
		}
	}
}

// When memory is short, marks are log records at once, and their spans lose them. The memory stays bounded.
func TestCrowdOfMarkRecords(t *testing.T) {
	for _, form := range []bridge.MarkForm{bridge.LogRecords, bridge.SpanEventsAndLogRecords} {
		t.Run(form.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const spans, each = 20_000, 3
				tl := observer.NewTimeline(observer.TimelineOptions{})
				logs := &logRecords{}
				tp, exported := ownProvider(t, bridge.TracerProviderConfig{Timeline: tl, Marks: form, Logs: logs})
				var open []trace.Span
				for range spans {
					ctx, span := tp.Tracer("t").Start(t.Context(), "span")
					for range each {
						marks.Mark(ctx, "m")
					}
					open = append(open, span)
				}
				if u := (*record.Timeline)(tl).UnitStats(); u.Waiting > 16<<10 || u.WaitingBytes > 64<<20 {
					t.Errorf("%+v", u)
				}
				for _, span := range open {
					span.End()
				}
				events, dropped := 0, 0
				for _, s := range exported.decoded(t) {
					events += len(s.Events)
					dropped += s.DroppedEvents
				}
				s := tp.Stats()
				if n := len(logs.all(t)); n != spans*each || s.Lost() != 0 || s.MarkEvents+s.MarkRecords != spans*each || int(s.MarkEvents) != events {
					t.Errorf("%d records and %d events of %d marks, %+v", n, events, spans*each, s)
				}
				if form == bridge.SpanEventsAndLogRecords && (dropped == 0 || events+dropped != spans*each) {
					t.Errorf("%d events, %d dropped; want all of %d, and some dropped", events, dropped, spans*each)
				}
			})
		})
	}
}
