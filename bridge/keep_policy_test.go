package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A keepRig is a provider with a policy, and what its outputs get.
type keepRig struct {
	ctx      context.Context
	provider *bridge.TracerProvider
	tracer   trace.Tracer
	recorded *keptSpans
	exported *exportedSpans
	seen     *recorder // by a processor
}

// keptSpans is an output that keeps the spans and the reasons.
type keptSpans struct {
	exportedSpans
	table   *routes.Table // nil: the provider has its own
	reasons []string      // of local roots, with the number of refused spans if there are any
}

func (o *keptSpans) Routes() *routes.Table { return o.table }

func (o *keptSpans) Accept(all []bridge.Spans) {
	o.exportedSpans.Accept(all)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range all {
		if root := s.Root(); root != nil && root.Keep != "" {
			reason := root.Keep
			if refused := (*otlpenc.Spans)(&s).Root().Refused; refused > 0 {
				reason += fmt.Sprint(" refused ", refused)
			}
			o.reasons = append(o.reasons, reason)
		}
	}
}

// kept returns the reasons of the requests that have ended.
func (o *keptSpans) kept() []string {
	o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reasons
}

// neverSlow is a threshold for requests that begin and end in real time, which may stand still for a second.
const neverSlow time.Duration = -1

// newKeepRig returns a rig whose sampler drops all spans, unless it is another one.
func newKeepRig(t *testing.T, policy bridge.KeepPolicy, sampler sdktrace.Sampler) *keepRig {
	t.Helper()
	if sampler == nil {
		sampler = sdktrace.ParentBased(sdktrace.NeverSample())
	}
	seen := &recorder{}
	r := openKeepRig(t, bridge.TracerProviderConfig{Sampler: sampler, Keep: &policy, Processors: []sdktrace.SpanProcessor{seen}})
	r.seen = seen
	return r
}

// openKeepRig returns a rig with a provider that c describes. The rig has the timeline, a recorder and an exporter.
func openKeepRig(t *testing.T, c bridge.TracerProviderConfig) *keepRig {
	t.Helper()
	c.Timeline = observer.NewTimeline(observer.TimelineOptions{})
	r := &keepRig{ctx: observer.NewContext(context.Background(), c.Timeline), recorded: &keptSpans{table: routes.NewTable(routes.Config{})}, exported: &exportedSpans{}}
	c.Recorders, c.Exporters = []bridge.Output{r.recorded}, []bridge.Output{r.exported}
	r.provider = bridge.NewTracerProvider(c)
	t.Cleanup(func() { _ = r.provider.Shutdown(context.Background()) })
	r.tracer = r.provider.Tracer("test")
	return r
}

