package bridge_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// An arrivals output keeps the encoded spans that arrive, or only counts them.
type arrivals struct {
	readable

	countOnly bool
	count     atomic.Int64

	mu    sync.Mutex // guards what follows
	spans []bridge.Spans
}

func (a *arrivals) Accept(all []bridge.Spans) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range all {
		a.count.Add(int64(s.Count))
		if !a.countOnly {
			a.spans = append(a.spans, s.Clone())
		}
	}
}

func (a *arrivals) ForceFlush(context.Context) error { return nil }
func (a *arrivals) Shutdown(context.Context) error   { return nil }

// arrived returns how many of the spans that have ended have arrived.
func (a *arrivals) arrived() int64 {
	a.read()
	return a.count.Load()
}

// decoded returns the spans that have arrived.
func (a *arrivals) decoded(t *testing.T) (all []otlpenc.Span) {
	t.Helper()
	a.read()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.spans {
		for span, err := range otlpenc.Spans(s).All() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, span)
		}
	}
	return all
}

// byName returns the spans by their names, and reports names that arrived twice.
func (a *arrivals) byName(t *testing.T) map[string]otlpenc.Span {
	t.Helper()
	all := map[string]otlpenc.Span{}
	for _, s := range a.decoded(t) {
		if _, twice := all[s.Name]; twice {
			t.Errorf("span %q arrived twice", s.Name)
		}
		all[s.Name] = s
	}
	return all
}

// ownProvider returns perfline's provider and what its spans arrive at.
func ownProvider(t *testing.T, c bridge.TracerProviderConfig) (*bridge.TracerProvider, *arrivals) {
	t.Helper()
	a := &arrivals{}
	c.Exporters = append(c.Exporters, a)
	if c.Timeline == nil {
		c.Timeline = observer.NewTimeline(observer.TimelineOptions{})
	}
	tp := bridge.NewTracerProvider(c)
	t.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tp, a
}

// Children end after their root, begin after it, and end in any order.
func TestUnitsInAnyOrder(t *testing.T) {
	tp, got := ownProvider(t, bridge.TracerProviderConfig{})
	tracer, other := tp.Tracer("one"), tp.Tracer("another")
	ctx, root := tracer.Start(t.Context(), "root")
	first, early := other.Start(ctx, "early")
	_, late := tracer.Start(ctx, "late")
	_, below := tracer.Start(first, "below")
	early.End()
	if n := got.arrived(); n != 0 {
		t.Errorf("%d spans arrived before their root's end", n)
	}
	root.End()
	if n := got.arrived(); n != 2 {
		t.Errorf("%d spans arrived with their root, want 2", n)
	}
	below.End()
	late.AddEvent("after the root's end")
	late.End()
	after, span := tracer.Start(ctx, "after")
	_, deeper := tracer.Start(after, "deeper")
	span.End()
	deeper.End()
	all := got.byName(t)
	for child, parent := range map[string]string{"early": "root", "late": "root", "below": "early", "after": "root", "deeper": "after"} {
		if all[child].ParentID != all[parent].SpanID || all[child].TraceID != all[parent].TraceID || !all[child].SpanID.IsValid() {
			t.Errorf("%q is %+v, not below %q", child, all[child].Header, parent)
		}
	}
	if len(all) != 6 || len(all["late"].Events) != 1 {
		t.Errorf("arrived %d spans, and %d events of the late one, want 6 and 1", len(all), len(all["late"].Events))
	}
}

// The first child starts after its root has ended.
func TestUnitsOfALateChild(t *testing.T) {
	tp, got := ownProvider(t, bridge.TracerProviderConfig{})
	ctx, root := tp.Tracer("t").Start(t.Context(), "root")
	root.End()
	_, child := tp.Tracer("t").Start(ctx, "child")
	child.End()
	if n := got.arrived(); n != 2 {
		t.Errorf("%d spans arrived, want both", n)
	}
}

