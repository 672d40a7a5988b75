package perfline_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// A pipeline starts its recorder, asks it about slow requests, shows its counts and its state, and shuts it down.
func TestWaits(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	recorder := flight.NewRecorder(flight.Config{Armed: true, MinInterval: -1})
	done := make(chan *waits.Request, 1)
	recorder.Watch(func(_ bridge.Root, result *waits.Request) { done <- result })
	pl, ctx, log := start(t, perfline.Config{Waits: recorder, Keep: bridge.KeepPolicy{Slow: 1}})
	if w := pl.Waits(); w == nil || w.State().Status != waits.Armed || recorder.State().Status != waits.Armed {
		t.Fatalf("after Start, the recorder is %+v", recorder.State())
	}
	_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
	span.End()
	if result := <-done; result == nil || result.Name != "GET /slow" {
		t.Errorf("the request has the result %+v", result)
	}
	got := collect(t, reader)
	for name, want := range map[string]int64{
		"perfline.waits.requests slow": 1, "perfline.waits.requests analysed": 1, "perfline.waits.requests.pending": 0,
		"perfline.waits.snapshots written": 1, "perfline.waits.results": 1, "perfline.waits.state armed": 1, "perfline.waits.state disarmed": 0,
	} {
		if n, ok := got[name]; !ok || n != want {
			t.Errorf("%s is %d, %v; want %d", name, n, ok, want)
		}
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if s := recorder.State(); s.Status != waits.Disarmed || s.Reason == "" || pl.Stats().Waits.Analysed != 1 {
		t.Errorf("after Shutdown, the recorder is %+v, and its counts are %+v", s, pl.Stats().Waits)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

// answers is a recorder whose results are the test's.
type answers struct {
	waits.Recorder // nil: the pipeline of these tests calls nothing else
	refuses        bool
	asked          []bridge.Root
	modules        []string
	watcher        func(bridge.Root, *waits.Request)
}

func (*answers) Start(*slog.Logger)             {}
func (a *answers) SetModules(paths []string)    { a.modules = paths }
func (*answers) Shutdown(context.Context) error { return nil }
func (*answers) Stats() waits.Stats             { return waits.Stats{} }
func (*answers) State() waits.State             { return waits.State{} }

func (a *answers) Slow(r bridge.Root) bool {
	a.asked = append(a.asked, r)
	return !a.refuses
}

func (a *answers) Watch(f func(bridge.Root, *waits.Request)) func() {
	a.watcher = f
	return func() { a.watcher = nil }
}

// The recorder learns which modules are the program's, from the policy for its functions.
func TestWaitsKnowTheModulesOfTheProgram(t *testing.T) {
	recorder := &answers{}
	start(t, perfline.Config{Waits: recorder, Sessions: sessions.Config{
		Policy: profiling.Policy{Remote: true, Modules: []string{"main", "example.com/shop"}},
	}})
	if want := []string{"main", "example.com/shop"}; !slices.Equal(recorder.modules, want) {
		t.Errorf("the recorder has the modules %q, want %q", recorder.modules, want)
	}
}

// collected takes the spans that are exported.
type collected struct{ spans []*tracepb.Span }

func (c *collected) Send(_ context.Context, body []byte) exporter.Answer {
	var q coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &q); err != nil {
		return exporter.Answer{Err: err}
	}
	for _, rs := range q.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	return exporter.Answer{}
}

// text returns the spans as name and the attributes about waits, sorted.
func (c *collected) text() string {
	var out []string
	for _, s := range c.spans {
		text := []string{s.GetName()}
		for _, kv := range s.GetAttributes() {
			if strings.HasPrefix(kv.GetKey(), "perfline.time.") {
				text = append(text, fmt.Sprintf("%s=%v", kv.GetKey(), kv.GetValue().GetDoubleValue()))
			}
		}
		out = append(out, strings.Join(text, " "))
	}
	slices.Sort(out)
	c.spans = nil
	return strings.Join(out, ", ")
}

// Exported spans of a slow request wait for the recorder's answer, and have it as attributes. Other spans do not wait, and a flush waits
// for nothing.
func TestWaitsAsAttributes(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: time.Minute, Routes: map[string]time.Duration{"GET /slow": 1}}})
	serve := func(name string) {
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
		marks.Time(ctx, "render").End()
		span.End()
	}
	answer := func(root bridge.Root) *waits.Request {
		return &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
			Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
		}}}
	}
	sending := func() string {
		t.Helper()
		if err := pl.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		return sent.text()
	}
	delivered := func(n uint64) { // what waits in the queue counts as accepted
		t.Helper()
		if got := pl.Stats().Delivery.Accepted; got != n {
			t.Errorf("%d spans are accepted, want %d", got, n)
		}
	}

	serve("GET /slow")
	serve("GET /")
	delivered(2)
	recorder.watcher(recorder.asked[0], answer(recorder.asked[0]))
	delivered(4)
	if got, want := sending(), "GET /, GET /slow perfline.time.mutex=1, render, render"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}

	serve("GET /slow")
	recorder.watcher(recorder.asked[1], nil)
	if got, want := sending(), "GET /slow, render"; got != want {
		t.Errorf("without an answer, sent %q, want %q", got, want)
	}
	serve("GET /slow")
	if got, want := sending(), "GET /slow, render"; got != want {
		t.Errorf("flushed before the answer, sent %q, want %q", got, want)
	}
	recorder.watcher(recorder.asked[2], answer(recorder.asked[2])) // late
	recorder.refuses = true
	serve("GET /slow")
	delivered(10)
	recorder.refuses = false
	for range 1000 { // 512 of them may wait
		serve("GET /slow")
	}
	delivered(10 + 2*(1000-512))
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	delivered(10 + 2000)
}

