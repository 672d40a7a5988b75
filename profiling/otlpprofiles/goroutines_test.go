package otlpprofiles_test

import (
	"bytes"
	"context"
	"net"
	"runtime/pprof"
	"testing"

	pprofpb "github.com/google/pprof/profile"
	"google.golang.org/grpc"

	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// Goroutines that deliver have no labels of the one that called Start: their time is no request's.
func TestGoroutinesWithoutLabels(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	var e *otlpprofiles.Exporter
	const label = "started by"
	pprof.Do(t.Context(), pprof.Labels(label, "a request"), func(context.Context) {
		e = start(t, otlpprofiles.Config{Endpoint: "http://" + listener.Addr().String(), Protocol: "grpc"}, t.Output())
	})
	_ = e.Flush(t.Context()) // the server does not know profiles, but there is a connection
	var data bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&data, 0); err != nil {
		t.Fatal(err)
	}
	p, err := pprofpb.ParseData(data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		if s.HasLabel(label, "a request") {
			t.Errorf("%d goroutines have the label in %s", s.Value[0], s.Location[len(s.Location)-1].Line[0].Function.Name)
		}
	}
	_ = e.Shutdown(t.Context())
}