// A span of another provider of perfline's is not the parent's unit.
func TestUnitsOfTwoProviders(t *testing.T) {
	one, gotOne := ownProvider(t, bridge.TracerProviderConfig{})
	two, gotTwo := ownProvider(t, bridge.TracerProviderConfig{})
	ctx, outer := one.Tracer("t").Start(t.Context(), "outer")
	_, inner := two.Tracer("t").Start(ctx, "inner")
	inner.End()
	if gotOne.arrived() != 0 || gotTwo.arrived() != 1 {
		t.Errorf("%d and %d spans arrived after the inner one's end, want 0 and 1", gotOne.arrived(), gotTwo.arrived())
	}
	outer.End()
	if all := gotTwo.byName(t); all["inner"].ParentID != outer.SpanContext().SpanID() || gotOne.arrived() != 1 {
		t.Errorf("arrived %+v, and %d spans of the other provider", all, gotOne.arrived())
	}
}

// A trace has several local roots: each span under a remote parent. A span under a span of another provider is in the request above.
func TestUnitsOfOneTrace(t *testing.T) {
	tp, got := ownProvider(t, bridge.TracerProviderConfig{})
	tracer := tp.Tracer("t")
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	base := trace.ContextWithRemoteSpanContext(t.Context(), remote)
	firstCtx, first := tracer.Start(base, "first")
	_, second := tracer.Start(base, "second")
	between, foreign := sdktrace.NewTracerProvider().Tracer("t").Start(firstCtx, "of the SDK")
	defer foreign.End()
	_, third := tracer.Start(between, "third")
	newCtx, fresh := tracer.Start(firstCtx, "fresh", trace.WithNewRoot())
	_, child := tracer.Start(newCtx, "child of fresh")
	child.End()
	third.End()
	for i, span := range []trace.Span{second, fresh, first} {
		before := got.arrived()
		span.End()
		if now := got.arrived(); now == before {
			t.Errorf("local root %d did not arrive at its end", i)
		}
	}
	all := got.byName(t)
	if all["third"].ParentID != foreign.SpanContext().SpanID() || all["third"].TraceID != remote.TraceID() || all["fresh"].TraceID == remote.TraceID() || len(all) != 5 {
		t.Errorf("arrived %+v", all)
	}
}

// A countingIDs makes span ids that are unique within a trace only, as some generators do.
type countingIDs struct{ traces, spans atomic.Uint64 }

func (c *countingIDs) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	binary.BigEndian.PutUint64(t[:8], c.traces.Add(1))
	return t, c.NewSpanID(ctx, t)
}

func (c *countingIDs) NewSpanID(context.Context, trace.TraceID) (s trace.SpanID) {
	binary.BigEndian.PutUint64(s[:], 1+c.spans.Add(1)%4)
	return s
}

func TestUnitsWithEqualSpanIDs(t *testing.T) {
	tp, got := ownProvider(t, bridge.TracerProviderConfig{IDs: &countingIDs{}})
	tracer := tp.Tracer("t")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 200 {
				mine := attribute.String("request", fmt.Sprintf("%d/%d", g, i))
				ctx, root := tracer.Start(context.Background(), "root", trace.WithAttributes(mine))
				for range 3 {
					_, child := tracer.Start(ctx, "child", trace.WithAttributes(mine))
					child.End()
				}
				root.End()
			}
		})
	}
	all.Wait()
	of := map[trace.TraceID]string{}
	for _, s := range got.decoded(t) {
		request := s.Attributes[0].Value.AsString()
		if known, ok := of[s.TraceID]; ok && known != request {
			t.Fatalf("trace %v has spans of %s and of %s", s.TraceID, known, request)
		}
		of[s.TraceID] = request
	}
	if n := got.arrived(); len(of) != 800 || n != 3200 {
		t.Errorf("%d traces and %d spans arrived, want 800 and 3200", len(of), n)
	}
}

// The spans that wait under an open root are bounded, however many children end.
func TestUnitsOfManySpans(t *testing.T) {
	const children = 10_000
	for name, goroutines := range map[string]int{"a consumer of messages": 1, "a fan-out": 8} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // no part gets old
				a := &arrivals{countOnly: true}
				tl := observer.NewTimeline(observer.TimelineOptions{})
				tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Exporters: []bridge.Output{a}})
				tracer := tp.Tracer("t")
				ctx, root := tracer.Start(t.Context(), "root")
				var all sync.WaitGroup
				for range goroutines {
					all.Go(func() {
						for range children / goroutines {
							_, child := tracer.Start(ctx, "child")
							child.End()
							if s := (*record.Timeline)(tl).UnitStats(); s.WaitingBytes > (goroutines+1)*520<<10 { // each hands over a part, and one fills
								t.Errorf("%d bytes wait", s.WaitingBytes)
								return
							}
						}
					})
				}
				all.Wait()
				if n := a.arrived(); n < children-512 {
					t.Errorf("%d of %d children arrived before the root's end", n, children)
				}
				root.End()
				if n := a.arrived(); n != children+1 {
					t.Errorf("%d spans arrived, want %d", n, children+1)
				}
				if s := (*record.Timeline)(tl).UnitStats(); s.LongUnits != children/512 || s.Waiting != 0 {
					t.Errorf("stats are %+v, want %d long parts", s, children/512)
				}
			})
		})
	}
}

