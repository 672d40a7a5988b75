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

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

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

// A rig is a timeline, a provider that makes spans of what is recorded on it, and the spans that arrive.
type rig struct {
	ctx      context.Context // carries the timeline
	tl       *observer.Timeline
	provider anyProvider
	tracer   trace.Tracer
	got      *recorder
	stats    func() bridge.Stats
	own      bool // the provider is perfline's
}

func (r *rig) flush(t *testing.T) {
	t.Helper()
	if err := r.provider.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// request returns a context of a request's timeline, and the function that ends the request: it has a unit of perfline's provider, and a child
// timeline with another one.
func (r *rig) request() (ctx context.Context, end func()) {
	if r.own {
		ctx, span := r.provider.Tracer(scope.Name).Start(r.ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
		_ = (*record.Timeline)(observer.FromContext(ctx)).SetTiming(record.RequestStart, 0) // as bridgehttp does
		return ctx, func() { span.End() }
	}
	tl := r.tl.NewChild()
	return observer.NewContext(r.ctx, tl), tl.Close
}

var (
	always = sdktrace.ParentBased(sdktrace.AlwaysSample())
	never  = sdktrace.NeverSample()
)

// overAll runs a test over perfline's provider, over the same with a processor that sees each mark and measure, and over the SDK's.
func overAll(t *testing.T, test func(t *testing.T, open func(bothproviders.Options) *rig)) {
	t.Helper()
	for _, name := range bothproviders.All() {
		t.Run(name, func(t *testing.T) {
			test(t, func(o bothproviders.Options) *rig { return newRig(t, name, o) })
		})
	}
}

// newRig returns a rig over a provider, which is shut down when the test ends.
func newRig(t *testing.T, name string, o bothproviders.Options) *rig {
	t.Helper()
	if o.Timeline == nil {
		o.Timeline = observer.NewTimeline(observer.TimelineOptions{})
	}
	r := &rig{tl: o.Timeline, got: &recorder{}, own: name != bothproviders.SDK}
	p, stats := bothproviders.Open(name, o, r.got)
	r.provider, r.stats = p.(anyProvider), stats
	r.tracer = p.Tracer("test")
	r.ctx = observer.NewContext(context.Background(), r.tl)
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// entriesOf returns the entries of the timeline of ctx.
func entriesOf(ctx context.Context) []observer.Entry { return observer.FromContext(ctx).Entries() }

// text is attributes as text, types visible.
func text(kvs []attribute.KeyValue) string {
	var out []string
	for _, kv := range kvs {
		out = append(out, fmt.Sprintf("%s=%s:%v", kv.Key, kv.Value.Type(), kv.Value.AsInterface()))
	}
	return strings.Join(out, " ")
}

func events(s sdktrace.ReadOnlySpan) []string { return eventNames(s.Events()) }

func eventNames(all []sdktrace.Event) (names []string) {
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names
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
