package requests

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling/profile"
)

// Samples yields the request's samples in t, sorted by time. Samples yields the sample's span with
// each sample. t may be nil.
//
// A sample belongs to the span in the sample's label. Some measures below this span set no label.
// If such measures were open at the sample's time, the sample belongs to the shortest of these
// measures. With several goroutines below one span, a sample of one goroutine may count for a
// measure of another goroutine.
//
// Samples omits samples of dropped spans, and samples that contradict q.Waits: see
// [Contradictions].
func Samples(q Request, t *profile.Trace) iter.Seq2[*otlpenc.Span, profile.Sample] {
	return func(yield func(*otlpenc.Span, profile.Sample) bool) {
		if t == nil {
			return
		}
		contexts, measures := q.contexts(t)
		agrees := q.agreement(t)
		for _, sample := range t.Samples {
			span := contexts[sample.ContextID]
			if span == nil || !agrees(span, sample) {
				continue
			}
			at := t.Origin.Add(sample.Timestamp)
			during := func(m *otlpenc.Span) bool { return !at.Before(m.Start) && !at.After(m.End) }
			if i := slices.IndexFunc(measures[span.SpanID], during); i >= 0 {
				span = measures[span.SpanID][i]
			}
			if !yield(span, sample) {
				return
			}
		}
	}
}

// contexts returns the span of each context of a trace. It also returns the measures of marks.Time
// by the span above, the shortest first. A goroutine in such a measure carries the label of the
// span above.
func (q Request) contexts(t *profile.Trace) (contexts map[int]*otlpenc.Span,
	measures map[trace.SpanID][]*otlpenc.Span) {
	spans := map[trace.SpanID]*otlpenc.Span{}
	for _, s := range q.Spans {
		spans[s.SpanID] = s
	}
	contexts = map[int]*otlpenc.Span{}
	sampled := map[trace.SpanID]bool{}
	for i, c := range t.Contexts {
		if s := spans[c.SpanID]; s != nil && c.TraceID == q.TraceID() {
			contexts[i] = s
			sampled[c.SpanID] = true
		}
	}
	measures = map[trace.SpanID][]*otlpenc.Span{}
	for _, s := range q.Spans[1:] {
		if isMeasure(s) && !sampled[s.SpanID] {
			measures[s.ParentID] = append(measures[s.ParentID], s)
		}
	}
	for _, below := range measures {
		slices.SortStableFunc(below,
			func(a, b *otlpenc.Span) int { return cmp.Compare(a.Duration(), b.Duration()) })
	}
	return contexts, measures
}

// A SpanProfile contains the sums of the samples of a span.
type SpanProfile struct {
	Total     time.Duration  // the samples' weight, of all goroutines together
	Several   bool           // samples of several goroutines have the same time
	Samples   int            // with one or two samples, Total is a rough estimate
	Functions []SpanFunction // the function with the most time first
}

// A SpanFunction contains the time of a function in a span. The function of a sample is the result
// of profiles.InnermostFunction.
type SpanFunction struct {
	Name string
	Time time.Duration
}

// SpanProfiles returns a profile for each span with samples in t. t may be nil.
func SpanProfiles(q Request, t *profile.Trace) map[trace.SpanID]*SpanProfile {
	all := map[trace.SpanID]*SpanProfile{}
	last := map[trace.SpanID]time.Duration{}
	for span, sample := range Samples(q, t) {
		h := all[span.SpanID]
		if h == nil {
			h = &SpanProfile{}
			all[span.SpanID] = h
		} else if last[span.SpanID] == sample.Timestamp {
			h.Several = true
		}
		last[span.SpanID] = sample.Timestamp
		h.Several = h.Several || sample.Count > 1 && t.Engine == profile.EngineWall
		h.add(profiles.InnermostFunction(t, sample), sample.Weight)
		h.Samples++
	}
	for _, h := range all {
		h.sort()
	}
	return all
}

func (h *SpanProfile) add(name string, d time.Duration) {
	i := slices.IndexFunc(h.Functions, func(f SpanFunction) bool { return f.Name == name })
	if i < 0 {
		i = len(h.Functions)
		h.Functions = append(h.Functions, SpanFunction{Name: name})
	}
	h.Functions[i].Time += d
	h.Total += d
}

func (h *SpanProfile) sort() {
	slices.SortStableFunc(h.Functions,
		func(a, b SpanFunction) int { return cmp.Compare(b.Time, a.Time) })
}

// merge adds another profile, which may be nil. The functions become unsorted.
func (h *SpanProfile) merge(other *SpanProfile) {
	if other == nil {
		return
	}
	for _, f := range other.Functions {
		h.add(f.Name, f.Time)
	}
	h.Samples += other.Samples
	h.Several = h.Several || other.Several
}

// String returns the names of the three functions with the most time, and each function's share in
// percent. If several goroutines have samples, String says so.
func (h *SpanProfile) String() string {
	var parts []string
	for _, f := range h.Functions[:min(3, len(h.Functions))] {
		percent := float64(f.Time) / float64(max(1, h.Total)) * 100
		parts = append(parts, fmt.Sprintf("%s %.0f %%", text.Escape(f.Name, ""), percent))
	}
	s := strings.Join(parts, ", ")
	if h.Several {
		s += ", of several goroutines"
	}
	return s
}

// Profile returns a trace with only the request's samples in t. If t contains no such samples,
// Profile returns nil. t may be nil.
func Profile(q Request, t *profile.Trace) *profile.Trace {
	if t == nil {
		return nil
	}
	contexts, _ := q.contexts(t)
	agrees := q.agreement(t)
	own := t.Select(func(s profile.Sample) bool {
		span := contexts[s.ContextID]
		return span != nil && agrees(span, s)
	})
	if len(own.Samples) == 0 {
		return nil
	}
	return own
}
