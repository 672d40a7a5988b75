package exporter_test

import (
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/internal/faulttest"
	"github.com/perfline/perfline/internal/otlp"
)

// TestFaults sends the items of each signal to receivers that fail and are well again.
func TestFaults(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) { faulttest.Run(t, s.faulty()) })
}

// The machine's own network fails, too.
func TestFaultsOverPorts(t *testing.T) { faulttest.RunPorts(t, ofSpans.faulty()) }

// A receiver of traces may take no logs. Spans are tried again and again, as an endpoint without a receiver of spans is a mistake.
func TestFaultUnknownSignal(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) { faulttest.RunUnknown(t, s.faulty()) })
}

// TestCrowd makes items faster than any receiver takes them.
func TestCrowd(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) { faulttest.RunCrowd(t, s.faulty(), otlp.DefaultQueueSize) })
}

// TestClockJumps has spans that a clock out of order has timed.
func TestClockJumps(t *testing.T) {
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		d, r, log := newDelivery(t, fine, 0)
		for _, at := range [][2]time.Time{
			{now, now.Add(-time.Hour)},
			{now.AddDate(-30, 0, 0), now},
			{now, now.AddDate(30, 0, 0)},
			{{}, {}},
			{time.Unix(0, 0), time.Unix(-1, 0)},
			{time.Unix(1<<62, 0), time.Unix(-1<<62, 0)},
		} {
			s := tracetest.SpanStubFromReadOnlySpan(sampled)
			s.StartTime, s.EndTime = at[0], at[1]
			s.Events = []sdktrace.Event{{Name: "e", Time: at[1]}}
			d.OnEnd(s.Snapshot())
		}
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if b := d.Stats(); counts(b) != [5]uint64{6, 6} || r.taken() != 6 || log.Len() > 0 {
			t.Errorf("%d of 6 spans arrived: %+v\n%s", r.taken(), b, log)
		}
	})
}
