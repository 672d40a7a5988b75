package faulttest

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// RunUnknown sends items to a receiver that does not know the signal. The receiver answers
// UNIMPLEMENTED over gRPC, and 404 over HTTP. The log must contain exactly one line. If
// Signal.Pauses is true, the delivery must send once and drop further items. Otherwise the delivery
// must try each batch.
func RunUnknown(t *testing.T, s Signal) {
	t.Helper()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { s.unknown(t, protocol) })
		})
	}
}

func (s Signal) unknown(t *testing.T, protocol string) {
	const first, batches = 99, 5
	const size = 10 * first
	other := s
	other.Of = otlp.Signal{Path: "/v1/others", Method: "/others/Export"}
	r := serve(t, other, protocol, fault{}, new(memnet.Network))
	log := newLog(s)
	d := s.start(t, r, Config{QueueSize: size, QueueBytes: 64 << 20, Logger: log.logger()})
	over := audited(t, d, r, size)
	for i := range first {
		d.Add(fmt.Sprint(i))
	}
	for round := range batches {
		err := d.ForceFlush(t.Context())
		if !s.Single && (err == nil) != (round > 0 && s.Pauses) {
			t.Errorf("round %d: ForceFlush returned %v", round, err)
		}
		d.Add(fmt.Sprint("round ", round))
	}
	err := d.Shutdown(t.Context())
	over()
	want := queue.Stats{Accepted: first + batches, Failed: first + batches}
	attempts, line := batches+1, refused
	if s.Pauses {
		want.Failed, want.Dropped = first, batches
		attempts, line = 1, unknown
	}
	b := d.Stats()
	if s.Single { // by chance, some more were added before the first answer
		want.Failed, want.Dropped = b.Failed, want.Accepted-b.Failed
	}
	if b != want || r.requests() != attempts || (err == nil) != s.Pauses {
		t.Errorf("%d requests, want %d; Shutdown returned %v; books are\n%+v, want\n%+v",
			r.requests(), attempts, err, b, want)
	}
	log.wants(t, line+"(Unimplemented|404)")
	log.isOver(t)
}
