// Package faulttest sends the items of a signal to OTLP receivers that fail. Items are spans, log
// records or profiles. Only tests import the package.
//
//	func TestFaults(t *testing.T) { faulttest.Run(t, spans) }
//
// A [Signal] describes the delivery of its items. All signals go through the same faults, over gRPC
// and HTTP. The deliveries use the same deadlines and delays as the product. The network is in
// memory and the time is fake, so that no test waits for the machine. [RunPorts] repeats two faults
// with real ports.
//
// # What the tests assert
//
//   - The counts balance at every read, and agree with the received items.
//   - The log contains one line with the reason when delivery begins to fail. The log contains one
//     line when delivery works again. The log contains no other line. The lines appear at the
//     expected times.
//   - Waiting items arrive when the receiver works again, unless the timeout is over or the
//     receiver refuses the items.
//   - No request arrives before the time that the receiver asked for.
//   - If the receiver works, Shutdown returns no error and does not wait.
//   - No goroutine outlives the delivery.
package faulttest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// A Signal is a kind of data with a separate delivery, such as spans.
type Signal struct {
	What string      // the items, in the log: "spans"
	Of   otlp.Signal // the signal in OTLP

	// New starts a delivery.
	New func(Config) (Delivery, error)

	// Names returns the names of a request's items. Names returns an error if the body is not a
	// request of this signal.
	Names func(body []byte) ([]string, error)

	// Delay is the time that an item waits for other items.
	Delay time.Duration

	// Timeout is the time from the first to the last attempt to send a batch. 0: the delivery tries
	// until the receiver accepts or refuses the batch. ForceFlush then stops after some attempts.
	Timeout time.Duration

	// If the receiver does not know the signal, the delivery drops items for minutes.
	Pauses      bool
	Single      bool // the delivery sends each item in a separate request, without delay
	DropsOldest bool // a full queue drops the oldest items, except an item in a running request

	// Bytes returns the size of an item, for a queue that limits only bytes. nil: the queue limits
	// the number of items.
	Bytes func(name string) int
}

// Config configures a delivery: the receiver, the limits of the queue and the logger.
type Config struct {
	Sender     *otlp.Sender
	QueueSize  int // items
	QueueBytes int
	Logger     *slog.Logger
}

// A Delivery sends items. The methods may be called concurrently.
type Delivery interface {
	Add(name string) // adds an item with at least len(name) bytes
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
	Stats() queue.Stats
}

// start returns a delivery to a receiver.
func (s Signal) start(t *testing.T, r *receiver, c Config) Delivery {
	t.Helper()
	to := otlp.Config{Endpoint: "http://" + memnet.Address, Protocol: r.protocol,
		Dial: r.network.Dial}
	settings, err := otlp.Resolve(environ.NewReader(c.Logger), to, s.Of)
	if err != nil {
		t.Fatal(err)
	}
	if c.Sender, err = settings.Sender(); err != nil {
		t.Fatal(err)
	}
	d, err := s.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of a test that has failed
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = d.Shutdown(ctx)
	})
	return d
}