// serve serves a request for some time of the bubble.
func (r *keepRig) serve(name string, took time.Duration, work func(context.Context, trace.Span)) {
	ctx, span := r.tracer.Start(r.ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	if work != nil {
		work(ctx, span)
	}
	time.Sleep(took)
	span.End()
}

// A request that the sampler dropped is kept for the first reason that holds. Only the recorders get it.
func TestKeepReasons(t *testing.T) {
	fail := func(ctx context.Context, _ trace.Span) {
		timing := marks.Time(ctx, "charge")
		timing.Fail(errors.New("declined"))
		timing.End()
	}
	childFails := func(ctx context.Context, _ trace.Span) {
		_, child := trace.SpanFromContext(ctx).TracerProvider().Tracer("db").Start(ctx, "select")
		child.SetStatus(codes.Error, "timeout")
		child.End()
	}
	startedFails := func(ctx context.Context, _ trace.Span) {
		_, timing := marks.Start(ctx, "charge")
		timing.Fail(errors.New("declined"))
		timing.End()
	}
	choose := func(ctx context.Context, _ trace.Span) { marks.Keep(ctx) }
	for _, c := range []struct {
		name   string
		policy bridge.KeepPolicy
		route  string
		took   time.Duration
		work   func(context.Context, trace.Span)
		want   string
	}{
		{"fast", bridge.KeepPolicy{}, "GET /", time.Second - 1, nil, ""},
		{"a second", bridge.KeepPolicy{}, "GET /", time.Second, nil, "slow"},
		{"own threshold", bridge.KeepPolicy{Slow: time.Millisecond}, "GET /", time.Millisecond, nil, "slow"},
		{"no threshold", bridge.KeepPolicy{Slow: -1}, "GET /", time.Hour, nil, ""},
		{"threshold of the route", bridge.KeepPolicy{Routes: map[string]time.Duration{"GET /": time.Millisecond}}, "GET /", time.Millisecond, nil, "slow"},
		{"no threshold of the route", bridge.KeepPolicy{Routes: map[string]time.Duration{"GET /": -1}}, "GET /", time.Minute, nil, ""},
		{"threshold of another route", bridge.KeepPolicy{Routes: map[string]time.Duration{"GET /a": time.Millisecond}}, "GET /", time.Millisecond, nil, ""},
		{"stream", bridge.KeepPolicy{}, "GET /", time.Hour, func(_ context.Context, s trace.Span) {
			s.SetAttributes(attribute.Bool(record.StreamKey, true))
		}, ""},
		{"root failed", bridge.KeepPolicy{}, "GET /", 0, func(_ context.Context, s trace.Span) { s.SetStatus(codes.Error, "") }, "failed"},
		{"child failed", bridge.KeepPolicy{}, "GET /", 0, childFails, "error_inside"},
		{"measure failed", bridge.KeepPolicy{}, "GET /", 0, fail, "error_inside"},
		{"started measure failed", bridge.KeepPolicy{}, "GET /", 0, startedFails, "error_inside"},
		{"root and child failed", bridge.KeepPolicy{}, "GET /", 0, func(ctx context.Context, s trace.Span) {
			childFails(ctx, s)
			s.SetStatus(codes.Error, "")
		}, "failed"},
		{"root and child failed, and failures do not count", bridge.KeepPolicy{WithoutFailed: true}, "GET /", 0, func(ctx context.Context, s trace.Span) {
			childFails(ctx, s)
			s.SetStatus(codes.Error, "")
		}, ""},
		{"child failed, and failures do not count", bridge.KeepPolicy{WithoutFailed: true}, "GET /", 0, childFails, ""},
		{"Ok in the end", bridge.KeepPolicy{}, "GET /", 0, func(_ context.Context, s trace.Span) {
			s.SetStatus(codes.Error, "")
			s.SetStatus(codes.Ok, "")
		}, ""},
		{"chosen", bridge.KeepPolicy{}, "GET /", 0, choose, "chosen"},
		{"chosen, failed and slow", bridge.KeepPolicy{}, "GET /", time.Minute, func(ctx context.Context, s trace.Span) {
			fail(ctx, s)
			choose(ctx, s)
		}, "chosen"},
		{"failed and slow", bridge.KeepPolicy{}, "GET /", time.Minute, func(_ context.Context, s trace.Span) { s.SetStatus(codes.Error, "") }, "failed"},
		{"measure failed, and slow", bridge.KeepPolicy{}, "GET /", time.Minute, fail, "slow"},
		{"measure failed, and share", bridge.KeepPolicy{Share: 1}, "GET /", 0, fail, "error_inside"},
		{"share", bridge.KeepPolicy{Share: 1}, "GET /", 0, nil, "share"},
		{"off", bridge.KeepPolicy{Off: true, Share: 1}, "GET /", time.Hour, fail, ""},
	} {
		for _, sampler := range []sdktrace.Sampler{sdktrace.NeverSample(), sdktrace.AlwaysSample()} {
			t.Run(c.name+", "+sampler.Description(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newKeepRig(t, c.policy, sampler)
					r.serve(c.route, c.took, c.work)
					if got := strings.Join(r.recorded.kept(), " "); got != c.want {
						t.Errorf("kept for %q, want %q", got, c.want)
					}
					sampled := sampler.Description() == sdktrace.AlwaysSample().Description()
					if got, want := r.recorded.names() != "", sampled || c.want != ""; got != want {
						t.Errorf("the recorders got %q", r.recorded.names())
					}
					if got := r.exported.names() != ""; got != sampled {
						t.Errorf("the exporters got %q", r.exported.names())
					}
					for _, s := range r.recorded.all() {
						want := ""
						if !s.ParentID.IsValid() && !sampled {
							want = c.want
						}
						if got := reasonOf(s.Attributes); got != want {
							t.Errorf("%s has the reason %q, want %q", s.Name, got, want)
						}
					}
				})
			})
		}
	}
}

func reasonOf(attrs []attribute.KeyValue) string {
	for _, kv := range attrs {
		if kv.Key == local.KeepReasonKey {
			return kv.Value.AsString()
		}
	}
	return ""
}

