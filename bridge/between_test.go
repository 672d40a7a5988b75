package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// others returns a tracer of another provider: of one that makes no spans, of one that samples none, and of one that samples all.
func others(t *testing.T) map[string]trace.Tracer {
	t.Helper()
	of := func(s sdktrace.Sampler) trace.Tracer {
		tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(s))
		t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
		return tp.Tracer("other")
	}
	return map[string]trace.Tracer{
		"no-op": noop.NewTracerProvider().Tracer("off"), "unsampled": of(never), "recording": of(sdktrace.AlwaysSample()),
	}
}

// What is recorded below a span of another provider stays in its request: marks and measures at the span above, and spans in their unit. The
// sampler drops a span below an unsampled one, as the specification says; the span is counted, and its marks stay.
func TestSpansOfAnotherProviderBetween(t *testing.T) {
	for name, other := range others(t) {
		for _, provider := range []string{bothproviders.Perfline, bothproviders.Processors} {
			t.Run(provider+", "+name, func(t *testing.T) {
				r := newRig(t, provider, bothproviders.Options{})
				root, end := r.request()
				ctx, outer := r.tracer.Start(root, "outer")
				between, span := other.Start(ctx, "between")
				everything(t, between)
				below, child := r.tracer.Start(between, "child")
				marks.Mark(below, "in child")
				child.SetStatus(codes.Error, "failed")
				child.End()
				span.End()
				var entries []string
				for _, e := range entriesOf(root) {
					entries = append(entries, fmt.Sprint(e.Type(), " ", e.Name()))
				}
				for _, want := range []string{"mark mark", "measure leaf", "measure started", "measure measured"} {
					if !slices.Contains(entries, want) {
						t.Errorf("the request's timeline has %q, and not %q", entries, want)
					}
				}
				outer.End()
				end()
				r.flush(t)

				under := outer.SpanContext().SpanID()
				wantOuter, wantChild, parent := []string{"mark"}, true, under
				switch name {
				case "unsampled":
					wantOuter, wantChild = []string{"mark", "in child"}, false
				case "recording":
					parent = span.SpanContext().SpanID()
				}
				if got := events(r.got.one(t, "outer")); !slices.Equal(got, wantOuter) {
					t.Errorf("the span above has the marks %q, want %q", got, wantOuter)
				}
				for _, measure := range []string{"leaf", "started", "measured"} {
					if got := r.got.one(t, measure).Parent().SpanID(); got != under {
						t.Errorf("the parent of %q is %v, want the span above", measure, got)
					}
				}
				if got := events(r.got.one(t, "started")); !slices.Equal(got, []string{"inside"}) {
					t.Errorf("the started measure has the marks %q", got)
				}
				if !wantChild {
					if slices.Contains(r.got.names(), "child") {
						t.Errorf("there is a span below an unsampled one")
					}
				} else if c := r.got.one(t, "child"); c.Parent().SpanID() != parent || !slices.Equal(events(c), []string{"in child"}) {
					t.Errorf("the child is under %v with %q, want %v and its mark", c.Parent().SpanID(), events(c), parent)
				}
				for _, s := range r.got.all() {
					if s.SpanContext().TraceID() != outer.SpanContext().TraceID() {
						t.Errorf("%q is in another trace", s.Name())
					}
				}
				dropped := uint64(0)
				if !wantChild {
					dropped = 1
				}
				if s := r.stats(); s.SpansUnderUnsampled != dropped || s.Lost() != 0 || s.MarksWithoutSpan != 0 {
					t.Errorf("stats %+v, want %d spans below an unsampled one and nothing lost", s, dropped)
				}
			})
		}
	}
}

// The SDK makes the request's spans: a no-op span stands for the open span with its id.
func TestNoOpSpanUnderAnSDKSpan(t *testing.T) {
	r := newRig(t, bothproviders.SDK, bothproviders.Options{})
	root, end := r.request()
	ctx, outer := r.tracer.Start(root, "outer")
	between, _ := noop.NewTracerProvider().Tracer("off").Start(ctx, "between")
	everything(t, between)
	outer.End()
	marks.Mark(between, "late")
	end()
	r.flush(t)
	if got := events(r.got.one(t, "outer")); !slices.Equal(got, []string{"mark"}) {
		t.Errorf("the span above has the marks %q", got)
	}
	for _, measure := range []string{"leaf", "started", "measured"} {
		if got := r.got.one(t, measure).Parent().SpanID(); got != outer.SpanContext().SpanID() {
			t.Errorf("the parent of %q is %v, want the span above", measure, got)
		}
	}
	if got := events(r.got.one(t, "started")); !slices.Equal(got, []string{"inside"}) {
		t.Errorf("the started measure has the marks %q", got)
	}
	if s := r.stats(); s.MarksUnderNoOp != 1 || s.Lost() != 1 {
		t.Errorf("stats %+v, want the late mark under a span that records nothing", s)
	}
}

