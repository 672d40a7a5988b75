package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Goroutines mark under spans while others end them, flush, and read the counts. Each mark is one log record, of its own request, or is
// an event of a span. Each counts once.
func TestMarkRecordsOfManyGoroutines(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		overForms(t, func(t *testing.T, form bridge.MarkForm) {
			logs := &logRecords{}
			hammerMarks(t, open(bothproviders.Options{Marks: form, Logs: logs}), form, logs)
		})
	})
}

func hammerMarks(t *testing.T, r *rig, form bridge.MarkForm, logs *logRecords) {
	const servers, requests, each = 4, 15, 8
	const total = servers * requests * 4 * each
	var all sync.WaitGroup
	for g := range servers {
		all.Go(func() {
			for i := range requests {
				ctx, root := r.tracer.Start(r.ctx, "root")
				childCtx, child := r.tracer.Start(ctx, "child")
				var work sync.WaitGroup
				for w, ctx := range []context.Context{ctx, childCtx, observer.NewContext(childCtx, r.tl.NewChild()), r.ctx} {
					work.Go(func() {
						text := slog.String("trace", trace.SpanContextFromContext(ctx).TraceID().String())
						for n := range each {
							marks.Mark(ctx, fmt.Sprintf("%d/%d/%d/%d", g, i, w, n), text)
						}
					})
				}
				if i%10 == 0 {
					r.flush(t)
					if s := r.stats(); s.MarksWithoutSpan > total {
						t.Errorf("%+v: the number of marks without a span is below 0", s)
					}
				}
				if rand.IntN(2) == 0 {
					child.End()
					root.End()
				} else {
					root.End()
					child.End()
				}
				work.Wait()
			}
		})
	}
	all.Wait()
	if err := r.provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	records := logs.all(t)
	for _, l := range records {
		if seen[l.GetEventName()] {
			t.Fatalf("the mark %q is two records", l.GetEventName())
		}
		seen[l.GetEventName()] = true
		if got, want := fmt.Sprintf("%032x", l.GetTraceId()), l.GetAttributes()[0].GetValue().GetStringValue(); got != want {
			t.Fatalf("the record of a mark in trace %s has the trace %s", want, got)
		}
	}
	events := 0
	for _, s := range r.got.all() {
		for _, e := range s.Events() {
			events++
			if form == bridge.SpanEvents && seen[e.Name] {
				t.Fatalf("the mark %q is an event and a record", e.Name)
			}
			seen[e.Name] = true
			if got := e.Attributes[0].Value.AsString(); got != s.SpanContext().TraceID().String() {
				t.Fatalf("an event of trace %v has the attribute %s", s.SpanContext().TraceID(), got)
			}
		}
	}
	s := r.stats()
	missed := 0
	if !r.own && form == bridge.SpanEvents { // the SDK does not say that a span had just ended
		missed = int(s.MarkEvents) - events
	}
	want := bridge.Stats{MarkEvents: s.MarkEvents, MarkRecords: total - s.MarkEvents, OtherSpans: s.OtherSpans}
	if s != want || len(seen)+missed != total || form == bridge.LogRecords && events > 0 {
		t.Errorf("%d marks are %d records and %d events, %+v; want %d", len(seen), len(records), events, s, total)
	}
	if form != bridge.SpanEvents && len(records) != total {
		t.Errorf("%d records, want %d", len(records), total)
	}
}
