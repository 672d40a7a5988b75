//go:build !race

// One goroutine at a time has no races, and the race detector would take minutes.

package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A stream of twelve minutes makes 200 000 marks on its root, and a measure with each thousandth. The waiting marks are bounded, each mark is
// counted, and the span gets the newest ones.
func TestStreamOfMarks(t *testing.T) {
	const all = 200_000
	for name, c := range map[string]struct{ limit, least, most int }{
		"128 events":    {128, 128, 128},
		"no events":     {0, 0, 0},
		"without limit": {-1, 1000, 10_000}, // half of a journal
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tl := observer.NewTimeline(observer.TimelineOptions{})
				tp, got := ownProvider(t, bridge.TracerProviderConfig{Timeline: tl, Limits: limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit = c.limit })})
				ctx, root := tp.Tracer("t").Start(t.Context(), "stream")
				for i := range all {
					marks.Mark(ctx, "chunk", slog.Int("i", i))
					if i%1000 == 999 {
						time.Sleep(3600 * time.Millisecond)
						marks.Time(ctx, "thousandth").End()
						if s := (*record.Timeline)(tl).UnitStats(); s.WaitingBytes > 600<<10 || s.Waiting > 1 {
							t.Fatalf("after %d marks: %+v", i, s)
						}
					}
				}
				root.End()
				var stream otlpenc.Span
				measures := 0
				for _, s := range got.decoded(t) {
					if s.Name == "stream" {
						stream = s
					} else {
						measures++
					}
				}
				n := len(stream.Events)
				if n < c.least || n > c.most || n+stream.DroppedEvents != all || measures != all/1000 {
					t.Errorf("the span has %d events and dropped %d, and there are %d measures", n, stream.DroppedEvents, measures)
				}
				for i, e := range stream.Events {
					if got := e.Attributes[0].Value.AsInt64(); got != int64(all-n+i) {
						t.Fatalf("event %d of %d is of mark %d, want the newest ones in order", i, n, got)
					}
				}
				if s := tp.Stats(); int(s.MarkEvents) != n || int(s.MarkEvents+s.MarksOverLimit) != all || s.Lost() != s.MarksOverLimit || s.MeasureSpans != all/1000 {
					t.Errorf("stats %+v", s)
				}
			})
		})
	}
}

// The span of marks.Start obeys every limit as it is filled, as other spans do: it retains no more than it will arrive with.
func TestFilledMeasureObeysLimits(t *testing.T) {
	const n, events, links, attrs = 3000, 128, 16, 32
	const allMarks = n * marksForEach
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp, got := ownProvider(t, bridge.TracerProviderConfig{Timeline: tl, Limits: limits(func(l *sdktrace.SpanLimits) {
		l.EventCountLimit, l.LinkCountLimit, l.AttributeCountLimit, l.AttributeValueLengthLimit = events, links, attrs, 8
		l.AttributePerLinkCountLimit = 1
	})})
	ctx, root := tp.Tracer("t").Start(t.Context(), "root")
	in, measure := marks.Start(ctx, "measure", slog.String("first", "a text of more than 8 characters"))
	added := map[string]*garbage.Objects{"event": {}, "link": {}, "attribute": {}}
	fillMeasure(in, n, func(kind string, i int) string {
		text := fmt.Sprintf("%s %d %0100d", kind, i, i)
		garbage.WatchText(added[kind], kind, text)
		return text
	})
	for kind, limit := range map[string]int{"event": events, "link": links, "attribute": attrs} {
		added[kind].WaitFor(t, 2*limit)
	}
	if u := (*record.Timeline)(tl).UnitStats(); u.WaitingBytes > 1<<20 {
		t.Errorf("%d bytes wait", u.WaitingBytes)
	}
	measure.End(slog.Int("last", 1))
	root.End()
	s := got.byName(t)["measure"]
	if len(s.Events) != events || s.DroppedEvents != n+allMarks-events {
		t.Errorf("%d events, %d dropped", len(s.Events), s.DroppedEvents)
	}
	if len(s.Links) != links || s.DroppedLinks != n-links || len(s.Links[0].Attributes) != 1 || s.Links[0].DroppedAttributeCount != 1 {
		t.Errorf("%d links, %d dropped, the first %+v", len(s.Links), s.DroppedLinks, s.Links[0])
	}
	if len(s.Attributes) != attrs || s.DroppedAttributes != n+2-attrs {
		t.Errorf("%d attributes, %d dropped", len(s.Attributes), s.DroppedAttributes)
	}
	if st := tp.Stats(); st.MarkEvents+st.MarksOverLimit != allMarks {
		t.Errorf("stats %+v, want %d marks", st, allMarks)
	}
}

