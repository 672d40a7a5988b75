package perfline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/profiling/flight"
	"github.com/perfline/perfline/profiling/states"
)

// A pipeline starts its recorder, shows its counts and its state, and shuts it down.
func TestWaits(t *testing.T) { overBoth(t, testWaits) }

func testWaits(t *testing.T, start starter) {
	t.Helper()
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	recorder := flight.NewRecorder(flight.Config{Armed: true, MinInterval: -1})
	done := make(chan *states.Request, 1)
	recorder.Watch(func(_ states.Root, result *states.Request) { done <- result })
	pl, ctx, log := start(t, perfline.Config{Waits: recorder})
	if pl.Waits() != states.Recorder(recorder) || recorder.State().Status != states.Armed {
		t.Fatalf("after Start, the recorder is %+v", recorder.State())
	}
	began := time.Now()
	_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow")
	span.End()
	id := span.SpanContext()
	if !pl.Waits().Slow(states.Root{TraceID: id.TraceID(), RootID: id.SpanID(), Name: "GET /slow", Start: began, End: time.Now()}) {
		t.Fatalf("the recorder refused a request: %+v", recorder.Stats())
	}
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
	if err := pl.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if s := recorder.State(); s.Status != states.ShutDown || pl.Stats().Waits.Analysed != 1 {
		t.Errorf("after Shutdown, the recorder is %+v, and its counts are %+v", s, pl.Stats().Waits)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
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
	if s := recorder.State(); s.Status != states.Disarmed {
		t.Errorf("the recorder is %+v, want disarmed", s)
	}
	if err := pl.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// A recorder that cannot be armed is no error of Start. Start's logger gets one line.
func TestWaitsForbidden(t *testing.T) {
	t.Setenv("PERFLINE_PROFILING", "off")
	recorder := flight.NewRecorder(flight.Config{Armed: true})
	_, _, log := start(t, perfline.Config{Waits: recorder})
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "flight recorder is not armed") || !strings.Contains(got, "PERFLINE_PROFILING is off") {
		t.Errorf("logged %q, want one line with the reason", got)
	}
}
