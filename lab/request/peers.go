package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
		"DD_INSTRUMENTATION_TELEMETRY_ENABLED=false", "DD_REMOTE_CONFIGURATION_ENABLED=false", "DD_TRACE_STATS_COMPUTATION_ENABLED=false",
	}, func(r *http.Request, _ []byte) int64 {
		n, _ := strconv.ParseInt(r.Header.Get("X-Datadog-Trace-Count"), 10, 64) // not of other requests
		return n
	}},
	{"sentry-go, tracing", "sentry", nil, func(_ *http.Request, body []byte) int64 {
		return int64(bytes.Count(body, []byte(`{"type":"transaction"`)))
	}},
}

// startPeers builds and starts the peers after the services that there are.
func startPeers(ctx context.Context, o options, s shape, all []*served) ([]*served, error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "peers")
	build := exec.CommandContext(ctx, "go", "build", "-C", "peers", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return all, fmt.Errorf("building the peers: %w\n%s", err, out)
	}
	for _, p := range peers {
		w, err := p.start(ctx, program, o, s)
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (p *peer) start(ctx context.Context, program string, o options, s shape) (*served, error) {
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
		traced.Add(p.count(r, body))
		if r.URL.Path == "/info" {
			_, _ = io.WriteString(w, `{"version":"7.77.0","endpoints":["/v0.4/traces"],"span_events":true}`)
			return
		}
		_, _ = io.WriteString(w, "{}")
	})}
	go func() { _ = server.Serve(otlp.Counting(l, &wire)) }() // ends by close
	command := exec.CommandContext(ctx, program, p.argument, l.Addr().String())
	command.Env = append(o.environment(), p.environment...)
	w, err := startService(command, p.name, s)
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	w.arrived, w.each, w.wire = traced.Load, 1, wire.Load
	w.close = func() { _ = server.Close() } // nothing is on the way any more
	return w, nil
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