// marksForEach is how many marks fillMeasure makes for each event: more than a journal holds.
const marksForEach = 20

// fillMeasure adds n events, links and attributes with a text each, and marks, to a measure.
func fillMeasure(ctx context.Context, n int, text func(kind string, i int) string) {
	span := trace.SpanFromContext(ctx)
	for i := range n {
		span.AddEvent("event", trace.WithAttributes(attribute.String("text", text("event", i))))
		for range marksForEach {
			marks.Mark(ctx, "mark", slog.Int("i", i))
		}
	}
	for i := range n {
		span.AddLink(trace.Link{SpanContext: remoteSpan(0), Attributes: []attribute.KeyValue{attribute.Int("a", 1), attribute.Int(text("link", i), 2)}})
	}
	for i := range n {
		span.SetAttributes(attribute.Int(text("attribute", i), i))
	}
}

// Marks of very many spans that never end stay bounded, and are counted: the memory is theirs until room is needed, or Shutdown.
func TestMarksOfSpansThatNeverEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const spans, each = 60_000, 20
		tl := observer.NewTimeline(observer.TimelineOptions{})
		tp, _ := ownProvider(t, bridge.TracerProviderConfig{Timeline: tl})
		for i := range spans {
			ctx, _ := tp.Tracer("t").Start(t.Context(), "never ends")
			for range each {
				marks.Mark(ctx, "mark")
			}
			if i%100 == 0 {
				time.Sleep(50 * time.Millisecond)
			}
		}
		s, u := tp.Stats(), (*record.Timeline)(tl).UnitStats()
		if u.Waiting > 16<<10 || u.WaitingBytes > 64<<20 || s.MarksOfOpenSpans == 0 {
			t.Errorf("%+v wait, stats %+v", u, s)
		}
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		lost := tl.Stats()[observer.Mark].Overflow
		if s, u := tp.Stats(), (*record.Timeline)(tl).UnitStats(); s.MarksOfOpenSpans+lost != spans*each || s.Lost() != s.MarksOfOpenSpans+lost || u.Waiting != 0 {
			t.Errorf("after Shutdown, stats %+v, %d lost at the timeline, %+v wait; want %d marks", s, lost, u, spans*each)
		}
	})
}

