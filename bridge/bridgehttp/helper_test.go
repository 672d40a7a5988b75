package bridgehttp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// recorder keeps the spans it is given.
type recorder struct {
	mu    sync.Mutex // guards spans
	spans []sdktrace.ReadOnlySpan
}

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *recorder) ForceFlush(context.Context) error                { return nil }
func (r *recorder) Shutdown(context.Context) error                  { return nil }

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

// A rig is a timeline, a tracer provider and what arrives behind the bridge.
type rig struct {
	ctx      context.Context
	tl       *observer.Timeline
	provider bothproviders.Provider
	tracer   trace.Tracer
	got      *recorder
}

// withProcessor puts a bridge.Processor, or what takes its place for perfline's provider, in front of the recorder.
// It takes one sampler at most.
func withProcessor(t *testing.T, sampler ...sdktrace.Sampler) *rig {
	t.Helper()
	r := &rig{tl: observer.NewTimeline(observer.TimelineOptions{}), got: &recorder{}}
	r.provider = bothproviders.New(t, r.tl, append(sampler, nil)[0], r.got)
	r.tracer = r.provider.Tracer("test")
	r.ctx = observer.NewContext(context.Background(), r.tl)
	t.Cleanup(func() {
		if err := r.provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) flush(t *testing.T) {
	t.Helper()
	if err := r.provider.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// drift returns how far a span's times may be from the times of the timeline's entries. Encoded times are by the wall
// clock, which entries follow to the millisecond.
func drift() time.Duration {
	if bothproviders.Is(bothproviders.Perfline) {
		return time.Millisecond
	}
	return 0
}

var unsampled = sdktrace.NeverSample()

// text is attributes as text, types visible.
func text(kvs []attribute.KeyValue) string {
	var out []string
	for _, kv := range kvs {
		out = append(out, fmt.Sprintf("%s=%s:%v", kv.Key, kv.Value.Type(), kv.Value.AsInterface()))
	}
	return strings.Join(out, " ")
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

// A quietWriter allocates nothing.
type quietWriter struct{ http1Fake }

func (quietWriter) WriteHeader(int)             {}
func (quietWriter) Write(b []byte) (int, error) { return len(b), nil }

// nowhere is an output that takes spans and keeps none.
type nowhere struct{}

func (nowhere) Accept([]bridge.Spans)            {}
func (nowhere) ForceFlush(context.Context) error { return nil }
func (nowhere) Shutdown(context.Context) error   { return nil }

// ownProvider returns perfline's provider with an exporter.
func ownProvider(tb testing.TB, tl *observer.Timeline, s sdktrace.Sampler) *bridge.TracerProvider {
	tb.Helper()
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: s, Exporters: []bridge.Output{nowhere{}}})
	tb.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return tp
}

// sdkProvider returns the SDK's provider, which joins the timeline.
func sdkProvider(tb testing.TB, tl *observer.Timeline, s sdktrace.Sampler) *sdktrace.TracerProvider {
	tb.Helper()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&recorder{}), sdktrace.WithSampler(s))
	tp.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl, TracerProvider: tp}))
	tb.Cleanup(func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return tp
}

func quietTimeline() *observer.Timeline {
	return observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18})
}
