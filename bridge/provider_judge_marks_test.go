package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Marks and measures are among the judge's operations. On the SDK's side, a bridge.Processor makes events and spans of them.
// Our provider does so at once, too, because processors are registered. The journal's judge has the other case.

// timing is a measure that has begun.
type timing struct {
	*marks.Timing
	span trace.Span // of marks.Start
}

// record records a mark or a measure.
func (j *judge) record() {
	if j.down { // without a provider, the timeline has no tracer
		return
	}
	j.plan = j.newPlan()
	under, name, attrs, more := j.Below(len(j.ours.contexts)), record.Name(j.text()), j.slogAttrs(), j.slogAttrs()
	kind, d, err := j.Below(8), time.Duration(j.Below(1<<16))*time.Millisecond, j.error()
	fails := j.Below(4) == 0
	if span := trace.SpanFromContext(j.ours.context(under)); !span.SpanContext().IsValid() && span != noSpan {
		return // without ids, a span of the SDK counts as none, and ours does not
	}
	j.did("record %d under context %d for %v, %d and %d attributes, fails %t, on start %v", kind, under, d, len(attrs), len(more), fails, j.plan.whenStarts)
	from := time.Now().Add(-d)
	for _, s := range j.sides() { // a measure starts on its timeline, which is a request's on our side
		origin := observer.FromContext(s.context(under)).Origin()
		if from.Before(origin) {
			from = origin
		}
		if time.Until(origin).Abs() > record.MaxTime/2 {
			kind = 0 // the measure is out of range
		}
	}
	for _, s := range j.sides() {
		ctx := s.context(under)
		s.recording, s.current = true, nil
		switch kind {
		case 0, 1, 2:
			marks.Mark(ctx, "mark "+name, attrs...)
		case 3:
			t := marks.Time(ctx, name, attrs...)
			if fails {
				t.Fail(err)
			}
			t.End(more...)
		case 4:
			s.timings = append(s.timings, timing{Timing: marks.Time(ctx, name, attrs...)})
		case 5:
			tl := observer.FromContext(ctx)
			_, err := marks.Measure(ctx, name, marks.MeasureOptions{Start: marks.At(tl.Since(from)), Detail: attrs})
			s.note("measured %v", err)
		default:
			if parent := trace.SpanFromContext(ctx); !s.records && parent.SpanContext().IsValid() && !parent.SpanContext().IsSampled() {
				break // where a policy may keep the request, the measure is a span of its own
			}
			in, t := marks.Start(ctx, name, attrs...)
			span := trace.SpanFromContext(in)
			s.note("started %s", contextText(span.SpanContext()))
			s.contexts = append(s.contexts, in)
			s.timings = append(s.timings, timing{t, span})
			if !span.SpanContext().Equal(trace.SpanContextFromContext(ctx)) && len(s.spans) < maxSpans {
				s.spans = append(s.spans, span)
			}
		}
		s.recording = false
	}
}

// noSpan is the span of a context without one.
var noSpan = trace.SpanFromContext(context.Background())

// context returns a context that leads to the side's timeline.
func (s *side) context(i int) context.Context {
	if s.contexts[i] == nil {
		return s.base
	}
	return s.contexts[i]
}

// endTiming ends a measure that has begun, perhaps again.
func (j *judge) endTiming() {
	n := len(j.ours.timings)
	if n == 0 || j.down {
		return
	}
	i, attrs, err := n-1-j.Below(min(n, 4)), j.slogAttrs(), j.error()
	fails := j.Below(4) == 0
	j.plan = j.newPlan()
	j.did("end of measure %d, %d attributes, fails %t", i, len(attrs), fails)
	for _, s := range j.sides() {
		t := s.timings[i]
		s.current = t.span
		s.recording = t.span == nil
		if fails {
			t.Fail(err)
		}
		t.End(attrs...)
		s.recording = false
	}
}

// slogAttrs are often none. Keys come again, and may be missing.
func (j *judge) slogAttrs() (attrs []slog.Attr) {
	for range max(0, j.Below(8)-3) {
		key := ""
		if k := j.Below(16); k > 0 {
			key = fmt.Sprint("k", k%8)
		}
		var v slog.Value
		switch j.Below(8) {
		case 0:
			v = slog.AnyValue([]string{j.text(), j.text()})
		case 1:
			v = slog.GroupValue(slog.Int("k1", 1), slog.String("t", j.text()))
		case 2:
			v = slog.AnyValue(map[string]int{j.text(): 1})
		case 3:
			v = slog.DurationValue(time.Duration(j.Byte()))
		case 4:
			v = slog.Float64Value(j.Float())
		case 5:
			v = slog.StringValue(j.text())
		default:
			v = slog.Int64Value(int64(j.Byte()))
		}
		attrs = append(attrs, slog.Attr{Key: key, Value: v})
	}
	return slices.Clip(attrs)
}

// recorded notes the span of a measure that starts, because the judge needs it at the end.
func (s *side) recorded(span sdktrace.ReadWriteSpan) {
	if s.recording {
		s.current = span
	}
}
