package bridge_test

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A stream of 24 minutes makes 20 000 marks. Each is a record within 5 s. Its memory is bounded.
func TestStreamOfMarkRecords(t *testing.T) {
	for _, recorders := range []bool{false, true} {
		for _, form := range []bridge.MarkForm{bridge.LogRecords, bridge.SpanEventsAndLogRecords} {
			t.Run(fmt.Sprint(form, ", recorders ", recorders), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const all, step = 4_000, 50
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
					synctest.Wait() // a sweep is due at this moment
					root.End()
					events := len(exported.byName(t)["stream"].Events)
					want := bridge.Stats{MarkRecords: all, OtherSpans: 1}
					if form != bridge.LogRecords {
						want.MarkEvents, want.MarkRecords = 128, all-128
					}
					if got := tp.Stats(); got != want || events != int(want.MarkEvents) {
						t.Errorf("%d events, %+v; want %+v", events, got, want)
					}
					if recorders && len(recorded.all()[0].Events) != 128 {
						t.Errorf("the recorders got %d events, want 128", len(recorded.all()[0].Events))
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
