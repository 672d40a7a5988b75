package perfline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// uncollected returns a timeline that is full after a few entries, until it is read.
func uncollected() *observer.Timeline {
	return observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 16})
}

// overfill records entries until the timeline has refused n.
func overfill(tl *observer.Timeline, typ observer.Type, n int) (recorded int) {
	for ; n > 0; recorded++ {
		if !(*record.Timeline)(tl).Record(record.Type(typ), "e", 0, 0, nil) {
			n--
		}
	}
	return recorded
}

// Of two pipelines after each other, each tells of its own losses, and not of those before it.
func TestLostErrorIsOfOnePipeline(t *testing.T) { overBoth(t, testLostErrorIsOfOnePipeline) }

func testLostErrorIsOfOnePipeline(t *testing.T, start starter) {
	t.Helper()
	tl := uncollected()
	overfill(tl, observer.Mark, 5) // before any pipeline
	(*record.Timeline)(tl).Flush()
	for _, n := range []int{3, 0, 2} {
		pl, _, _ := start(t, perfline.Config{Timeline: tl})
		overfill(tl, observer.Mark, n)
		wantLost(t, pl.Shutdown(patient(t)), n, "dropped at the full timeline")
	}
	for _, n := range []int{1, 0} { // the bridge's losses
		pl, ctx, _ := start(t, perfline.Config{Timeline: tl})
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
		marks.Mark(ctx, "m")
		span.End()
		if err := pl.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if n > 0 {
			marks.Mark(ctx, "too late")
		}
		wantLost(t, pl.Shutdown(patient(t)), n, "span's end")
	}
}

// wantLost fails t unless err says that n marks and nothing else were lost.
func wantLost(t *testing.T, err error, n int, cause string) {
	t.Helper()
	if n == 0 {
		if err != nil {
			t.Errorf("nothing was lost: %v", err)
		}
		return
	}
	var lost *perfline.LostError
	if !errors.As(err, &lost) || lost.Marks != uint64(n) || lost.Spans != 0 || !strings.Contains(err.Error(), cause) {
		t.Errorf("%d marks were %s: %v", n, cause, err)
	}
}

// A pipeline that starts while another one carries the same timeline does not tell of the losses before.
func TestLostErrorIsSinceStart(t *testing.T) { overBoth(t, testLostErrorIsSinceStart) }

func testLostErrorIsSinceStart(t *testing.T, start starter) {
	t.Helper()
	earlier, ctx, _ := start(t, perfline.Config{})
	spanCtx, span := earlier.TracerProvider().Tracer("t").Start(ctx, "s")
	span.End()
	marks.Mark(spanCtx, "too late")
	marks.Mark(spanCtx, "later")
	if s := earlier.Stats().Bridge; s.MarksAfterEnd != 2 {
		t.Fatalf("%+v, want two late marks", s)
	}
	pl, _, _ := start(t, perfline.Config{Timeline: observer.FromContext(ctx)})
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Errorf("nothing was lost since the second Start: %v", err)
	}
	var lost *perfline.LostError
	if err := earlier.Shutdown(t.Context()); !errors.As(err, &lost) || lost.Marks != 2 {
		t.Errorf("2 marks were lost since the first Start: %v", err)
	}
}

// A mark that the full timeline refuses is lost unless it has a span. Measures, and marks under a span, reach the
// spans.
func TestLostErrorIsOfWhatReachesNoSpan(t *testing.T) {
	overBoth(t, testLostErrorIsOfWhatReachesNoSpan)
}

func testLostErrorIsOfWhatReachesNoSpan(t *testing.T, start starter) {
	t.Helper()
	tl := uncollected()
	pl, ctx, _ := start(t, perfline.Config{Timeline: tl})
	overfill(tl, observer.Resource, 4)
	measures := overfill(tl, observer.Measure, 2)
	ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
	marks.Mark(ctx, "m")
	span.End()
	err := pl.Shutdown(patient(t))
	if s := pl.Stats(); s.Timeline[observer.Measure].Overflow != 2 || s.Bridge.MeasureSpans != uint64(measures) || s.Bridge.MarkEvents != 1 {
		t.Errorf("of %d measures and a mark under a span: %+v", measures, s)
	}
	if err != nil {
		t.Errorf("no mark and no measure was lost: %v", err)
	}
	pl, _, _ = start(t, perfline.Config{Timeline: tl})
	overfill(tl, observer.Mark, 1)
	if err := pl.Shutdown(patient(t)); err == nil || !strings.Contains(err.Error(), "lost 1 mark (1 mark dropped at the full timeline)") {
		t.Errorf("a mark was lost: %v", err)
	}
}