// A unit may be hours old: its marks and measures have wall-clock times that agree with the times of its spans.
func TestTimesInOldUnits(t *testing.T) {
	for name, start := range map[string]time.Duration{"from now": 0, "begun long ago": -48 * time.Hour, "begun in the future": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tl := observer.NewTimeline(observer.TimelineOptions{})
				tp, got := ownProvider(t, bridge.TracerProviderConfig{Timeline: tl})
				begin := time.Now().Add(start)
				var options []trace.SpanStartOption
				if start != 0 {
					options = append(options, trace.WithTimestamp(begin))
				}
				ctx, root := tp.Tracer("t").Start(t.Context(), "root", options...)
				var want []time.Time
				for range 6 {
					want = append(want, time.Now())
					marks.Mark(ctx, "mark")
					root.AddEvent("event")
					in, started := marks.Start(ctx, "started")
					timed := marks.Time(in, "timed")
					time.Sleep(4 * time.Second)
					timed.End()
					started.End()
					time.Sleep(20 * time.Minute)
				}
				root.End()
				starts := map[string][]time.Time{}
				for _, s := range got.decoded(t) {
					if s.Name == "root" {
						if !s.Start.Equal(begin) {
							t.Errorf("the root starts at %v, want %v", s.Start, begin)
						}
						for _, e := range s.Events {
							starts[e.Name] = append(starts[e.Name], e.Time)
						}
						continue
					}
					starts[s.Name] = append(starts[s.Name], s.Start)
					if d := s.End.Sub(s.Start); d != 4*time.Second {
						t.Errorf("%s takes %v, want 4 s", s.Name, d)
					}
				}
				for _, what := range []string{"mark", "event", "started", "timed"} {
					if !slices.EqualFunc(starts[what], want, time.Time.Equal) {
						t.Errorf("%s: the times are %v, want %v", what, starts[what], want)
					}
				}
			})
		})
	}
}

// Marks and measures reach their spans in any order of ends, with flushes in between.
func TestMarksInAnyOrderOfEnds(t *testing.T) {
	names := []string{"root", "child", "grandchild", "sibling"}
	var orders [][]string
	permute(slices.Clone(names), func(order []string) { orders = append(orders, slices.Clone(order)) })
	for _, order := range orders {
		for flushAfter := range len(order) + 1 {
			tp, got := ownProvider(t, bridge.TracerProviderConfig{})
			tracer := tp.Tracer("t")
			spans, contexts := map[string]trace.Span{}, map[string]context.Context{}
			contexts["root"], spans["root"] = tracer.Start(t.Context(), "root")
			contexts["child"], spans["child"] = tracer.Start(contexts["root"], "child")
			contexts["grandchild"], spans["grandchild"] = tracer.Start(contexts["child"], "grandchild")
			contexts["sibling"], spans["sibling"] = tracer.Start(contexts["root"], "sibling")
			late := 0
			for i := range len(order) + 1 {
				for _, name := range names {
					marks.Mark(contexts[name], fmt.Sprint(name, " ", i))
					marks.Time(contexts[name], fmt.Sprint("measure of ", name, " ", i)).End()
					if slices.Index(order, name) < i {
						late++
					}
				}
				if i == flushAfter {
					if err := tp.ForceFlush(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if i < len(order) {
					spans[order[i]].End()
				}
			}
			all := got.byName(t)
			for at, name := range order {
				var want []string
				for i := range at + 1 {
					want = append(want, fmt.Sprint(name, " ", i))
				}
				s := all[name]
				if ev := eventNames(s.Events); !slices.Equal(ev, want) {
					t.Errorf("%v, flushed after %d: %q has the events %v, want %v", order, flushAfter, name, ev, want)
				}
				for i := range len(order) + 1 {
					if m := all[fmt.Sprint("measure of ", name, " ", i)]; m.ParentID != spans[name].SpanContext().SpanID() {
						t.Errorf("%v, flushed after %d: a measure of %q is under %v", order, flushAfter, name, m.ParentID)
					}
				}
			}
			if s := tp.Stats(); int(s.MarksAfterEnd) != late || int(s.MarkEvents) != 20-late || s.MeasureSpans != 20 || s.OtherSpans != 4 {
				t.Errorf("%v, flushed after %d: stats %+v, want %d late", order, flushAfter, s, late)
			}
		}
	}
}

// permute calls f with each order of a list.
func permute(list []string, f func([]string)) {
	var rec func(int)
	rec = func(n int) {
		if n == len(list) {
			f(list)
			return
		}
		for i := n; i < len(list); i++ {
			list[n], list[i] = list[i], list[n]
			rec(n + 1)
			list[n], list[i] = list[i], list[n]
		}
	}
	rec(0)
}
