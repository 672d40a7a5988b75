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
