//go:build !race

// One goroutine at a time has no races, and the race detector would take long.

package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A journal that is undecided keeps its oldest entries, and counts the others. A flush leaves it alone.
func TestKeepBoundOfARequest(t *testing.T) {
	synctest.Test(t, testKeepBoundOfARequest) // the request is not slow
}

func testKeepBoundOfARequest(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Share: 1}, nil)
	const n = 10_000
	r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
		for i := range n {
			marks.Time(ctx, fmt.Sprint("measure ", i), slog.Int("i", i)).End()
			if i == n/2 {
				if err := r.provider.ForceFlush(ctx); err != nil {
					t.Error(err)
				}
			}
		}
		marks.Mark(ctx, "refused, too")
	})
	stay := len(r.recorded.all()) - 1
	names := strings.Fields(strings.ReplaceAll(r.recorded.names(), "measure ", ""))
	if stay < 1000 || stay >= n || !slices.Contains(names, "0") || !slices.Contains(names, fmt.Sprint(stay-1)) || slices.Contains(names, fmt.Sprint(stay)) {
		t.Errorf("kept %d of %d measures, want the oldest ones", stay, n)
	}
	s := r.provider.Stats()
	if refused := r.provider.RequestCounts()["refused"]; refused != uint64(n-stay)+1 || s.Lost() != 0 {
		t.Errorf("%d refused, %+v, want %d refused and none lost", refused, s, n-stay+1)
	}
	if got, want := strings.Join(r.recorded.kept(), ""), fmt.Sprint("share refused ", n-stay); got != want {
		t.Errorf("the root says %q, want %q", got, want)
	}
	for _, s := range r.recorded.all() {
		if s.Name == "GET /" && s.DroppedEvents != 1 {
			t.Errorf("the root dropped %d events, want 1", s.DroppedEvents)
		}
	}
}

// Requests that never end do not take the memory of others for ever. Those that are sampled do not miss a span or a mark.
func TestKeepBoundOfAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1, PerSecond: -1}, sdktrace.ParentBased(sdktrace.AlwaysSample()))
		r.provider.UnregisterSpanProcessor(r.seen) // marks wait for the end of their span
		unsampled := trace.ContextWithRemoteSpanContext(r.ctx, spanContext(false, true))
		var open []trace.Span
		for i := range 20_000 {
			ctx, span := r.provider.Tracer(fmt.Sprint(i%10)).Start(unsampled, "never ends", trace.WithSpanKind(trace.SpanKindServer))
			marks.Time(ctx, "measure").End()
			open = append(open, span)
		}
		sampled := uint64(0)
		check := func(when string, waiting int) {
			t.Helper()
			for range 100 {
				r.serve("GET /sampled", 0, func(ctx context.Context, _ trace.Span) {
					marks.Mark(ctx, "mark")
					marks.Time(ctx, "render").End()
				})
				sampled++
			}
			if s := r.provider.Stats(); s.MarkEvents != sampled || s.OtherSpans != sampled || s.MeasureSpans != sampled || s.Lost() != 0 {
				t.Errorf("%s, %+v, want a span, a measure and a mark of each of %d sampled requests", when, s, sampled)
			}
			if u := r.unitStats(); u.Waiting != waiting || u.Refused != uint64(20_000-waiting) {
				t.Errorf("%s, %d requests wait and %d measures are refused, want %d and the rest", when, u.Waiting, u.Refused, waiting)
			}
		}
		check("at first", 8<<10)
		time.Sleep(6 * time.Second)
		check("after two sweeps", 8<<10)
		time.Sleep(16 * time.Minute)
		check("after 16 minutes", 0)
		if u := r.unitStats(); u.WaitingBytes > 0 {
			t.Errorf("after 16 minutes, %d bytes wait", u.WaitingBytes)
		}
		before := len(r.recorded.all())
		ctx, span := r.tracer.Start(unsampled, "GET /", trace.WithSpanKind(trace.SpanKindServer))
		marks.Time(ctx, "render").End()
		span.End()
		if got, want := len(r.recorded.all())-before, 2; got != want {
			t.Errorf("recorded %d spans, want %d", got, want)
		}
		for _, span := range open {
			span.End()
		}
		r.provider.Stats() // hands over what has ended
		if u := r.unitStats(); u.Waiting > 0 || u.WaitingBytes > 0 {
			t.Errorf("at the end, %d requests wait with %d bytes", u.Waiting, u.WaitingBytes)
		}
	})
}

