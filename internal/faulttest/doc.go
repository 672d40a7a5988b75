// Package faulttest sends the items of a signal to OTLP receivers that fail: spans, log records, profiles. It is for tests.
//
//	func TestFaults(t *testing.T) { faulttest.Run(t, spans) }
//
// A [Signal] describes the delivery of its items. All signals go through the same faults, over gRPC and HTTP.
//
// # What the tests assert
//
//   - The books balance at every read, and agree with the items that arrived.
//   - The log has a line with the reason when delivery begins to fail, and one when it works again. It has no other line.
//   - Items that wait arrive when the receiver is well, unless their time is over or the receiver refuses them.
//   - Shutdown of a delivery whose receiver is well returns no error.
package faulttest

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/queue"
)

// A Signal is a kind of data with a delivery of its own.
type Signal struct {
	What      string // the items, in the log: "spans"
	Path      string // of requests over HTTP: "/v1/traces"
	Method    string // of gRPC: "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	Variables string // the prefix of the queue's variables: "OTEL_BSP_"; empty: there are none

	// New starts a delivery. No other New runs meanwhile, so that it may read variables.
	New func(Config) (Delivery, error)

	// Names returns the names of a request's items, or an error for a body that is no request of this signal.
	Names func(body []byte) ([]string, error)

	Pauses      bool // after a receiver that does not know the signal, items are dropped for minutes
	Single      bool // each item is a request of its own, without delay
	Patient     bool // items wait until the receiver takes or refuses them; ForceFlush gives up after some attempts
	DropsOldest bool // a full queue drops its oldest items, except the one that is being sent; else it drops new ones

	// Bytes returns the size of an item, in a queue that bounds only bytes. nil: the queue bounds the number of items.
	Bytes func(name string) int
}

// Config says where and how a delivery sends.
type Config struct {
	Endpoint   string // http://host:port
	Protocol   string // otlp.GRPC or otlp.HTTP
	QueueSize  int    // items
	QueueBytes int
	Logger     *slog.Logger
}

// A Delivery sends items. Its methods may be called concurrently.
type Delivery interface {
	Add(name string) // an item of at least as many bytes as its name
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
	Stats() queue.Stats
}

var environment sync.Mutex // guards the process's variables

// start returns a delivery that has read these variables of the queue, and how long an attempt may take, in milliseconds.
func (s Signal) start(t *testing.T, queue map[string]string, attempt string, c Config) Delivery {
	t.Helper()
	vars := map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": attempt} // empty: the default
	for name, value := range queue {
		if s.Variables != "" {
			vars[s.Variables+name] = value
		}
	}
	environment.Lock()
	defer environment.Unlock()
	for name, value := range vars {
		if err := os.Setenv(name, value); err != nil { // t.Setenv is not for parallel tests
			t.Fatal(err)
		}
	}
	defer func() {
		for name := range vars {
			_ = os.Unsetenv(name)
		}
	}()
	d, err := s.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