// Only units of work are kept: requests, messages and jobs.
func TestKeepOnlyRequests(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow, Share: 1, PerSecond: -1}, nil)
	for kind := trace.SpanKindInternal; kind <= trace.SpanKindConsumer; kind++ {
		_, span := r.tracer.Start(r.ctx, kind.String(), trace.WithSpanKind(kind))
		span.End()
	}
	marks.Time(r.ctx, "housekeeping").End()
	_, job := marks.StartJob(r.ctx, "nightly")
	job.End()
	if got, want := r.recorded.names(), "consumer nightly server"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
	if n := r.provider.RequestCounts(); n["share"] != 3 || n["other"] != 0 {
		t.Errorf("%v, want 3 requests of the share", n)
	}
}

// Instrumentation sees what the sampler said, and processors see nothing.
func TestKeptSpansAreNotRecording(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Share: 1}, nil)
	r.serve("GET /", 0, func(ctx context.Context, root trace.Span) {
		child, span := r.tracer.Start(ctx, "child")
		for _, s := range []trace.Span{root, span, trace.SpanFromContext(child)} {
			if s.IsRecording() || s.SpanContext().IsSampled() || !s.SpanContext().IsValid() {
				t.Errorf("recording %t, context %+v", s.IsRecording(), s.SpanContext())
			}
		}
		span.SetAttributes(attribute.String("unasked", "yes"))
		span.AddEvent("unasked")
		span.End()
	})
	if len(r.seen.all()) > 0 {
		t.Errorf("a processor saw %q", r.seen.names())
	}
	var child otlpenc.Span
	for _, s := range r.recorded.all() {
		if s.Name == "child" {
			child = s
		}
	}
	if len(child.Attributes) != 1 || len(child.Events) != 1 {
		t.Errorf("the child has %v and %v: what instrumentation tells anyway is lost", child.Attributes, child.Events)
	}
}

// A route that has a usual duration makes requests slow that take several times as long.
func TestKeepSlowForItsRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Factor: 3, PerSecond: -1}, nil)
		serve := func(route string, n int, took time.Duration) {
			for range n {
				r.serve(route, took, nil)
			}
			r.provider.Stats() // counts what the processors have noted
		}
		serve("GET /", 127, 10*time.Millisecond)
		serve("GET /", 1, 40*time.Millisecond) // nothing is usual yet
		serve("GET /", 7, 30*time.Millisecond) // as 5 % may be
		serve("GET /", 1, 40*time.Millisecond)
		serve("GET /other", 1, 40*time.Millisecond)
		serve("GET /", 4096, 20*time.Millisecond) // the usual duration follows
		serve("GET /", 1, 40*time.Millisecond)
		serve("GET /", 1, 70*time.Millisecond)
		if got := len(r.recorded.kept()); got != 2 {
			t.Errorf("%d requests are slow, want 2: of 40 ms after 10 ms, and of 70 ms after 20 ms", got)
		}
	})
}

// Routes beyond the ones that the policy knows share a usual duration.
func TestKeepManyRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Factor: 3, PerSecond: -1}, nil)
		for i := range 1000 {
			r.serve(fmt.Sprint("GET /", i), 10*time.Millisecond, nil)
		}
		r.provider.Stats() // counts what the processors have noted
		r.serve("GET /1001", 40*time.Millisecond, nil)
		if got := len(r.recorded.kept()); got != 1 {
			t.Errorf("%d requests are slow, want 1", got)
		}
	})
}

// The ceiling holds for each second, and counts what it refuses.
func TestKeepCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1, PerSecond: 5}, nil)
		want := []int{5, 0, 1, 5}
		for i, pause := range []time.Duration{0, 100 * time.Millisecond, 100 * time.Millisecond, time.Hour} {
			time.Sleep(pause)
			before := len(r.recorded.kept())
			for range 20 {
				r.serve("GET /", 0, nil)
			}
			if got := len(r.recorded.kept()) - before; got != want[i] {
				t.Errorf("after a pause of %v, %d requests were kept, want %d", pause, got, want[i])
			}
		}
		if n := r.provider.RequestCounts(); n["share"] != 11 || n["over_ceiling"] != 69 || n["other"] != 0 {
			t.Errorf("%v, want 11 of the share and 69 over the ceiling", n)
		}
	})
}

// A sampled span below a dropped one is exported at once. It does not wait for the decision.
func TestKeepSampledBelowDropped(t *testing.T) {
	bySpanName := samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
		if strings.HasPrefix(p.Name, "sampled") {
			return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
		}
		return sdktrace.SamplingResult{}
	})
	r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow}, bySpanName)
	r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
		ctx, span := r.tracer.Start(ctx, "sampled")
		marks.Mark(ctx, "mark")
		_, timing := marks.Start(ctx, "sampled measure")
		timing.End()
		span.End()
		_, timing = marks.Start(trace.ContextWithSpan(ctx, trace.SpanFromContext(ctx)), "dropped")
		timing.End()
		if got, want := r.exported.names(), "sampled sampled measure"; got != want {
			t.Errorf("exported %q, want %q", got, want)
		}
	})
	if got, want := r.recorded.names(), "sampled sampled measure"; got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// Late spans are kept or dropped with their request.