// The spans of a trace with two slow requests wait for both answers, and each has its own attributes.
func TestWaitsAsAttributesOfTwoRequests(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
	tracer := pl.TracerProvider().Tracer("t")
	outer, first := tracer.Start(ctx, "GET /first", trace.WithSpanKind(trace.SpanKindServer))
	_, second := tracer.Start(outer, "GET /second", trace.WithSpanKind(trace.SpanKindServer))
	second.End()
	first.End()
	for i, kind := range []waits.Kind{waits.Mutex, waits.Timer} {
		if n := pl.Stats().Delivery.Accepted; n != 0 {
			t.Errorf("%d spans do not wait after %d answers", n, i)
		}
		root := recorder.asked[i]
		recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
			Intervals: []waits.Interval{{Kind: kind, End: time.Second, SpanID: root.SpanID}},
		}}})
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if got, want := sent.text(), "GET /first perfline.time.timer=1, GET /second perfline.time.mutex=1"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// An answer may come before the spans are handed over: they have its attributes. It is kept when the recorder then refuses another
// request of the trace.
func TestWaitsAsAttributesBeforeTheSpans(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses bool // the second request
		want    string
	}{
		{"both answered", false, "GET /first perfline.time.mutex=1, GET /second perfline.time.mutex=1"},
		{"one refused", true, "GET /first, GET /second perfline.time.mutex=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, sent := &answers{}, &collected{}
			pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
			tracer := pl.TracerProvider().Tracer("t")
			answer := func(root bridge.Root) {
				recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
					Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
				}}})
			}
			outer, first := tracer.Start(ctx, "GET /first", trace.WithSpanKind(trace.SpanKindServer))
			_, second := tracer.Start(outer, "GET /second", trace.WithSpanKind(trace.SpanKindServer))
			second.End()
			answer(recorder.asked[0])
			recorder.refuses = c.refuses
			first.End()
			if !c.refuses {
				answer(recorder.asked[1])
			}
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			if got := sent.text(); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
		})
	}
}

