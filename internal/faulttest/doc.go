// Package faulttest sends the items of a signal to OTLP receivers that fail: spans, log records,
// profiles. It is for tests.
//
//	func TestFaults(t *testing.T) { faulttest.Run(t, spans) }
//
// A [Signal] describes the delivery of its items. All signals go through the same faults, over gRPC
// and HTTP. The deliveries have the product's own deadlines and delays. The network is in memory
// and the time is fake, so that no test waits for the machine. [RunPorts] repeats two faults with
// real ports.
//
// # What the tests assert
//
//   - The books balance at every read, and agree with the items that arrived.
//   - The log has a line with the reason when delivery begins to fail, and one when it works again.
//     It has no other line. Both come at their time.
//   - Items that wait arrive when the receiver is well, unless their time is over or the receiver
//     refuses them.
//   - No request comes before the time that the receiver asked for.
//   - Shutdown of a delivery whose receiver is well returns no error, and takes no time.
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

// A Signal is a kind of data with a delivery of its own.
type Signal struct {
	What string      // the items, in the log: "spans"
	Of   otlp.Signal // their name in OTLP

	// New starts a delivery.
	New func(Config) (Delivery, error)

	// Names returns the names of a request's items, or an error for a body that is no request of
	// this signal.
	Names func(body []byte) ([]string, error)

	// Delay is how long an item waits for others.
	Delay time.Duration

	// Timeout is how long a batch is tried. 0: until the receiver takes or refuses it. ForceFlush
	// gives up after some attempts then.
	Timeout time.Duration

	// after a receiver that does not know the signal, items are dropped for minutes
	Pauses      bool
	Single      bool // each item is a request of its own, without delay
	DropsOldest bool // a full queue drops its oldest items, except the one that is being sent

	// Bytes returns the size of an item, in a queue that bounds only bytes. nil: the queue bounds
	// the number of items.
	Bytes func(name string) int
}

// Config says where and how a delivery sends.
type Config struct {
	Sender     *otlp.Sender
	QueueSize  int // items
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
