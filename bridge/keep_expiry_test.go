package bridge_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// An undecided request of more than 15 minutes misses its old spans and measures. Only these count as missing spans, and late marks do not count.
func TestKeepExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1}, nil)
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
			child, span := r.tracer.Start(ctx, "child")
			for range 3 {
				marks.Mark(child, "mark")
			}
			marks.Mark(ctx, "mark of the root")
			span.End()
			marks.Mark(child, "late")
			marks.Time(ctx, "measure").End()
			time.Sleep(14 * time.Minute)
			if u := r.unitStats(); u.Waiting != 1 || u.Refused != 0 {
				t.Errorf("after 14 minutes, %+v", u)
			}
			time.Sleep(2 * time.Minute)
			marks.Time(ctx, "new").End()
		})
		if got, want := r.recorded.names(), "GET / new"; got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
		if got, want := strings.Join(r.recorded.kept(), ""), "slow refused 2"; got != want {
			t.Errorf("the root says %q, want %q: the child and the measure are missing", got, want)
		}
		for _, s := range r.recorded.all() {
			if s.Name == "GET /" && s.DroppedEvents != 1 {
				t.Errorf("the root dropped %d events, want 1", s.DroppedEvents)
			}
		}
		if s := r.provider.Stats(); r.provider.RequestCounts()["refused"] != 6 || s.MarksAfterEnd != 1 {
			t.Errorf("%+v, want 6 refused: four marks, the child and the measure; and 1 late mark", s)
		}
	})
}

// A request that is kept has been decided. Its open spans keep their marks, as the marks of sampled requests do.
func TestKeptDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, sampler := range []sdktrace.Sampler{nil, sdktrace.AlwaysSample()} {
			r := newKeepRig(t, bridge.KeepPolicy{Share: 1}, sampler)
			r.provider.UnregisterSpanProcessor(r.seen) // marks wait for the end of their span
			var open trace.Span
			r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
				ctx, open = r.tracer.Start(ctx, "open")
				marks.Mark(ctx, "mark")
			})
			time.Sleep(time.Hour)
			open.End()
			if s := r.provider.Stats(); s.MarkEvents != 1 || s.Lost() != 0 {
				t.Errorf("%v: %+v, want the mark", sampler, s)
			}
		}
	})
}

// An endingOutput ends requests when the first span arrives.
type endingOutput struct {
	arrivals

	end atomic.Pointer[func()] // nil once it has been called
}

func (o *endingOutput) Accept(s []bridge.Spans) {
	if end := o.end.Swap(nil); end != nil {
		(*end)()
	}
	o.arrivals.Accept(s)
}

// Requests are decided while a sweep is under way. It does not take them for expired ones.
func TestKeepDecidedDuringSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		ctx := observer.NewContext(context.Background(), tl)
		out := &endingOutput{}
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: tl, Sampler: sdktrace.ParentBased(sdktrace.AlwaysSample()), Recorders: []bridge.Output{out},
			Keep: &bridge.KeepPolicy{Share: 1, PerSecond: -1},
		})
		defer func() { _ = p.Shutdown(ctx) }()
		tracer := p.Tracer("test")
		sampled, _ := tracer.Start(ctx, "sampled")
		marks.Time(sampled, "swept").End()

		const requests = 1000 // of which some are in the shard of the sampled span
		var roots, children []trace.Span
		unsampled := trace.ContextWithRemoteSpanContext(ctx, spanContext(false, true))
		for range requests {
			ctx, root := tracer.Start(unsampled, "GET /", trace.WithSpanKind(trace.SpanKindServer))
			ctx, child := tracer.Start(ctx, "open")
			marks.Mark(ctx, "mark")
			roots, children = append(roots, root), append(children, child)
		}
		end := func() {
			for _, root := range roots {
				root.End()
			}
		}
		out.end.Store(&end)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if out.end.Load() != nil {
			t.Fatal("no sweep")
		}
		if u := (*record.Timeline)(tl).UnitStats(); u.MarksOfOpenSpans != 0 || u.Waiting != requests {
			t.Errorf("%+v, want the marks of %d requests to wait", u, requests)
		}
		for _, child := range children {
			child.End()
		}
		if s := p.Stats(); s.MarkEvents != requests {
			t.Errorf("%d marks became events, want %d", s.MarkEvents, requests)
		}
	})
}
