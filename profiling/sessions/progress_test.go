package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// many returns a recording of n measures, each under its own span, on some timelines.
func many(t *testing.T, n, timelines int) sessions.Recording {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	all := make([]*observer.Timeline, timelines)
	for i := range all {
		all[i] = tl.NewChild()
	}
	return sessions.Recording{Started: tl.Origin(), Length: time.Hour, Entries: func(yield func(observer.Entry) bool) {
		for i := range n {
			e, err := (*record.Timeline)(all[i%timelines]).NewEntry(record.Measure, "m", time.Duration(i+1), 1)
			if err != nil {
				t.Error(err)
			}
			if !yield(observer.Entry(e)) {
				return
			}
		}
	}}
}

// idleSamples are n samples without a stack or a span.
func idleSamples(n int) *profile.Trace {
	tr := &profile.Trace{Samples: make([]profile.Sample, n), Contexts: []profile.SampleContext{{SpanID: [8]byte{1}}}}
	for i := range tr.Samples {
		tr.Samples[i] = profile.Sample{StackID: profile.None, ContextID: profile.None}
	}
	return tr
}

// The progress ends at 1, however the entries are spread over timelines.
func TestProgress_SP3(t *testing.T) {
	for _, tr := range []*profile.Trace{nil, idleSamples(20_000)} {
		for _, timelines := range []int{1, 1000} {
			t.Run(fmt.Sprintf("%d timelines, samples %t", timelines, tr != nil), func(t *testing.T) {
				r := many(t, 40_000, timelines)
				r.Trace = tr
				if s, done, err := sessions.Build(t.Context(), r); err != nil || s == nil || done != 1 {
					t.Errorf("%v of the work is done, error %v, want 1", done, err)
				}
			})
		}
	}
}

// Post-processing ends soon after its context, wherever it is.
func TestBuildEndsWithItsContext(t *testing.T) {
	r := many(t, 20_000, 2)
	r.Trace = idleSamples(10_000)
	for n := range 100 {
		ctx := &failing{Context: t.Context(), after: n}
		s, done, err := sessions.Build(ctx, r)
		if err == nil {
			if n < 15 || done != 1 {
				t.Errorf("%d checks of the context in all, %v of the work is done", n, done)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || s != nil || done > float64(n)*4096/70_000 {
			t.Errorf("cancelled after %d checks: a session: %t, %v of the work is done, %v", n, s != nil, done, err)
		}
		if ctx.checks > n+6 { // each chunk of entries has one
			t.Errorf("cancelled at check %d, it went on to check %d", n+1, ctx.checks)
		}
	}
	t.Error("it checks its context more than 100 times")
}

// A failing context is cancelled after some checks.
type failing struct {
	context.Context
	after, checks int
}

func (f *failing) Err() error {
	if f.checks++; f.checks > f.after {
		return context.Canceled
	}
	return nil
}
