package faulttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/internal/otlp"
)

var protocols = []string{otlp.GRPC, otlp.HTTP}

// recovery is how long it takes at most until items arrive at a receiver that is well again: the
// delay that it asked for, or two attempts to connect.
const recovery = flushedAfter + 2*time.Second

// Run sends items to receivers that fail and then recover. The counts must balance at every read,
// and must agree with the received items. The log must contain a line with the reason of the
// failure, and a line about the recovery.
func Run(t *testing.T, s Signal) {
	t.Helper()
	for _, f := range theFaults {
		for _, protocol := range protocols {
			if f.only == "" || f.only == protocol {
				t.Run(f.name+" "+protocol, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { s.underFault(t, protocol, f.of(s)) })
				})
			}
		}
	}
}

func (s Signal) underFault(t *testing.T, protocol string, f fault) {
	names := make([]string, len(f.kB))
	for i, kB := range f.kB {
		names[i] = fmt.Sprint(i, strings.Repeat("s", kB<<10))
	}
	bytes, overflows := 64<<20, len(names) > f.size
	if overflows && s.Bytes != nil {
		bytes = f.size * s.Bytes(names[len(names)-1])
	}
	r := serve(t, s, protocol, f, new(memnet.Network))
	log := newLog(s)
	d := s.start(t, r, Config{QueueSize: f.size, QueueBytes: bytes, Logger: log.logger()})
	over := audited(t, d, r, f.size)
	all := uint64(len(names))
	if f.restarts {
		s.arrives(t, d, r, "before")
		all++
		r.end()
	}

	began := time.Now()
	for _, name := range names {
		d.Add(name)
	}
	if f.waits {
		time.Sleep(f.lasts)
		f.begins += s.Delay
	} else {
		_ = s.settle(t, d, r) // returns an error if items are lost
		if took := time.Since(began); took > f.settles || took < f.settles-recovery {
			t.Errorf("the items were settled after %v, want %v", took, f.settles)
		}
	}
	if at := log.wants(t, f.begin).Sub(began); f.begin != "" && at != f.begins {
		t.Errorf("the log's line comes after %v, want %v", at, f.begins)
	}
	if f.waits {
		log.isOver(t)
	}
	faulty := d.Stats()
	if f.books != nil && !f.waits && !f.books(faulty) {
		t.Errorf("the cause is wrong in %+v", faulty)
	}

	r.well()
	began = time.Now()
	if err := s.settle(t, d, r); err != nil {
		t.Errorf("the receiver is well, and ForceFlush returned %v", err)
	}
	s.arrives(t, d, r, "after")
	all++
	if took := time.Since(began); took > recovery {
		t.Errorf("delivery works again after %v, want %v at most", took, recovery)
	}
	log.wants(t, f.end)
	began = time.Now()
	if err := d.Shutdown(t.Context()); err != nil {
		t.Errorf("the receiver is well, and Shutdown returned %v", err)
	}
	if took := time.Since(began); took > 0 {
		t.Errorf("Shutdown took %v", took)
	}
	over()
	log.isOver(t)

	b := d.Stats()
	taken := uint64(r.taken())
	if b.Accepted != all || b.Accepted-b.Delivered != f.lost || b.Pending != 0 ||
		b.PendingBytes != 0 ||
		taken < b.Delivered || taken > b.Delivered+b.Unanswered {
		t.Errorf("%d of %d items arrived, want %d lost: %+v", taken, all, f.lost, b)
	}
	for i, name := range names {
		if overflows && f.survives(s, i) && !r.has(name) {
			t.Errorf("item %d of %d did not arrive, in a queue for %d", i, len(names), f.size)
		}
	}
	if f.books != nil && !f.books(b) {
		t.Errorf("the cause is wrong in %+v, at the end", b)
	}
}

// arrives adds an item to a delivery whose receiver is well.
func (s Signal) arrives(t *testing.T, d Delivery, r *receiver, name string) {
	t.Helper()
	d.Add(name)
	if err := s.settle(t, d, r); err != nil || !r.has(name) {
		t.Fatalf("the receiver is well, and ForceFlush returned %v: %+v", err, d.Stats())
	}
}

// settle calls ForceFlush. Where it gives up after some attempts, it is called again while items
// wait.
func (s Signal) settle(t *testing.T, d Delivery, r *receiver) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.flushed(true)
	defer r.flushed(false)
	for {
		err := d.ForceFlush(ctx)
		if err == nil || s.Timeout > 0 || ctx.Err() != nil || d.Stats().Pending == 0 {
			return err
		}
	}
}
