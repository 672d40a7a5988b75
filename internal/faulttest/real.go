package faulttest

import (
	"context"
	"testing"
)

// RunPorts sends items over ports of the machine. RunPorts tests two faults: the receiver starts
// late, and the receiver restarts. RunPorts waits up to two minutes for an expected event.
func RunPorts(t *testing.T, s Signal) {
	t.Helper()
	for _, f := range theFaults {
		if !f.restarts && f.name != "absent" {
			continue
		}
		for _, protocol := range protocols {
			t.Run(f.name+" "+protocol, func(t *testing.T) { s.overPorts(t, protocol, f.of(s)) })
		}
	}
}

func (s Signal) overPorts(t *testing.T, protocol string, f fault) {
	r := serve(t, s, protocol, f, &ports{})
	log := newLog(s)
	d := s.start(t, r, Config{QueueSize: f.size, QueueBytes: 64 << 20, Logger: log.logger()})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if f.restarts {
		d.Add("before")
		if err := d.ForceFlush(ctx); err != nil {
			t.Errorf("the receiver is well, and ForceFlush returned %v", err)
		}
		r.end()
	}
	d.Add("item")
	flushed := make(chan error, 1)
	go func() { flushed <- d.ForceFlush(ctx) }()
	log.wants(t, f.begin)
	r.well()
	if err := <-flushed; err != nil && s.Timeout > 0 {
		t.Errorf("the receiver is well, and ForceFlush returned %v", err)
	}
	if err := s.settle(t, d, r); err != nil {
		t.Errorf("the receiver is well, and ForceFlush returned %v", err)
	}
	log.wants(t, f.end)
	if err := d.Shutdown(ctx); err != nil {
		t.Errorf("the receiver is well, and Shutdown returned %v", err)
	}
	if b := d.Stats(); !r.has("item") || b.Delivered != b.Accepted || !f.books(b) {
		t.Errorf("%d items arrived: %+v", r.taken(), b)
	}
	log.isOver(t)
}