func TestKeepLateSpans(t *testing.T) {
	for _, share := range []float64{0, 1} {
		r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow, Share: share, Export: true}, nil)
		var late context.Context
		var open trace.Span
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) { late, open = r.tracer.Start(ctx, "open") })
		marks.Time(late, "late").End()
		_, span := r.tracer.Start(late, "later")
		span.End()
		marks.Mark(late, "mark")
		open.End()
		marks.Mark(late, "too late")
		want, lost := "", uint64(0)
		if share > 0 {
			want, lost = "GET / late later open", 1
		}
		if r.recorded.names() != want || r.exported.names() != want {
			t.Errorf("share %v: recorded %q, exported %q, want %q", share, r.recorded.names(), r.exported.names(), want)
		}
		if s := r.provider.Stats(); s.Lost() != lost {
			t.Errorf("share %v: %+v, want %d lost", share, s, lost)
		}
	}
}

// A request without anything under it, of which a goroutine begins something after its end.
func TestKeepLateFirstSpan(t *testing.T) {
	for _, share := range []float64{0, 1} {
		r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow, Share: share}, nil)
		var late context.Context
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) { late = ctx })
		marks.Time(late, "late").End()
		want := ""
		if share > 0 {
			want = "GET / late"
		}
		if r.recorded.names() != want {
			t.Errorf("share %v: recorded %q, want %q", share, r.recorded.names(), want)
		}
	}
}

// A program that closes the timeline of its context does not end its request, and so does not decide about it.
func TestKeepClosedByProgram(t *testing.T) {
	for share, want := range map[float64]string{0: "", 1: "GET / after before"} {
		r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow, Share: share}, nil)
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
			_, span := r.tracer.Start(ctx, "before")
			span.End()
			observer.FromContext(ctx).Close()
			_, span = r.tracer.Start(ctx, "after")
			span.End()
		})
		if err := r.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.recorded.names(); got != want {
			t.Errorf("share %v: recorded %q, want %q", share, got, want)
		}
	}
}

// A goroutine begins the first span below a request that fails, as soon as the request has ended. The request is kept, and its span with it, also
// if the decision comes later. No hook of the program runs before the decision, which reads many attributes meanwhile.
func TestKeepFirstSpanAtTheEnd(t *testing.T) {
	const rounds = 100
	r := openKeepRig(t, bridge.TracerProviderConfig{
		Sampler: sdktrace.NeverSample(), Keep: &bridge.KeepPolicy{Slow: neverSlow, PerSecond: -1},
		Limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = -1 }),
	})
	many := make([]attribute.KeyValue, 5000)
	for i := range many {
		many[i] = attribute.Int(fmt.Sprint("key ", i), i)
	}
	for range rounds {
		ctx, root := r.tracer.Start(r.ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
		root.SetAttributes(many...)
		root.SetStatus(codes.Error, "")
		var below sync.WaitGroup
		waits := make(chan struct{})
		below.Go(func() {
			close(waits)
			for serving.Takes(root) { // until it has ended
			}
			_, span := r.tracer.Start(ctx, "below")
			span.End()
		})
		<-waits
		root.End()
		below.Wait()
	}
	count := map[string]int{}
	for _, name := range strings.Fields(r.recorded.names()) {
		count[name]++
	}
	if count["request"] != rounds || count["below"] != rounds {
		t.Errorf("recorded %v, want %d requests with a span each", count, rounds)
	}
}

func (r *keepRig) unitStats() record.UnitStats {
	return (*record.Timeline)(observer.FromContext(r.ctx)).UnitStats()
}

