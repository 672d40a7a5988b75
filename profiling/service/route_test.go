package service_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
)

// StartMode URL waits for a request, and its session begins with that (Scope Profiler, StartMode).
func TestStartModeURL_SP8_SP25(t *testing.T) {
	p := newProgram(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products/{id}", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "product") })
	mux.HandleFunc("GET /other", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "other") })
	app := bridgehttp.Server{Timeline: observer.FromContext(p.ctx)}.Middleware(mux)
	request := func(path string) {
		app.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, http.NoBody))
	}

	c := client(t, serve(t, p.Recorder, service.Config{}))
	id, err := c.StartProfiler(t.Context(), &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_URL, Route: " GET /products/{id}", NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	request("/other")
	stream, err := c.WatchSession(t.Context(), &pb.WatchSessionArg{SessionId: id.GetSessionId()})
	if err != nil || !stream.Receive() {
		t.Fatal(err)
	}
	defer stream.Close()
	if st := stream.Msg(); st.GetState() != pb.State_STATE_WAITING || st.GetRoute() != "GET /products/{id}" {
		t.Errorf("before the request: %v, want a session that waits for it", st)
	}
	request("/products/7")
	for stream.Msg().GetState() == pb.State_STATE_WAITING {
		if !stream.Receive() {
			t.Fatalf("the stream ended, error %v, want the session to begin", stream.Err())
		}
	}
	s, err := c.StopProfiler(t.Context(), &pb.StopProfilerArg{SessionId: id.GetSessionId()})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]float64{}
	for _, tl := range s.GetTimelineList() {
		events, err := c.GetEvents(t.Context(), &pb.GetEventsArg{SessionId: id.GetSessionId(), TimelineId: tl.GetTimelineId()})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.GetEventList() {
			seen[e.GetType().String()+" "+e.GetName()] = e.GetInterval().GetStart()
		}
	}
	if at, ok := seen["EVENT_TYPE_REQUEST GET /products/{id}"]; !ok || at != 0 {
		t.Errorf("events begin at %v, want the request at 0", seen)
	}
	if at, ok := seen["EVENT_TYPE_MARK product"]; !ok || at <= 0 {
		t.Errorf("events begin at %v, want the mark in the request after 0", seen)
	}
	if _, ok := seen["EVENT_TYPE_MARK other"]; ok {
		t.Errorf("events are %v, want none of what was before", seen)
	}
}

// The log line of a start shows a part of a long route.
func TestStartLogsPartOfARoute(t *testing.T) {
	p := newProgram(t)
	var log bytes.Buffer
	c := client(t, serve(t, p.Recorder, service.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	if _, err := c.StartProfiler(t.Context(), &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_URL, Route: "GET /" + strings.Repeat("x", 10_000), NoSamples: true}); err != nil {
		t.Fatal(err)
	}
	if line := log.String(); len(line) > 2000 || !strings.Contains(line, "GET /xxx") {
		t.Errorf("the line has %d bytes: %.300s", len(line), line)
	}
}
