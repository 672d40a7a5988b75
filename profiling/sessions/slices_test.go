package sessions

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
)

// many is a session in the making of entries on so many timelines.
func many(t *testing.T, entries, timelines int) *raw {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	in := &raw{length: time.Hour, log: newEntryLog(entries)}
	all := make([]*observer.Timeline, timelines)
	for i := range all {
		all[i] = tl.NewChild()
	}
	for i := range entries {
		e, err := all[i%timelines].NewEntry(observer.Measure, "m", time.Duration(i+1), 1)
		if err != nil {
			t.Fatal(err)
		}
		in.log.add(&e, e.StartTime(), false)
	}
	return in
}

// The steps that are done are those that were expected, however the entries are spread.
func TestProgress(t *testing.T) {
	samples := &profile.Trace{Samples: make([]profile.Sample, 4*sliceSize)}
	for i := range samples.Samples {
		samples.Samples[i] = profile.Sample{StackID: profile.None, ContextID: profile.None}
	}
	samples.Contexts = []profile.Context{{SpanID: [8]byte{1}}}
	for _, tr := range []*profile.Trace{nil, samples} {
		for _, timelines := range []int{1, 1000} {
			t.Run(fmt.Sprintf("%d timelines, samples %t", timelines, tr != nil), func(t *testing.T) {
				in := many(t, 10*sliceSize, timelines)
				in.trace = tr
				p := &progress{ctx: t.Context()}
				p.expect(in.steps())
				if _, err := in.build(p); err != nil {
					t.Fatal(err)
				}
				if done, total := p.done.Load(), p.total.Load(); done < total-1 || done > total+1 || total < 50 {
					t.Errorf("%d steps done of %d", done, total)
				}
			})
		}
	}
}

// Post-processing ends when nobody wants its result, wherever it is.
func TestBuildIsGivenUp(t *testing.T) {
	for n := range 50 {
		ctx := &failing{Context: t.Context(), after: n}
		if s, err := many(t, 8*sliceSize, 1).build(&progress{ctx: ctx}); !errors.Is(err, context.Canceled) || s != nil {
			t.Errorf("after %d looks: a session: %t, %v", n, s != nil, err)
		}
		if ctx.looks != n+1 {
			t.Errorf("given up at look %d, it went on to look %d", n+1, ctx.looks)
		}
	}
}

// failing is cancelled after so many looks.
type failing struct {
	context.Context
	after, looks int
}

func (f *failing) Err() error {
	if f.looks++; f.looks > f.after {
		return context.Canceled
	}
	return nil
}