// Each exported root span of a slow request counts once, by what became of its attributes.
func TestWaitsAsAttributesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, sent := &answers{}, &collected{}
		pl, ctx, _ := start(t, perfline.Config{
			Waits: recorder, Traces: exporter.Config{Sender: sent, QueueSize: 4096}, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1},
			Sampler: samplerOf(func(name string) bool { return name != "GET /in memory" }),
		})
		var megabyte []attribute.KeyValue
		for i := range 64 {
			megabyte = append(megabyte, attribute.String(strconv.Itoa(i), strings.Repeat("x", 16<<10)))
		}
		serve := func(name string, attributes ...attribute.KeyValue) {
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)), trace.WithAttributes(attributes...))
			span.End()
		}
		answer := func() {
			for _, root := range recorder.asked {
				recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
					Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
				}}})
			}
			recorder.asked = nil
		}
		const ends = time.Second // of hand-overs
		want := map[string]uint64{"exported": 0, "annotated": 0, "late": 0, "flushed": 0, "no_result": 0, "too_many": 0, "too_large": 0, "pending": 0}
		for _, c := range []struct {
			name string
			run  func()
			more map[string]int
		}{
			{"a result", func() { serve("GET /"); time.Sleep(ends); answer() }, map[string]int{"exported": 1, "annotated": 1}},
			{"a result before the spans", func() { serve("GET /"); answer(); time.Sleep(ends) }, map[string]int{"exported": 1, "annotated": 1}},
			{"refused", func() { recorder.refuses = true; serve("GET /"); time.Sleep(ends); recorder.refuses = false }, map[string]int{"exported": 1, "no_result": 1}},
			{"given up", func() {
				recorder.asked = nil
				serve("GET /")
				time.Sleep(ends)
				recorder.watcher(recorder.asked[0], nil)
			}, map[string]int{"exported": 1, "no_result": 1}},
			{"no answer yet", func() { serve("GET /"); time.Sleep(ends) }, map[string]int{"exported": 1, "pending": 1}},
			{"an answer that is late", func() { time.Sleep(20 * time.Second); answer() }, map[string]int{"pending": -1, "late": 1}},
			{"a flush", func() { serve("GET /"); time.Sleep(ends); _ = pl.Flush(ctx); answer() }, map[string]int{"exported": 1, "flushed": 1}},
			{"in memory only", func() { serve("GET /in memory"); time.Sleep(ends); answer() }, nil},
			{"too large", func() {
				for range 5 {
					serve("GET /", megabyte...)
				}
				time.Sleep(ends)
				answer()
			}, map[string]int{"exported": 5, "annotated": 3, "too_large": 2}},
			{"too many", func() {
				for range 600 {
					serve("GET /")
				}
				time.Sleep(ends)
				answer()
			}, map[string]int{"exported": 600, "annotated": 512, "too_many": 88}},
			{"the end", func() { serve("GET /"); _ = pl.Shutdown(patient(t)) }, map[string]int{"exported": 1, "flushed": 1}},
		} {
			c.run()
			synctest.Wait()
			got, sum := map[string]uint64{}, uint64(0)
			for _, row := range pl.Counts() {
				if row.Group == "perfline.waits.spans" {
					got[row.Name] = row.N
					sum += row.N
				}
			}
			for name, n := range c.more {
				want[name] += uint64(n)
			}
			if !maps.Equal(got, want) || sum != 2*got["exported"] {
				t.Errorf("after %s: %v, want %v", c.name, got, want)
			}
		}
		roots, annotated := 0, 0
		for _, s := range sent.spans {
			if s.GetName() == "GET /" {
				roots++
				if slices.ContainsFunc(s.GetAttributes(), func(kv *commonpb.KeyValue) bool { return kv.GetKey() == "perfline.time.mutex" }) {
					annotated++
				}
			}
		}
		if uint64(roots) != want["exported"] || uint64(annotated) != want["annotated"] {
			t.Errorf("the backend has %d spans, %d with attributes; want %d and %d", roots, annotated, want["exported"], want["annotated"])
		}
	})
}

// holding is a recorder that asks which requests are in memory, and knows reasons.
type holding struct {
	answers
	held func([]local.ID) []bool
}

func (h *holding) SetHeld(held func([]local.ID) []bool)                    { h.held = held }
func (*holding) Missing(local.ID, time.Time) waiting.Reason                { return waiting.GaveWay }
func (*holding) Result(trace.TraceID, trace.SpanID) (*waits.Request, bool) { return nil, false }

// A pipeline tells its recorder which requests are in memory, and passes the recorder's reasons on.
func TestWaitsOfRequestsInMemory(t *testing.T) {
	recorder := &holding{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Recent: requests.Config{Newest: 1, Slowest: -1, Kept: -1}, Keep: bridge.KeepPolicy{Slow: 1}})
	var ids []local.ID
	at := time.Now()
	for range 3 { // as long as each other: the first of each cell of the heat map stays, too
		_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(at))
		span.End(trace.WithTimestamp(at.Add(time.Millisecond)))
		ids = append(ids, local.ID{Trace: span.SpanContext().TraceID(), Span: span.SpanContext().SpanID()})
	}
	var want []bool
	for _, id := range ids {
		_, ok := pl.Recent().Find(id.Trace, id.Span)
		want = append(want, ok)
	}
	if got := recorder.held(ids); !slices.Equal(got, want) || !got[2] || got[1] {
		t.Errorf("in memory are %v, want %v: the last one, and not the one before", got, want)
	}
	if got := waiting.Missing(pl.Waits(), ids[0], time.Now()); got != waiting.GaveWay {
		t.Errorf("the reason is %q, want the recorder's", got)
	}
	pl, _, _ = start(t, perfline.Config{Waits: &answers{}})
	if got := waiting.Missing(pl.Waits(), ids[0], time.Now()); got != waiting.Unknown {
		t.Errorf("of a recorder without reasons, the reason is %q", got)
	}
}

