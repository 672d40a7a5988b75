package perfline_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
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

// answer gives the pipeline a result, if the pipeline wants results.
func (a *answers) answer(root bridge.Root, result *waits.Request) {
	if a.watcher != nil {
		a.watcher(root, result)
	}
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