// Decisions of concurrent requests are all counted, and dropped requests leave nothing behind.
func TestKeepConcurrently(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Factor: 2, PerSecond: -1}, sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5)))
	const goroutines, each = 8, 300
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				r.serve(fmt.Sprint("GET /", g%3), 0, func(ctx context.Context, _ trace.Span) {
					var below sync.WaitGroup
					below.Go(func() { marks.Time(ctx, "render").End() })
					marks.Mark(ctx, "mark")
					if i%10 == 0 {
						marks.Keep(ctx)
					}
					below.Wait()
				})
			}
		})
	}
	all.Wait()
	n := r.provider.RequestCounts()
	if n["chosen"] != goroutines*each/10 || n["chosen"]+n["slow"]+n["other"] != goroutines*each {
		t.Errorf("%v, want %d chosen of %d", n, goroutines*each/10, goroutines*each)
	}
	if u := r.unitStats(); u.Waiting != 0 || u.WaitingBytes != 0 || u.MarksAfterEnd+u.MarksDropped != 0 {
		t.Errorf("%+v: something is left, or lost", u)
	}
}

// Observers see the entries of requests, whatever becomes of these.
func TestKeepAndObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{}, nil)
		var seen []string
		o, err := observer.FromContext(r.ctx).Observe(func(l observer.List) {
			for _, e := range l.Entries(observer.Filter{}) {
				seen = append(seen, e.Name())
			}
		}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Disconnect()
		var late context.Context
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
			late = ctx
			marks.Mark(ctx, "mark")
			marks.Time(ctx, "render").End()
		})
		marks.Time(late, "late").End()
		observer.FromContext(r.ctx).Deliver()
		if got, want := strings.Join(seen, " "), "mark render late"; got != want {
			t.Errorf("the observer saw %q, want %q", got, want)
		}
	})
}

// OnSlow gets each slow request that someone can look at: it is sampled, or it is kept, for whatever reason.
func TestOnSlow(t *testing.T) {
	for _, export := range []bool{false, true} {
		t.Run(fmt.Sprint("export ", export), func(t *testing.T) { testOnSlow(t, export) })
	}
}

func testOnSlow(t *testing.T, export bool) {
	synctest.Test(t, func(t *testing.T) {
		var got []bridge.Root
		var exported []bool
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}),
			Sampler: samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
				if strings.HasPrefix(p.Name, "sampled") {
					return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
				}
				return sdktrace.SamplingResult{}
			}),
			Keep:      &bridge.KeepPolicy{PerSecond: 1, Export: export},
			Exporters: []bridge.Output{&arrivals{countOnly: true}},
			OnSlow:    func(q bridge.Root, e bool) { got, exported = append(got, q), append(exported, e) },
		})
		defer func() { _ = p.Shutdown(t.Context()) }()
		serve := func(name string, took time.Duration) trace.SpanContext {
			_, span := p.Tracer("test").Start(t.Context(), name, trace.WithSpanKind(trace.SpanKindServer))
			time.Sleep(took)
			span.End()
			return span.SpanContext()
		}
		serve("fast", 0)
		serve("sampled, fast", 0)
		began := time.Now()
		sc := serve("kept", time.Second)
		_, atOnce := p.Tracer("test").Start(t.Context(), "over the ceiling", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)))
		atOnce.End()
		_, atOnce = p.Tracer("test").Start(t.Context(), "sampled, over the ceiling", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)))
		atOnce.End()
		if len(got) != 2 || got[1].Name != "sampled, over the ceiling" {
			t.Fatalf("slow are %+v", got)
		}
		if want := (bridge.Root{TraceID: sc.TraceID(), SpanID: sc.SpanID(), Name: "kept", Class: "request", Start: began, End: began.Add(time.Second), Keep: "slow"}); got[0] != want {
			t.Errorf("slow is %+v, want %+v", got[0], want)
		}
		if want := []bool{export, true}; !slices.Equal(exported, want) {
			t.Errorf("exported are %v, want %v", exported, want)
		}
	})
}

func TestKeepPolicyCheck(t *testing.T) {
	for _, c := range []struct {
		policy bridge.KeepPolicy
		want   string
	}{
		{bridge.KeepPolicy{}, ""},
		{bridge.KeepPolicy{Slow: -1, Factor: 1, Share: 1, PerSecond: -1, Routes: map[string]time.Duration{"GET /": time.Second}}, ""},
		{bridge.KeepPolicy{Factor: -1}, "Factor -1"},
		{bridge.KeepPolicy{Factor: 0.5}, "Factor 0.5"},
		{bridge.KeepPolicy{Share: -0.1}, "Share -0.1"},
		{bridge.KeepPolicy{Share: 1.1}, "Share 1.1"},
		{bridge.KeepPolicy{Routes: map[string]time.Duration{"": time.Second}}, `Routes[""] 1s`},
		{bridge.KeepPolicy{Routes: map[string]time.Duration{"GET /": 0}}, `Routes["GET /"] 0s`},
	} {
		err := c.policy.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.policy, err, c.want)
		}
	}
}
