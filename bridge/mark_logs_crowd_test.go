//go:build !race

// One goroutine at a time has no races, and the race detector would take long.

package bridge_test

import (
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// When memory is short, marks are log records at once, and their spans lose them. The memory stays bounded.
func TestCrowdOfMarkRecords(t *testing.T) {
	for _, form := range []bridge.MarkForm{bridge.LogRecords, bridge.SpanEventsAndLogRecords} {
		t.Run(form.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const spans, each = 18_000, 3
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
