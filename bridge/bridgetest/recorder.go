package bridgetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// A Recorder keeps the spans that are made with its provider, and the entries of its timeline.
type Recorder struct {
	t        testing.TB
	timeline *observer.Timeline
	provider trace.TracerProvider
	spans    *tracetest.SpanRecorder

	mu      sync.Mutex // guards entries
	entries []observer.Entry
}

// New returns a recorder over a provider of perfline. It ends with the test.
func New(t testing.TB) *Recorder {
	t.Helper()
	return Over(t, nil)
}

// Over returns a recorder over a provider of the SDK. It ends with the test, and does not shut the provider down.
func Over(t testing.TB, sdk *sdktrace.TracerProvider) *Recorder {
	t.Helper()
	const unbounded = 1 << 30 // a test's memory is the bound
	r := &Recorder{t: t, spans: tracetest.NewSpanRecorder()}
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
	stop := r.provide(sdk)
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("recorded:\n%s", r.Tree(every))
		}
		watch.Disconnect()
		stop()
	})
	return r
}

// provide joins a provider of the SDK, or makes one of perfline if it is nil.
func (r *Recorder) provide(sdk *sdktrace.TracerProvider) (stop func()) {
	if sdk == nil {
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: r.timeline, Sampler: sdktrace.AlwaysSample(), Resource: resource.Empty(), Processors: []sdktrace.SpanProcessor{r.spans},
		})
		r.provider = p
		return func() { _ = p.Shutdown(context.Background()) } // a recorder has nothing that could fail
	}
	joined := bridge.NewProcessor(bridge.WithTimeline(r.timeline), bridge.WithTracerProvider(sdk))
	sdk.RegisterSpanProcessor(r.spans)
	sdk.RegisterSpanProcessor(joined)
	r.provider = sdk
	return func() {
		sdk.UnregisterSpanProcessor(joined) // which shuts it down
		sdk.UnregisterSpanProcessor(r.spans)
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
