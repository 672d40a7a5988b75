package perfline_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// uncollected runs do while no entry is collected from a timeline.
func uncollected(tl *observer.Timeline, do func()) {
	tl.Attach(func(b observer.Bridge) observer.Bridge {
		do()
		return b
	})
}

// overfill records entries until the timeline has refused n.
func overfill(tl *observer.Timeline, typ observer.Type, n uint64) {
	for n > 0 {
		if !tl.Record(nil, typ, "e", 0, 0, nil) {
			n--
		}
	}
}

// Of two pipelines after each other, each tells of its own losses, and not of those before it.
func TestLostErrorIsOfOnePipeline(t *testing.T) {
	tl := observer.Default()
	run := func(during func()) error {
		t.Helper()
		var log bytes.Buffer
		pl, err := perfline.Start(t.Context(), perfline.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		during()
		return pl.Shutdown(t.Context())
	}
	uncollected(tl, func() { overfill(tl, observer.Mark, 5) }) // before any pipeline
	for _, n := range []uint64{3, 0, 2} {
		err := run(func() {
			uncollected(tl, func() { overfill(tl, observer.Measure, n) })
		})
		var lost *perfline.LostError
		switch {
		case n == 0:
			if err != nil {
				t.Errorf("nothing was lost: %v", err)
			}
		case !errors.As(err, &lost) || lost.Entries != n || lost.Spans != 0:
			t.Errorf("%d entries were lost: %v", n, err)
		}
	}
	for _, n := range []uint64{1, 0} { // the bridge's losses
		pl, err := perfline.Start(t.Context(), perfline.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, span := pl.TracerProvider().Tracer("t").Start(t.Context(), "s")
		marks.Mark(ctx, "m")
		span.End()
		if err := pl.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if n > 0 {
			marks.Mark(ctx, "too late")
		}
		var lost *perfline.LostError
		if err := pl.Shutdown(t.Context()); errors.As(err, &lost) != (n > 0) || n > 0 && lost.Entries != n {
			t.Errorf("%d marks were late: %v", n, err)
		}
	}
}

// A pipeline that starts while another one carries the same timeline does not tell of the losses before.
func TestLostErrorIsSinceStart(t *testing.T) {
	t.Setenv("OTEL_SPAN_EVENT_COUNT_LIMIT", "1")
	earlier, ctx, _ := start(t, perfline.Config{})
	spanCtx, span := earlier.TracerProvider().Tracer("t").Start(ctx, "s")
	marks.Mark(spanCtx, "m")
	marks.Mark(spanCtx, "one too many")
	span.End()
	if err := earlier.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	marks.Mark(spanCtx, "too late")
	for earlier.Stats().Bridge.Late == 0 { // a later pass counts it; the test's time limit ends this
		if err := earlier.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pl, err := perfline.Start(t.Context(), perfline.Config{Timeline: observer.FromContext(ctx)})
	if err != nil {
		t.Fatal(err)
	}
	if s := pl.Stats().Bridge; s.Late != 1 || s.Limited != 1 {
		t.Fatalf("%+v, want a late mark and one over the limit", s)
	}
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Errorf("nothing was lost since the second Start: %v", err)
	}
	var lost *perfline.LostError
	if err := earlier.Shutdown(t.Context()); !errors.As(err, &lost) || lost.Entries != 2 {
		t.Errorf("2 marks were lost since the first Start: %v", err)
	}
}

// Lost entries of other types than marks and measures are no error. Entries of other instrumentation's
// spans are no error either: these spans are delivered without them.
func TestLostErrorIsOfMarksAndMeasures(t *testing.T) {
	pl, ctx, _ := start(t, perfline.Config{})
	tl := observer.FromContext(ctx)
	request := observer.NewContext(ctx, tl.NewChild())
	tracer := pl.TracerProvider().Tracer("database")
	var spans []trace.Span
	for _, kind := range []trace.SpanKind{trace.SpanKindInternal, trace.SpanKindClient, trace.SpanKindInternal} {
		_, span := tracer.Start(request, "query", trace.WithSpanKind(kind))
		spans = append(spans, span)
	}
	uncollected(tl, func() {
		overfill(tl, observer.Resource, 4)
		for _, span := range spans {
			span.End()
		}
	})
	if s := pl.Stats(); s.Timeline.Total().Overflow != 7 || s.Bridge.Unrecorded != 2 {
		t.Fatalf("%+v, want 7 entries lost, 2 of them measures of spans", s)
	}
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Errorf("no mark and no measure was lost: %v", err)
	}
	pl, ctx, _ = start(t, perfline.Config{})
	tl = observer.FromContext(ctx)
	uncollected(tl, func() { overfill(tl, observer.Mark, 1) })
	if err := pl.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), "lost 0 spans, 1 marks or measures and 0 profiles: 1 marks or measures dropped at the full timeline") {
		t.Errorf("a mark was lost: %v", err)
	}
}
