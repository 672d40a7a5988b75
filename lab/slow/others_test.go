package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	rt "runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// While another flight recorder runs, perfline reports that and serves requests as before. It can be armed afterwards.
func TestOthers_AnotherFlightRecorderRuns(t *testing.T) {
	other := rt.NewFlightRecorder(rt.FlightRecorderConfig{})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	defer func() {
		if !stopped {
			other.Stop()
		}
	}()
	var log bytes.Buffer
	p, recorder := startArmed(t, &log)
	if got := log.String(); strings.Count(got, "the waits recorder is not armed") != 1 || !strings.Contains(got, waits.ErrInUse.Error()) {
		t.Errorf("the log is %q, want one line that names the other recorder", got)
	}
	if got := recorder.State(); got.Status != waits.InUse || got.Reason == "" {
		t.Errorf("the state is %+v, want %q with a reason", got, waits.InUse)
	}
	if err := recorder.Arm(0); !errors.Is(err, waits.ErrInUse) {
		t.Errorf("Arm returns %v, want %v", err, waits.ErrInUse)
	}
	serveOne(t)
	if recorder.Slow(bridge.Root{Start: time.Now(), End: time.Now()}) {
		t.Error("Slow promises a result")
	}
	var snapshot bytes.Buffer
	if n, err := other.WriteTo(&snapshot); err != nil || n == 0 {
		t.Errorf("the other recorder writes %d bytes, %v", n, err)
	}
	other.Stop()
	stopped = true
	if err := recorder.Arm(0); err != nil {
		t.Errorf("Arm returns %v after the other recorder has stopped", err)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// While perfline's recorder is armed, another one cannot start. perfline goes on, and the other one can start after Disarm.
func TestOthers_AnotherFlightRecorderStarts(t *testing.T) {
	var log bytes.Buffer
	p, recorder := startArmed(t, &log)
	other := rt.NewFlightRecorder(rt.FlightRecorderConfig{})
	if err := other.Start(); err == nil {
		other.Stop()
		t.Error("two flight recorders run")
	}
	serveOne(t)
	if got := recorder.State(); got.Status != waits.Armed {
		t.Errorf("the state is %+v, want %q", got, waits.Armed)
	}
	recorder.Disarm()
	if err := other.Start(); err != nil {
		t.Errorf("the other recorder cannot start after Disarm: %v", err)
	} else {
		other.Stop()
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("the log has %q, want nothing", &log)
	}
}

func startArmed(t *testing.T, log io.Writer) (*perfline.Pipeline, waits.Recorder) {
	t.Helper()
	recorder := flight.NewRecorder(flight.Config{Armed: true})
	p, err := perfline.Start(t.Context(), perfline.Config{
		Service: "shop", SpanExporter: discard{}, Waits: recorder, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, recorder
}

func serveOne(t *testing.T) {
	t.Helper()
	w := httptest.NewRecorder()
	h := bridgehttp.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Code != http.StatusOK || w.Body.String() != "ok" {
		t.Errorf("a request is answered %d %q", w.Code, w.Body)
	}
}