// In a request that is not sampled, a span below an unsampled one is dropped as each other span, and not counted.
func TestUnsampledBetweenInAnUnsampledRequest(t *testing.T) {
	r := newRig(t, bothproviders.Perfline, bothproviders.Options{Sampler: never})
	ctx, root := r.tracer.Start(r.ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	marks.Mark(ctx, "mark") // makes the request's unit
	between, _ := others(t)["unsampled"].Start(ctx, "between")
	below, child := r.tracer.Start(between, "child")
	marks.Mark(below, "in child")
	child.End()
	root.End()
	r.flush(t)
	if s := r.stats(); s.SpansUnderUnsampled != 0 || s.Lost() != 0 || len(r.got.all()) != 0 {
		t.Errorf("stats %+v, spans %v", s, r.got.names())
	}
}

// A kept, unsampled request contains the marks and the spans below a span of another provider.
func TestSpansBetweenInAKeptRequest(t *testing.T) {
	for name, other := range others(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, bothproviders.Perfline, bothproviders.Options{Sampler: never, Keep: &bridge.KeepPolicy{}})
			ctx, root := r.tracer.Start(r.ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
			between, _ := other.Start(ctx, "between")
			everything(t, between)
			_, child := r.tracer.Start(between, "child")
			child.End()
			root.SetStatus(codes.Error, "failed")
			root.End()
			r.flush(t)
			for _, want := range []string{"request", "leaf", "started", "measured", "child"} {
				r.got.one(t, want)
			}
			if got := events(r.got.one(t, "request")); !slices.Equal(got, []string{"mark"}) {
				t.Errorf("the request has the marks %q", got)
			}
		})
	}
}

// Other instrumentation reads the headers of a request again. Its span is under the caller, as with the SDK, and in the request.
func TestCallerReadAgain(t *testing.T) {
	r := newRig(t, bothproviders.Perfline, bothproviders.Options{Sampler: never, Keep: &bridge.KeepPolicy{}})
	caller := trace.ContextWithRemoteSpanContext(r.ctx, remoteSpan(1))
	ctx, root := r.tracer.Start(caller, "request", trace.WithSpanKind(trace.SpanKindServer))
	again := trace.ContextWithRemoteSpanContext(ctx, remoteSpan(1))
	marks.Mark(again, "mark")
	_, child := r.tracer.Start(again, "child")
	child.End()
	root.SetStatus(codes.Error, "failed")
	root.End()
	r.flush(t)
	if got := events(r.got.one(t, "request")); !slices.Equal(got, []string{"mark"}) {
		t.Errorf("the request has the marks %q", got)
	}
	if got := r.got.one(t, "child").Parent(); got.SpanID() != remoteSpan(1).SpanID() || !got.IsRemote() {
		t.Errorf("the child is under %+v, want the caller", got)
	}
}

// A caller with other flags has not sent the headers of the request.
func TestCallerWithOtherFlags(t *testing.T) {
	r := newRig(t, bothproviders.Perfline, bothproviders.Options{})
	ctx, root := r.tracer.Start(trace.ContextWithRemoteSpanContext(r.ctx, remoteSpan(1)), "request", trace.WithSpanKind(trace.SpanKindServer))
	marks.Mark(trace.ContextWithRemoteSpanContext(ctx, remoteSpan(0)), "mark")
	root.End()
	r.flush(t)
	if got := events(r.got.one(t, "request")); len(got) != 0 {
		t.Errorf("the request has the marks %q", got)
	}
}

// A program leaves its request: with no span, with a span of another process, with another timeline, and with a job. What follows is not the
// request's, also below a span of another provider.
func TestBelowAnotherProviderOutsideTheRequest(t *testing.T) {
	off := noop.NewTracerProvider().Tracer("off")
	for name, leave := range map[string]func(context.Context) context.Context{
		"no span": func(ctx context.Context) context.Context { return trace.ContextWithSpan(ctx, noop.Span{}) },
		"another process": func(ctx context.Context) context.Context {
			return trace.ContextWithRemoteSpanContext(ctx, remoteSpan(1))
		},
		"detached": func(ctx context.Context) context.Context {
			return trace.ContextWithSpanContext(record.Detached(ctx), remoteSpan(1).WithRemote(false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
				r := open(bothproviders.Options{})
				ctx, end := r.request()
				inner, span := r.tracer.Start(ctx, "span")
				outside, _ := off.Start(leave(inner), "between")
				marks.Mark(outside, "mark")
				marks.Time(outside, "measure").End()
				span.End()
				end()
				r.flush(t)
				if got := events(r.got.one(t, "span")); len(got) != 0 {
					t.Errorf("the request's span has %q", got)
				}
				if got := r.got.one(t, "measure").Parent().SpanID(); got == span.SpanContext().SpanID() {
					t.Errorf("the measure is below the request's span")
				}
			})
		})
	}
}

// A no-op span adds no allocation to a mark and a measure.
func TestBetweenAllocations(t *testing.T) {
	r := newRig(t, bothproviders.Perfline, bothproviders.Options{})
	root, end := r.request()
	defer end()
	ctx, span := r.tracer.Start(root, "span")
	defer span.End()
	between, _ := noop.NewTracerProvider().Tracer("off").Start(ctx, "between")
	plain := testing.AllocsPerRun(100, func() { marks.Time(ctx, "m").End() })
	below := testing.AllocsPerRun(100, func() { marks.Time(between, "m").End() })
	if below > plain+1 {
		t.Errorf("a measure below a no-op span allocates %v times, and %v without", below, plain)
	}
	_ = observer.FromContext(between)
}
