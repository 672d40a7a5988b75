package profiling

import (
	"strings"
	"unsafe"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// An attribution names the span that was active on a sample's goroutine, and the program's own
// labels.
type attribution struct {
	tag  unsafe.Pointer
	span *spanlabels.Span
	user []spanlabels.Label
	text []spanlabels.Label // all labels, from an engine without tags
}

func resolve(s *sampling.Sample) attribution {
	a := attribution{tag: s.Tag, text: s.Labels}
	if s.Tag != nil {
		a.span, a.user = spanlabels.Resolve(s.Tag, s.At)
	}
	return a
}

// of returns the attribution for a profiler that selects these spans.
func (a attribution) of(spans Selection) attribution {
	if spans == LocalRoots && a.span != nil {
		a.span = a.span.Root()
	}
	return a
}

// key returns the identity of a: equal keys mean equal attributions. It is nil without span and
// labels.
func (a *attribution) key() any {
	switch {
	case len(a.text) > 0:
		var b strings.Builder
		for _, l := range a.text {
			b.WriteString(l.Key + "\x00" + l.Value + "\x00")
		}
		return b.String()
	case len(a.user) > 0:
		return labelledSpan{a.tag, a.span}
	case a.span != nil:
		return a.span
	}
	return nil
}

// A labelledSpan is a span on goroutines with labels of the program. It keeps tag, so that other
// labels do not get the same address.
type labelledSpan struct {
	tag  unsafe.Pointer
	span *spanlabels.Span // nil for none
}

// endName returns the name at the end of the span of a key, see [profile.Builder.Trace].
func endName(key any) string {
	var span *spanlabels.Span
	switch k := key.(type) {
	case *spanlabels.Span:
		span = k
	case labelledSpan:
		span = k.span
	}
	if span == nil {
		return ""
	}
	return span.EndName()
}

// context returns the attribution as the context of samples.
func (a *attribution) context(any) (c profile.SampleContext) {
	user, span := a.user, a.span
	if span != nil {
		c.TraceID, c.SpanID, c.SpanName = span.TraceID(), span.SpanID(), span.Name()
	}
	if len(a.text) > 0 {
		c.TraceID, c.SpanID, c.SpanName, user, _ = spanlabels.FromText(a.text)
	}
	for _, l := range user {
		c.Labels = append(c.Labels, profile.Label(l))
	}
	return c
}
