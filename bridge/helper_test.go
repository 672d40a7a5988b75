package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps the spans it is given.
type recorder struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
	downs int
}

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *recorder) ForceFlush(context.Context) error                { return nil }

func (r *recorder) Shutdown(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downs++
	return nil
}

func (r *recorder) OnEnd(s sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, s)
}

func (r *recorder) all() []sdktrace.ReadOnlySpan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sdktrace.ReadOnlySpan(nil), r.spans...)
}

// one finds the only span of that name.
func (r *recorder) one(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found []sdktrace.ReadOnlySpan
	for _, s := range r.all() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %q, want 1; there are %v", len(found), name, r.names())
	}
	return found[0]
}

func (r *recorder) names() (out []string) {
	for _, s := range r.all() {
		out = append(out, s.Name())
	}
	return out
}

// A provider is what the SDK's provider and perfline's have in common.
type provider interface {
	trace.TracerProvider
	RegisterSpanProcessor(sdktrace.SpanProcessor)
	UnregisterSpanProcessor(sdktrace.SpanProcessor)
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// A rig is a timeline, a tracer provider and what arrives behind the bridge.
type rig struct {
	ctx      context.Context
	tl       *observer.Timeline
	provider provider
	tracer   trace.Tracer
	got      *recorder
	proc     *bridge.Processor // nil with Sync
}

func (r *rig) flush(t *testing.T) {
	t.Helper()
	if err := r.provider.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// ways are all ways over the bridge. Each takes a sampler.
var ways = map[string]func(*testing.T, sdktrace.Sampler) *rig{
	"Processor": func(t *testing.T, s sdktrace.Sampler) *rig { return withProcessor(t, sdktrace.WithSampler(s)) },
	"Sync": func(t *testing.T, s sdktrace.Sampler) *rig {
		return withSync(t, sdktrace.NewTracerProvider(sdktrace.WithSampler(s)))
	},
	"perfline's provider and Sync": func(t *testing.T, s sdktrace.Sampler) *rig {
		return withSync(t, bridge.NewTracerProvider(bridge.TracerProviderConfig{Sampler: s}))
	},
}

var (
	always = sdktrace.ParentBased(sdktrace.AlwaysSample())
	never  = sdktrace.NeverSample()
)

// withProcessor puts a Processor in front of the recorder.
func withProcessor(t *testing.T, opts ...sdktrace.TracerProviderOption) *rig {
	t.Helper()
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), got: &recorder{}}
	r.proc = bridge.NewProcessor(r.got, bridge.WithTimeline(r.tl))
	tp := sdktrace.NewTracerProvider(append(opts, sdktrace.WithSpanProcessor(r.proc))...)
	r.proc.Bind(tp)
	r.provider = tp
	return r.ready(t)
}

// withSync puts the recorder and Sync on a provider.
func withSync(t *testing.T, tp provider) *rig {
	t.Helper()
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), provider: tp, got: &recorder{}}
	tp.RegisterSpanProcessor(r.got)
	stop, err := bridge.Sync(tp, bridge.WithTimeline(r.tl))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return r.ready(t)
}

func (r *rig) ready(t *testing.T) *rig {
	r.tracer = r.provider.Tracer("test")
	r.ctx = observer.NewContext(context.Background(), r.tl)
	t.Cleanup(func() {
		if err := r.provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// text is attributes as text, types visible.
func text(kvs []attribute.KeyValue) string {
	var out []string
	for _, kv := range kvs {
		out = append(out, fmt.Sprintf("%s=%s:%v", kv.Key, kv.Value.Type(), kv.Value.AsInterface()))
	}
	return strings.Join(out, " ")
}

func events(s sdktrace.ReadOnlySpan) (out []string) {
	for _, e := range s.Events() {
		out = append(out, e.Name)
	}
	return out
}

// everything records one of each under ctx: two marks, three measures. The
// second mark is inside the started measure.
func everything(t *testing.T, ctx context.Context) {
	t.Helper()
	marks.Mark(ctx, "mark")
	marks.Time(ctx, "leaf").End()
	inside, started := marks.Start(ctx, "started")
	marks.Mark(inside, "inside")
	started.End()
	if _, err := marks.Measure(ctx, "measured", marks.MeasureOptions{}); err != nil {
		t.Fatal(err)
	}
}
