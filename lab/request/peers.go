package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/perfline/perfline/lab/internal/otlp"
)

// A peer is a tracer that is not OpenTelemetry's: a program of the module lab/peers, and
// a server that takes its requests.
type peer struct {
	name, argument string
	environment    []string
	count          func(r *http.Request, body []byte) int64 // requests whose traces are in it
}

var peers = []peer{
	{"dd-trace-go v2", "datadog", []string{
		"DD_INSTRUMENTATION_TELEMETRY_ENABLED=false", "DD_REMOTE_CONFIGURATION_ENABLED=false",
		"DD_TRACE_STATS_COMPUTATION_ENABLED=false",
	}, func(r *http.Request, _ []byte) int64 {
		// not of other requests
		n, _ := strconv.ParseInt(r.Header.Get("X-Datadog-Trace-Count"), 10, 64)
		return n
	}},
	{"sentry-go, tracing", "sentry", nil, func(_ *http.Request, body []byte) int64 {
		return int64(bytes.Count(body, []byte(`{"type":"transaction"`)))
	}},
}

// startPeers builds and starts peers after the services that there are. In difference to go build,
// go run links a program once, and keeps it in the build cache.
func (f *fleet) startPeers(ctx context.Context, o options, s shape, peers []peer,
	to []received) error {
	if len(peers) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "peers")
	build := exec.CommandContext(ctx, "go", "run", "-C", "peers", "-exec", "cp", ".", program)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the peers: %w\n%s", err, out)
	}
	for i, p := range peers {
		command := exec.CommandContext(ctx, program, p.argument, to[i].Endpoint)
		command.Env = append(o.environment(), p.environment...)
		if err := f.start(command, p.name, s, 1); err != nil {
			return err
		}
	}
	return nil
}

// openPeerReceiver opens a server that takes the requests of the peer with this argument.
func openPeerReceiver(ctx context.Context, argument string) (*receiver, error) {
	i := slices.IndexFunc(peers, func(p peer) bool { return p.argument == argument })
	if i < 0 {
		return nil, fmt.Errorf("-receivers: %q must be %s or a peer's argument", argument, otlpKind)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var wire, traced atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := contents(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		traced.Add(peers[i].count(r, body))
		if r.URL.Path == "/info" {
			_, _ = io.WriteString(w,
				`{"version":"7.77.0","endpoints":["/v0.4/traces"],"span_events":true}`)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})}
	go func() { _ = server.Serve(otlp.Counting(l, &wire)) }() // ends by close
	return &receiver{l.Addr().String(), traced.Load, wire.Load, func() { _ = server.Close() }}, nil
}

// contents reads a request's body, uncompressed.
func contents(r *http.Request) ([]byte, error) {
	if !strings.Contains(r.Header.Get("Content-Encoding"), "gzip") {
		return io.ReadAll(r.Body)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
