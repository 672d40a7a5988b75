//go:build !perfline_portable && (amd64 || arm64)

package spanlabels_test

import (
	"context"
	"runtime/pprof"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// The tests in this file need to tell goroutines apart, see Limitations.

// The end of a span sets the labels again that pprof.Do took away, because its context carries none.
func TestEndAfterPprofDoWithoutTheSpan(t *testing.T) {
	tp, sdk, base := setUp(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	pprof.Do(base, pprof.Labels("app", "shop"), func(base context.Context) {
		outerCtx, outer := tp.Tracer("t").Start(base, "outer")
		_, inner := sdk.Tracer("t").Start(outerCtx, "inner")
		pprof.Do(base, pprof.Labels("step", "pay"), func(context.Context) {})
		wantLabels(t, "after Do", trace.SpanContext{}, "", "app", "shop")
		inner.End()
		wantLabels(t, "after the inner span", trace.SpanContextFromContext(outerCtx), "outer", "app", "shop")
		outer.End()
		wantLabels(t, "after both", trace.SpanContext{}, "", "app", "shop")
	})
}

// The goroutine that a span was handed to ends it, as with `go func() { defer
// span.End() … }()`: the one that began it goes on under what is around.
func TestEndOnAnInheritor(t *testing.T) {
	on(t)
	outer := begin(1)
	inner, innerTag := beginTag(2)
	elsewhere(func() {
		wantSpan(t, "the inheritor", inner)
		inner.End("")
		wantTag(t, "the inheritor after its end", innerTag)
	})
	wantSpan(t, "the goroutine that began it", outer)
	next := begin(3)
	next.End("")
	outer.End("")
	wantTag(t, "after all", nil)
}

// A goroutine that outlives the spans it was started under belongs to none.
func TestInheritorOutlives(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer goruntime.SetLabels(nil)
	outer, s := begin(1), begin(2)
	ended, seen := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		for _, want := range []*spanlabels.Span{s, nil, nil} {
			<-ended
			wantSpan(t, "the inheritor", want)
			if _, user := spanlabels.Resolve(spanlabels.Tag(), 1<<60); !slices.Equal(user, labelsOf(before)) {
				t.Errorf("the program's labels are %v, want %v", user, labelsOf(before))
			}
			own := begin(5)
			wantSpan(t, "its own span", own)
			own.End("")
			wantSpan(t, "the inheritor again", want)
			seen <- struct{}{}
		}
		wantTag(t, "after all have ended", before)
	}()
	ended <- struct{}{}
	<-seen
	s.End("")
	ended <- struct{}{}
	<-seen
	outer.End("")
	ended <- struct{}{}
	<-seen
	<-seen
}