// samplerOf samples by the names of spans.
type samplerOf func(name string) bool

func (samplerOf) Description() string { return "by name" }

func (s samplerOf) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if s(p.Name) {
		return sdktrace.AlwaysSample().ShouldSample(p)
	}
	return sdktrace.NeverSample().ShouldSample(p)
}

// A request that is kept in memory only has no spans to export. It does not take the place of a request that has.
func TestWaitsAsAttributesOfRequestsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, sent := &answers{}, &collected{}
		pl, ctx, _ := start(t, perfline.Config{
			Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1},
			Sampler: samplerOf(func(name string) bool { return name == "GET /sampled" }),
		})
		serve := func(name string) {
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)))
			span.End()
		}
		answer := func(root bridge.Root) {
			recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
				Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
			}}})
		}
		for range 600 { // more than may wait
			serve("GET /in memory")
		}
		for _, root := range recorder.asked {
			answer(root)
		}
		time.Sleep(2 * time.Second)
		serve("GET /sampled")
		time.Sleep(time.Second) // the spans have been handed over
		answer(recorder.asked[len(recorder.asked)-1])
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if got, want := sent.text(), "GET /sampled perfline.time.mutex=1"; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// An answer that does not come within twenty seconds comes too late.
func TestWaitsAsAttributesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, sent := &answers{}, &collected{}
		pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
		for _, wait := range []time.Duration{0, time.Second} {
			time.Sleep(wait)
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)))
			span.End()
		}
		for _, c := range []struct {
			wait time.Duration
			want uint64
		}{{18 * time.Second, 0}, {time.Second + 1, 1}, {time.Second, 2}} {
			time.Sleep(c.wait)
			synctest.Wait()
			if got := pl.Stats().Delivery.Accepted; got != c.want {
				t.Errorf("%v later, %d spans do not wait any more, want %d", c.wait, got, c.want)
			}
		}
		recorder.watcher(recorder.asked[0], &waits.Request{})
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if n := pl.Stats().Delivery.Delivered; n != 2 {
			t.Errorf("%d spans are delivered, want 2", n)
		}
	})
}

// Spans that wait for an answer take 4 MiB at most.
func TestWaitsAsAttributesBytes(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
	var megabyte []attribute.KeyValue
	for i := range 64 {
		megabyte = append(megabyte, attribute.String(strconv.Itoa(i), strings.Repeat("x", 16<<10)))
	}
	for range 10 {
		_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(megabyte...))
		span.End()
	}
	if n := pl.Stats().Delivery.Accepted; n != 7 {
		t.Errorf("of ten spans with a megabyte, %d do not wait, want 7", n)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if n := pl.Stats().Delivery; n.Delivered != 10 {
		t.Errorf("%+v, want all ten delivered", n)
	}
}

// A pipeline without a recorder has no counts of it.
func TestNoWaits(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{})
	if pl.Waits() != nil {
		t.Error("there is a recorder")
	}
	for _, c := range pl.Counts() {
		if strings.HasPrefix(c.Group, "perfline.waits") {
			t.Errorf("there is %+v", c)
		}
	}
}

// The recorder does not start when Start fails or tracing is disabled.
func TestWaitsNotStarted(t *testing.T) {
	recorder := flight.NewRecorder(flight.Config{Armed: true})
	if _, err := perfline.Start(t.Context(), perfline.Config{Service: "\xff", Waits: recorder}); err == nil {
		t.Fatal("Start returned no error")
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	pl, _, _ := start(t, perfline.Config{Waits: recorder})
	if s := recorder.State(); s.Status != waits.Disarmed {
		t.Errorf("the recorder is %+v, want disarmed", s)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}

// A recorder that cannot be armed is no error of Start. Start's logger gets one line.
func TestWaitsForbidden(t *testing.T) {
	t.Setenv("PERFLINE_PROFILING", "off")
	recorder := flight.NewRecorder(flight.Config{Armed: true})
	_, _, log := start(t, perfline.Config{Waits: recorder})
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "waits recorder is not armed") || !strings.Contains(got, "PERFLINE_PROFILING is off") {
		t.Errorf("logged %q, want one line with the reason", got)
	}
}