// Large requests that are undecided leave half of the memory to those that are sampled.
func TestKeepLeavesMemoryToSampledRequests(t *testing.T) {
	for _, policy := range []bridge.KeepPolicy{{Off: true}, {}} {
		r := newKeepRig(t, policy, sdktrace.ParentBased(sdktrace.AlwaysSample()))
		r.provider.UnregisterSpanProcessor(r.seen) // marks wait for the end of their span
		unsampled := trace.ContextWithRemoteSpanContext(r.ctx, spanContext(false, true))
		for range 100 { // of 512 KiB each
			ctx, span := r.tracer.Start(unsampled, "open", trace.WithSpanKind(trace.SpanKindServer))
			defer span.End()
			for range 6000 {
				marks.Time(ctx, "measure").End()
			}
		}
		// With the policy off, nobody decides later, and nothing waits.
		if u := r.unitStats(); u.WaitingBytes > 32<<20 || (u.Refused == 0) != policy.Off {
			t.Errorf("%+v: %d bytes wait and %d entries are refused, want at most half of all, and some", policy, u.WaitingBytes, u.Refused)
		}
		for range 50 {
			r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) { marks.Mark(ctx, "mark") })
		}
		if s := r.provider.Stats(); s.MarkEvents != 50 || s.MarksDropped != 0 {
			t.Errorf("%+v: %d marks became events and %d were dropped, want all 50", policy, s.MarkEvents, s.MarksDropped)
		}
	}
}

// An undecided request keeps what it has while sampled requests crowd the memory. These lose the marks of spans that never end.
func TestKeepInACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1, PerSecond: -1}, sdktrace.ParentBased(sdktrace.AlwaysSample()))
		r.provider.UnregisterSpanProcessor(r.seen) // marks wait for the end of their span
		ctx, span := r.tracer.Start(trace.ContextWithRemoteSpanContext(r.ctx, spanContext(false, true)), "GET /", trace.WithSpanKind(trace.SpanKindServer))
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "render").End()
		for range 20_000 {
			sampled, _ := r.tracer.Start(r.ctx, "never ends")
			marks.Mark(sampled, "mark")
		}
		time.Sleep(6 * time.Second)
		if u := r.unitStats(); u.Waiting != 1 || u.MarksOfOpenSpans == 0 {
			t.Errorf("%+v: want only the undecided request to wait", u)
		}
		span.End()
		if got, want := r.recorded.names(), "GET / render"; got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
		if s := r.provider.Stats(); r.provider.RequestCounts()["refused"] != 0 || s.MarkEvents != 1 {
			t.Errorf("%+v: want the mark of the undecided request, and nothing refused", s)
		}
	})
}

// An undecided request counts measures without room as recorded: observers get them.
func TestKeepRefusedIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{}, nil)
		o, err := observer.FromContext(r.ctx).Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Measure}})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Disconnect()
		const n = 10_000
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
			for range n {
				marks.Time(ctx, "measure").End()
			}
		})
		observer.FromContext(r.ctx).Deliver()
		if s := observer.FromContext(r.ctx).Stats()[observer.Measure]; s.Recorded != n || s.Delivered != n || s.Overflow != 0 {
			t.Errorf("%+v, want %d recorded and delivered", s, n)
		}
		if r.provider.RequestCounts()["refused"] == 0 {
			t.Error("nothing was refused")
		}
	})
}

// Late marks and entries that no receiver gets are not missing in a request.
func TestKeepRefusesOnlyWhatIsMissing(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Share: 1}, nil)
	r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
		child, span := r.tracer.Start(ctx, "child")
		span.End()
		for r.unitStats().Refused == 0 {
			marks.Time(ctx, "measure").End()
		}
		before := r.unitStats().Refused
		for range 100 {
			marks.Mark(child, "late")
		}
		if got := r.unitStats().Refused - before; got != 0 {
			t.Errorf("%d late marks are refused", got)
		}
	})
	if s := r.provider.Stats(); s.MarksAfterEnd != 100 {
		t.Errorf("%d marks are late, want 100", s.MarksAfterEnd)
	}
}

// Instrumentation that never ends spans that are not recording does not take memory for ever, and no slots of others.
func TestKeepRootsThatNeverEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1, PerSecond: -1}, nil)
		leaky := r.provider.Tracer("leaky")
		const n = 10_000
		for range n {
			ctx, _ := leaky.Start(r.ctx, "rpc", trace.WithSpanKind(trace.SpanKindServer))
			marks.Time(ctx, "measure").End()
		}
		untracked := r.provider.RequestCounts()["untracked"]
		if untracked < n/2 || untracked > n-1000 {
			t.Errorf("%d requests are untracked", untracked)
		}
		if u := r.unitStats(); u.Waiting+int(untracked) != n {
			t.Errorf("%d requests wait and %d are untracked, want %d together", u.Waiting, untracked, n)
		}
		r.serve("GET /", 0, nil)
		time.Sleep(16 * time.Minute)
		if u := r.unitStats(); u.Waiting > 0 || u.WaitingBytes > 0 {
			t.Errorf("after 16 minutes, %d requests wait with %d bytes", u.Waiting, u.WaitingBytes)
		}
		if got, want := r.recorded.names(), "GET /"; got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
	})
}
