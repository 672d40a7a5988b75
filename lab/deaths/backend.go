package main

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A backend keeps the requests of OTLP that it takes. It decodes them after the death.
type backend struct {
	server *httptest.Server
	down   atomic.Bool  // takes nothing
	active atomic.Int64 // requests

	mu     sync.Mutex // guards bodies
	bodies [][]byte
}

func newBackend() *backend {
	b := &backend{}
	b.server = httptest.NewServer(b)
	return b
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.active.Add(1)
	defer b.active.Add(-1)
	if b.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body := r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	}
	all, err := io.ReadAll(body)
	if err != nil { // the process died while it sent
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.bodies = append(b.bodies, all)
	b.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// settle waits until no request is under way, and returns how many were taken.
func (b *backend) settle() int {
	for b.active.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.bodies)
}

// An arrival is what arrived of a trace.
type arrival struct {
	finished, open int // roots, also of several times
	errorType      string
	leftOut        int64 // of the root
	spans          int   // distinct ones
	step           int64 // the newest mark, or -1
	marks          int64
}

// arrivals are what arrived, by trace, and the spans that arrived twice.
type arrivals struct {
	byTrace map[string]*arrival
	spans   int // distinct ones
	twice   int // arrived with the last request of the service, and again
	again   int // arrived earlier, and again
}

// decode decodes the requests. The first ones came from the service.
func (b *backend) decode(first int) (*arrivals, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := &arrivals{byTrace: map[string]*arrival{}}
	seen := map[string]int{} // the body in which a span arrived
	for i, body := range b.bodies {
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					id := string(s.GetTraceId()) + string(s.GetSpanId())
					before, ok := seen[id]
					seen[id] = i
					switch {
					case !ok:
						all.add(s, true)
					case before == first-1 && i >= first:
						all.twice++
						all.add(s, false)
					default:
						all.again++
						all.add(s, false)
					}
				}
			}
		}
	}
	return all, nil
}

func (a *arrivals) add(s *tracepb.Span, first bool) {
	id := hex.EncodeToString(s.GetTraceId())
	t := a.byTrace[id]
	if t == nil {
		t = &arrival{step: -1}
		a.byTrace[id] = t
	}
	if first {
		a.spans++
		t.spans++
	}
	for _, e := range s.GetEvents() {
		if e.GetName() != "step" {
			continue
		}
		t.marks++
		for _, attr := range e.GetAttributes() {
			if attr.GetKey() == "n" {
				t.step = max(t.step, attr.GetValue().GetIntValue())
			}
		}
	}
	if s.GetKind() != tracepb.Span_SPAN_KIND_SERVER {
		return
	}
	died := ""
	for _, attr := range s.GetAttributes() {
		switch attr.GetKey() {
		case "error.type":
			died = attr.GetValue().GetStringValue()
		case "perfline.blackbox.left_out":
			t.leftOut = attr.GetValue().GetIntValue()
		}
	}
	if first && strings.HasPrefix(s.GetStatus().GetMessage(), "the process ended") {
		t.open++
		t.errorType = died
	} else if first {
		t.finished++
	}
}
