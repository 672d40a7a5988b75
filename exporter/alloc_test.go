//go:build !race

// The race detector allocates itself.

package exporter_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/otlpenc"
)

// Accept and OnEnd allocate nothing once there are blocks for a batch. A flush and a request allocate a little.
func TestAllocDelivery(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // as in testing.AllocsPerRun
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	const spans, most = 500, 20
	span := spanOf(strings.Repeat("s", 200))
	var groups otlpenc.Groups
	encoded := encode(&groups, span)
	together := otlpenc.Spans{Group: encoded.Group, Bytes: bytes.Repeat(encoded.Bytes, spans), Count: spans}
	for name, accept := range map[string]func(*exporter.Delivery){
		"OnEnd": func(d *exporter.Delivery) {
			for range spans {
				d.OnEnd(span)
			}
		},
		"Accept of one": func(d *exporter.Delivery) {
			for range spans {
				d.Accept(encoded)
			}
		},
		"Accept of all": func(d *exporter.Delivery) { d.Accept(together) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // only a flush sends
			d := start(t, exporter.Config{}, fine)
			for round := range 20 {
				accepting := mallocs(func() { accept(d) })
				sending := mallocs(func() {
					if err := d.ForceFlush(t.Context()); err != nil {
						t.Error(err)
					}
				})
				if round > 1 && (accepting > 0 || sending > most) {
					t.Errorf("%d allocations for %d spans, want 0; %d to send them, want %d or fewer", accepting, spans, sending, most)
				}
			}
		})
	}
}

// A burst that waits for its receiver leaves little memory behind.
func TestHeapAfterABurst(t *testing.T) {
	const spans, most = 100_000, 1 << 20
	span := spanOf(strings.Repeat("s", 200))
	proceed := make(chan struct{})
	d := start(t, exporter.Config{QueueSize: spans, QueueBytes: 1 << 30}, func(context.Context) exporter.Answer {
		<-proceed
		return exporter.Answer{}
	})
	before := heap()
	for range spans {
		d.OnEnd(span)
	}
	close(proceed)
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	left := heap() - before
	t.Logf("%d bytes are left", left)
	if left > most {
		t.Errorf("%d bytes are left, want %d or fewer", left, most)
	}
}

func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools have
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
