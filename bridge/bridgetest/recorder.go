package bridgetest

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// A TB is what a recorder needs of a test. *testing.T, *testing.B and *testing.F are ones.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Config configures a [Recorder]. The zero value is what [New] uses.
type Config struct {
	// TracerProvider, when set, makes the spans. The recorder joins it until the end of the test, and does not shut it
	// down. nil means a provider of perfline.
	TracerProvider *sdktrace.TracerProvider

	// Sampler samples for perfline's provider. nil means that every span is sampled.
	Sampler sdktrace.Sampler
}

// A Recorder keeps the spans that are made with its provider, and the entries of its timeline.
type Recorder struct {
	t        TB
	timeline *observer.Timeline
	provider trace.TracerProvider

	mu      sync.Mutex // guards what follows
	spans   []sdktrace.ReadOnlySpan
	places  map[spanKey]int // in spans
	entries []observer.Entry
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(sc trace.SpanContext) spanKey { return spanKey{sc.TraceID(), sc.SpanID()} }

// New returns a recorder over perfline's provider. It ends with the test.
func New(t TB) *Recorder {
	t.Helper()
	return Config{}.New(t)
}

// New returns a recorder that ends with the test.
func (c Config) New(t TB) *Recorder {
	t.Helper()
	const unbounded = 1 << 30 // a test's memory is the bound
	if c.TracerProvider != nil && c.Sampler != nil {
		t.Fatalf("bridgetest: field Sampler %s: must be nil when TracerProvider is set, because that provider has a sampler already", c.Sampler.Description())
	}
	r := &Recorder{t: t, places: map[spanKey]int{}}
	r.timeline = observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: unbounded})
	types := slices.DeleteFunc(observer.SupportedEntryTypes(), func(typ observer.Type) bool { return typ == observer.GC })
	watch, err := r.timeline.Observe(func(l observer.List) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.entries = append(r.entries, l.Entries()...)
	}, observer.Options{Types: types, MaxBuffer: unbounded})
	if err != nil {
		t.Fatalf("bridgetest: a timeline refuses its own types: %v", err)
	}
	var stop func()
	switch {
	case c.TracerProvider != nil:
		stop = r.join(c.TracerProvider)
	case c.Sampler != nil:
		stop = r.start(c.Sampler)
	default:
		stop = r.start(sdktrace.AlwaysSample())
	}
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("recorded:\n%s", r.whole())
		}
		watch.Disconnect()
		stop()
	})
	return r
}

// start makes a provider of perfline.
func (r *Recorder) start(sampler sdktrace.Sampler) (stop func()) {
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: r.timeline, Sampler: sampler, Resource: resource.Empty(), Processors: []sdktrace.SpanProcessor{processor{r}},
	})
	r.provider = p
	return func() { _ = p.Shutdown(context.Background()) } // a recorder has nothing that could fail
}

// join takes the spans of a provider of the SDK.
func (r *Recorder) join(p *sdktrace.TracerProvider) (stop func()) {
	joined := bridge.NewProcessor(bridge.WithTimeline(r.timeline), bridge.WithTracerProvider(p))
	p.RegisterSpanProcessor(processor{r})
	p.RegisterSpanProcessor(joined)
	r.provider = p
	return func() {
		p.UnregisterSpanProcessor(joined) // which shuts it down
		p.UnregisterSpanProcessor(processor{r})
	}
}

// Context returns a context under which marks and measures are recorded. It has the values of parent.
func (r *Recorder) Context(parent context.Context) context.Context {
	return observer.NewContext(parent, r.timeline)
}

// TracerProvider returns the provider whose spans are recorded.
func (r *Recorder) TracerProvider() trace.TracerProvider { return r.provider }

// Timeline returns the process timeline that is recorded.
func (r *Recorder) Timeline() *observer.Timeline { return r.timeline }

// Entries returns the entries recorded so far that match any filter, or all without a filter. They are sorted by their
// start.
func (r *Recorder) Entries(filters ...observer.Filter) []observer.Entry {
	r.timeline.Deliver()
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []observer.Entry
	for i := range r.entries {
		e := &r.entries[i]
		if len(filters) == 0 || slices.ContainsFunc(filters, func(f observer.Filter) bool { return f.Match(e) }) {
			found = append(found, *e)
		}
	}
	slices.SortStableFunc(found, func(a, b observer.Entry) int { return a.Time().Compare(b.Time()) })
	return found
}

// processor is the recorder as a span processor.
type processor struct{ *Recorder }

func (p processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places[keyOf(s.SpanContext())] = len(p.spans)
	p.spans = append(p.spans, s)
}

func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, ok := p.places[keyOf(s.SpanContext())]; ok {
		p.spans[i] = s
	}
}

func (processor) ForceFlush(context.Context) error { return nil }
func (processor) Shutdown(context.Context) error   { return nil }
