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
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

// A sink takes log records and profiles by OTLP over HTTP, as the backend after a Collector. It
// counts each once: a Collector that was killed may send some again.
type sink struct {
	url    string
	server *http.Server

	mu       sync.Mutex // guards what follows
	records  map[record]bool
	profiles map[pprofile.ProfileID]bool
	err      error // of a request that is not OTLP
}

// A record is what tells apart the log records of a service: each mark has its own name in its
// request.
type record struct {
	trace pcommon.TraceID
	event string
}

// newSink listens on a loopback port. The caller calls stop.
func newSink(ctx context.Context) (*sink, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for a Collector: %w", err)
	}
	s := &sink{url: "http://" + l.Addr().String(), records: map[record]bool{},
		profiles: map[pprofile.ProfileID]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/logs", s.take(s.addRecords))
	mux.HandleFunc("POST /v1development/profiles", s.take(s.addProfiles))
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(l) }() // until stop
	return s, nil
}

func (s *sink) stop() error { return s.server.Close() }

// take returns a handler that gives the bodies of requests to add.
func (s *sink) take(add func(body []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // the Collector was killed, and sends the request again from its disk
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if body, err = uncompressed(r, body); err == nil {
			err = add(body)
		}
		if err != nil {
			s.err = errors.Join(s.err,
				fmt.Errorf("a request of the Collector to %s: %w", r.URL.Path, err))
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

func uncompressed(r *http.Request, body []byte) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// addRecords adds the log records of a request. s.mu is held.
func (s *sink) addRecords(body []byte) error {
	r := plogotlp.NewExportRequest()
	if err := r.UnmarshalProto(body); err != nil {
		return err
	}
	for _, resource := range r.Logs().ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, one := range scope.LogRecords().All() {
				s.records[record{one.TraceID(), one.EventName()}] = true
			}
		}
	}
	return nil
}

// addProfiles adds the profiles of a request. s.mu is held.
func (s *sink) addProfiles(body []byte) error {
	r := pprofileotlp.NewExportRequest()
	if err := r.UnmarshalProto(body); err != nil {
		return err
	}
	for _, resource := range r.Profiles().ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, one := range scope.Profiles().All() {
				s.profiles[one.ProfileID()] = true
			}
		}
	}
	return nil
}

// countRecords and countProfiles count what has come, of the one service that there is.
func (s *sink) countRecords(context.Context, string, time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records), s.err
}

func (s *sink) countProfiles(context.Context, string, time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.profiles), s.err
}
