package requests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/profiling/profile"
)

// A Moment is something of a request's that has a time: a span or measure that
// began, a mark, or a sample of the code that ran.
type Moment struct {
	At     time.Duration   // since the request began
	Span   *otlpenc.Span   // that began, or that the mark or the sample belongs to
	Mark   *sdktrace.Event // nil unless it is a mark
	Sample *profile.Sample // nil unless it is a sample, of the trace given
}

// Moments are the request's spans and measures, its marks, and the samples that t has
// of it, by time. All are on one clock. t may be nil.
//
// A sample belongs to the span it was taken under, or to the measure that ran under
// that span at the time. Where several goroutines work under one span that
// cannot be told apart: then a sample of one may be put into a measure of another.
// Samples under spans that were not kept are left out.
func (q Request) Moments(t *profile.Trace) []Moment {
	start := q.Root.Start
	var all []Moment
	for _, s := range q.Spans {
		all = append(all, Moment{At: s.Start.Sub(start), Span: s})
		for i := range s.Events {
			e := &s.Events[i]
			all = append(all, Moment{At: e.Time.Sub(start), Span: s, Mark: e})
		}
	}
	all = append(all, q.samples(t)...)
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return all
}

func (q Request) samples(t *profile.Trace) []Moment {
	if t == nil {
		return nil
	}
	spans := map[trace.SpanID]*otlpenc.Span{}
	for _, s := range q.Spans {
		spans[s.SpanID] = s
	}
	contexts := map[int]*otlpenc.Span{}
	sampled := map[trace.SpanID]bool{}
	for i, c := range t.Contexts {
		if s := spans[c.SpanID]; s != nil && c.TraceID == q.TraceID() {
			contexts[i] = s
			sampled[c.SpanID] = true
		}
	}
	// Measures of marks.Time: the goroutine is labelled with the span above them.
	measures := map[trace.SpanID][]*otlpenc.Span{}
	for _, s := range q.Spans[1:] {
		if s.Group.Scope().Name == scope.Name && !sampled[s.SpanID] {
			parent := s.ParentID
			measures[parent] = append(measures[parent], s)
		}
	}
	var all []Moment
	for i := range t.Samples {
		sample := &t.Samples[i]
		span := contexts[sample.ContextID]
		if span == nil {
			continue
		}
		at := t.Origin.Add(sample.Timestamp)
		var inner *otlpenc.Span // the shortest: measures may overlap, too
		for _, m := range measures[span.SpanID] {
			if !at.Before(m.Start) && !at.After(m.End) && (inner == nil || m.Duration() < inner.Duration()) {
				inner = m
			}
		}
		if inner != nil {
			span = inner
		}
		all = append(all, Moment{At: at.Sub(q.Root.Start), Span: span, Sample: sample})
	}
	return all
}

// A Hot is what ran in a span.
type Hot struct {
	Total     time.Duration // what the samples stand for, of all goroutines together
	Samples   int           // how many there are: of one or two, Total is a rough estimate
	Functions []HotFunction // the hottest first
}

// A HotFunction is what samples were about, see profile.Trace.Doing.
type HotFunction struct {
	Name string
	Time time.Duration
}

// Hottest tells for each span that was sampled what ran in it. t may be nil.
func (q Request) Hottest(t *profile.Trace) map[trace.SpanID]*Hot {
	all := map[trace.SpanID]*Hot{}
	for _, m := range q.samples(t) {
		h := all[m.Span.SpanID]
		if h == nil {
			h = &Hot{}
			all[m.Span.SpanID] = h
		}
		name := t.Doing(*m.Sample)
		i := slices.IndexFunc(h.Functions, func(f HotFunction) bool { return f.Name == name })
		if i < 0 {
			i = len(h.Functions)
			h.Functions = append(h.Functions, HotFunction{Name: name})
		}
		h.Functions[i].Time += m.Sample.Weight
		h.Total += m.Sample.Weight
		h.Samples++
	}
	for _, h := range all {
		slices.SortStableFunc(h.Functions, func(a, b HotFunction) int { return cmp.Compare(b.Time, a.Time) })
	}
	return all
}

// String has the three hottest functions with their shares.
func (h *Hot) String() string {
	var parts []string
	for _, f := range h.Functions[:min(3, len(h.Functions))] {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", escape(f.Name), float64(f.Time)/float64(max(1, h.Total))*100))
	}
	return strings.Join(parts, ", ")
}