// ForceFlush and Shutdown return when everything recorded before them is handed over, while others go on.
func TestFlushWhileOthersGoOn(t *testing.T) {
	for name, flush := range map[string]func(*bridge.TracerProvider) error{
		"ForceFlush": func(tp *bridge.TracerProvider) error { return tp.ForceFlush(context.Background()) },
		"Shutdown":   func(tp *bridge.TracerProvider) error { return tp.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			tp, got := ownProvider(t, bridge.TracerProviderConfig{})
			tracer := tp.Tracer("t")
			ctx, root := tracer.Start(t.Context(), "root")
			defer root.End()
			var stop atomic.Bool
			var others sync.WaitGroup
			for range 4 {
				others.Go(func() {
					for !stop.Load() {
						_, s := tracer.Start(ctx, "of others")
						s.End()
					}
				})
			}
			var mine sync.WaitGroup
			for g := range 4 { // units of their own, and this one
				mine.Go(func() {
					in := ctx
					if g%2 == 0 {
						in, _ = tracer.Start(context.Background(), "never ended")
					}
					for i := range 100 {
						_, s := tracer.Start(in, fmt.Sprintf("mine %d/%d", g, i))
						s.End()
					}
				})
			}
			mine.Wait()
			if err := flush(tp); err != nil {
				t.Error(err)
			}
			arrived := 0
			for _, s := range got.decoded(t) {
				if len(s.Name) > 4 && s.Name[:4] == "mine" {
					arrived++
				}
			}
			stop.Store(true)
			others.Wait()
			if arrived != 400 {
				t.Errorf("%d of 400 spans had arrived", arrived)
			}
		})
	}
}

// The spans of a long unit fill blocks of 16 KiB, one after the other, and no span is in an array of its own. The root is in the last part.
func TestProviderFillsBlocks(t *testing.T) {
	const spans, block = 400, 16 << 10
	out, another := &arrivals{}, &arrivals{}
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: sdktrace.AlwaysSample(),
		Exporters: []bridge.Output{out}, Recorders: []bridge.Output{another},
	})
	tracers := []trace.Tracer{p.Tracer("a"), p.Tracer("b")}
	ctx, root := tracers[0].Start(t.Context(), "root")
	for i := range spans - 1 {
		_, span := tracers[i%2].Start(ctx, "span", trace.WithAttributes(attribute.Int("number", i)))
		span.End()
	}
	root.End()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, o := range []*arrivals{out, another} {
		bytes, next, roots := 0, map[string]int{"b": 1}, 0
		for i, s := range o.spans {
			bytes += len(s.Bytes)
			if len(s.Bytes) > block || s.Root() != nil && (roots > 0 || s.Scope().Name != "a") {
				t.Errorf("part %d of %q has %d bytes and the root %v", i, s.Scope().Name, len(s.Bytes), s.Root())
			}
			if s.Root() != nil {
				roots++
			}
		}
		for _, s := range o.decoded(t) {
			if s.Name == "root" {
				continue
			}
			scope := []string{"a", "b"}[s.Attributes[0].Value.AsInt64()%2]
			if got := int(s.Attributes[0].Value.AsInt64()); got != next[scope] {
				t.Fatalf("span %d of %q arrives in place of %d", got, scope, next[scope])
			}
			next[scope] += 2
		}
		if next["a"] != spans || next["b"] != spans-1 || roots != 1 || len(o.spans) > bytes/block+4 {
			t.Errorf("%v spans and %d roots are in %d parts of %d bytes", next, roots, len(o.spans), bytes)
		}
	}
}
