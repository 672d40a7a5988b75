//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/spanlabels"
)

// labelling is a tracer that labels for a span if it labels.
type labelling struct {
	noop.Tracer
	labels bool
	other  bool // the label is of another trace
	label  *spanlabels.Span
}

func (l *labelling) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	sc := spanContext([16]byte{1}, [8]byte{2})
	if l.labels {
		of := sc
		if l.other {
			of = spanContext([16]byte{3}, [8]byte{4})
		}
		l.label = spanlabels.Set(ctx, of, name, true)
	}
	ctx = trace.ContextWithSpanContext(ctx, sc)
	return ctx, trace.SpanFromContext(ctx)
}

// The context of Start carries the label that starting the span has set, and none that was there before or is of another
// trace.
func TestStart(t *testing.T) {
	for what, c := range map[string]struct {
		off, labels, other, want bool
	}{
		"no profiler runs": {off: true, labels: true},
		"no label":         {},
		"a label":          {labels: true, want: true},
		"of another trace": {labels: true, other: true},
	} {
		t.Run(what, func(t *testing.T) {
			if !c.off {
				on(t)
				around := spanlabels.Set(t.Context(), spanContext([16]byte{1}, [8]byte{1}), "around", true)
				defer around.End("")
			}
			tracer := &labelling{labels: c.labels, other: c.other}
			ctx, span, label := spanlabels.Start(t.Context(), tracer, "span")
			defer tracer.label.End("")
			if !span.SpanContext().IsValid() || trace.SpanContextFromContext(ctx).SpanID() != span.SpanContext().SpanID() {
				t.Error("the span and the context are not the tracer's")
			}
			want := tracer.label
			if !c.want {
				want = nil
			}
			carried, _ := inContext(ctx)
			if label != want || carried != want {
				t.Errorf("the label is %v and the context carries %v, want %v", name(label), name(carried), name(want))
			}
		})
	}
}

// Set labels nothing with the very context of Without.
func TestWithout(t *testing.T) {
	on(t)
	ctx := spanlabels.Without(t.Context())
	if s := spanlabels.Set(ctx, spanContext([16]byte{1}, [8]byte{1}), "span", true); s != nil || spanlabels.Tag() != nil {
		t.Errorf("Set returned %v, and the goroutine has the labels %v", name(s), labelsOf(spanlabels.Tag()))
	}
	inside := trace.ContextWithSpanContext(ctx, spanContext([16]byte{1}, [8]byte{1}))
	s := spanlabels.Set(inside, spanContext([16]byte{1}, [8]byte{2}), "span", false)
	wantSpan(t, "under a context over it", s)
	if s == nil {
		t.Error("a span under a context over it does not label")
	}
	s.End("")
}
