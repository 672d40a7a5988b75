package bridge_test

import (
	"bytes"
	"context"
	"fmt"
	rt "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// executionTrace returns what f does as an execution trace.
func executionTrace(t *testing.T, f func()) string {
	t.Helper()
	var b bytes.Buffer
	if err := rt.Start(&b); err != nil {
		t.Skip("the execution tracer is in use: ", err)
	}
	defer rt.Stop()
	f()
	rt.Stop()
	return b.String()
}

// tasks returns how many tasks of runtime/trace ctx is in. The text of a context names the types of its keys.
func tasks(ctx context.Context) int {
	return strings.Count(fmt.Sprint(ctx), "WithValue(trace.traceContextKey,")
}

// While the execution tracer runs, a span without a parent is a task with its name. Its context belongs to the task.
func TestProviderTasks(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		rename := &hook{start: func(_ context.Context, s sdktrace.ReadWriteSpan) { s.SetName(s.Name() + " renamed by OnStart") }}
		tracer := start(t, providerConfig{processors: []sdktrace.SpanProcessor{rename}}).Tracer("test")
		dropping := start(t, providerConfig{sampler: sdktrace.NeverSample()}).Tracer("test")
		before, early := tracer.Start(t.Context(), "early root")
		var late trace.Span
		written := executionTrace(t, func() {
			ctx, s := tracer.Start(t.Context(), "root")
			child, c := tracer.Start(ctx, "child")
			if tasks(ctx) != 1 || tasks(child) < 1 {
				t.Errorf("a root's context is in %d tasks, and its child's in %d; want 1 and at least 1", tasks(ctx), tasks(child))
			}
			c.End()
			s.End()
			if ctx, s := dropping.Start(t.Context(), "dropped root"); tasks(ctx) != 0 {
				t.Error("the context of a dropped span is in a task")
			} else {
				s.End()
			}
			early.End()
			_, late = tracer.Start(t.Context(), "late root")
		})
		late.End() // after the tracer has stopped
		for _, name := range []string{"root renamed by OnStart", "late root"} {
			if !strings.Contains(written, name) {
				t.Errorf("the execution trace lacks %q", name)
			}
		}
		if strings.Contains(written, "dropped root") {
			t.Error(`the execution trace has "dropped root"`)
		}
		if ctx, s := tracer.Start(t.Context(), "without a trace"); tasks(ctx)+tasks(before) != 0 {
			t.Error("a context is in a task although no tracer runs")
		} else {
			s.End()
		}
	})
}

// End ends the task: the stack of that event is in the execution trace.
func TestProviderTaskEnds(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		tracer := start(t, providerConfig{}).Tracer("test")
		for _, end := range []bool{false, true} {
			written := executionTrace(t, func() {
				if _, s := tracer.Start(t.Context(), "root"); end {
					s.End()
				}
			})
			if has := strings.Contains(written, "(*Task).End"); has != end {
				t.Errorf("the task ended: %v, want %v", has, end)
			}
		}
	})
}

// A root with a parent elsewhere notes the parent at the start and at the end, under perfline's provider and beside the SDK's.
func TestTracesHaveTheParentsOfRoots(t *testing.T) {
	parent := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab}, SpanID: trace.SpanID{0xcd, 7: 0xef}, TraceFlags: trace.FlagsSampled,
	})
	timeline := observer.NewTimeline(observer.TimelineOptions{})
	type provider interface {
		trace.TracerProvider
		Shutdown(context.Context) error
	}
	for name, provider := range map[string]provider{
		"perfline": bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: timeline, Recorders: []bridge.Output{&keptSpans{}}}),
		"SDK":      sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: timeline}))),
	} {
		t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
		var called trace.Span
		written := executionTrace(t, func() {
			_, called = provider.Tracer("test").Start(trace.ContextWithRemoteSpanContext(t.Context(), parent), "GET /called", trace.WithSpanKind(trace.SpanKindServer))
			called.End()
			_, alone := provider.Tracer("test").Start(t.Context(), "GET /alone", trace.WithSpanKind(trace.SpanKindServer))
			alone.End()
		})
		note := fmt.Sprintf("%v %v %v GET /called", called.SpanContext().SpanID(), parent.TraceID(), parent.SpanID())
		if !strings.Contains(written, "perfline.called") || !strings.Contains(written, "perfline.answered") || !strings.Contains(written, note) || strings.Contains(written, "0000000000000000 GET /alone") {
			t.Errorf("%s: the execution trace lacks %q, or has a parent of GET /alone", name, note)
		}
	}
}

// Beside the SDK, which makes a task for each span, the note of a span on another goroutine names the local root. A span
// on its parent's goroutine is an inner span.
func TestTracesHaveTheRootsOfSDKSpans(t *testing.T) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}),
	})))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	tracer := provider.Tracer("test")
	span := func(ctx context.Context, name string, start time.Duration, do func(context.Context)) (id trace.SpanID) {
		ctx, s := tracer.Start(ctx, name, trace.WithTimestamp(time.Now().Add(start)))
		do(ctx)
		s.End()
		return s.SpanContext().SpanID()
	}
	elsewhere := func(f func()) {
		var group sync.WaitGroup
		group.Go(f)
		group.Wait()
	}
	none := func(context.Context) {}
	const later, earlier = time.Hour, -time.Hour // a late note makes a span an inner one
	var root trace.SpanID
	written := executionTrace(t, func() {
		root = span(t.Context(), "root", later, func(ctx context.Context) {
			elsewhere(func() {
				span(ctx, "other", later, func(ctx context.Context) {
					span(ctx, "inside", earlier, func(ctx context.Context) {
						elsewhere(func() { span(ctx, "below", later, none) })
					})
				})
			})
		})
	})
	for _, note := range []string{"perfline.within", fmt.Sprintf("%v other", root), fmt.Sprintf("%v below", root), "perfline.inner"} {
		if !strings.Contains(written, note) {
			t.Errorf("the execution trace lacks %q", note)
		}
	}
	for _, note := range []string{"perfline.start", fmt.Sprintf("%v inside", root)} {
		if strings.Contains(written, note) {
			t.Errorf("the execution trace has %q", note)
		}
	}
}
