package profiling

import (
	"strings"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// ranFor is what a sample ran for: the span that was active on its goroutine, and the program's own
// labels.
type ranFor struct {
	tag  unsafe.Pointer
	span *spanlabels.Span
	user []spanlabels.Label
	text []spanlabels.Label // of an engine that has no tags
}

func resolve(s *sampling.Sample) (r ranFor) {
	if s.Tag != nil {
		r.tag = s.Tag
		r.span, r.user = spanlabels.Resolve(s.Tag, s.At)
	}
	r.text = s.Labels
	return r
}

// of returns what it ran for in a profiler of these spans.
func (r *ranFor) of(spans Selection) ranFor {
	of := *r
	if spans == LocalRoots && of.span != nil {
		of.span = of.span.Root()
	}
	return of
}

// key is equal for what is the same. It is nil for nothing.
func (r *ranFor) key() any {
	switch {
	case len(r.text) > 0:
		var b strings.Builder
		for _, l := range r.text {
			b.WriteString(l.Key + "\x00" + l.Value + "\x00")
		}
		return b.String()
	case len(r.user) > 0:
		return labelledRun{r.tag, r.span}
	case r.span != nil:
		return r.span
	}
	return nil
}

// labelledRun is a span's run on goroutines with the labels at tag, whose address nothing else gets
// while this is kept.
type labelledRun struct {
	tag  unsafe.Pointer
	span *spanlabels.Span // nil for none
}

// endName is the name that the span of a key ended with, see [profile.Builder.Trace].
func endName(key any) string {
	var span *spanlabels.Span
	switch k := key.(type) {
	case *spanlabels.Span:
		span = k
	case labelledRun:
		span = k.span
	}
	if span == nil {
		return ""
	}
	return span.EndName()
}

// context describes it.
func (r *ranFor) context(any) (c profile.SampleContext) {
	user := r.user
	if r.span != nil {
		c = profile.SampleContext{TraceID: r.span.TraceID(), SpanID: r.span.SpanID(),
			SpanName: r.span.Name()}
	}
	if len(r.text) > 0 {
		var traceID trace.TraceID
		var spanID trace.SpanID
		traceID, spanID, c.SpanName, user, _ = spanlabels.FromText(r.text)
		c.TraceID, c.SpanID = traceID, spanID
	}
	for _, l := range user {
		c.Labels = append(c.Labels, profile.Label(l))
	}
	return c
}
