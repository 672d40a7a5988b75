//go:build lab

package exporter_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/perfline/perfline/exporter"
)

// A burst that waits for its receiver leaves little memory behind.
func TestLabHeapAfterABurst(t *testing.T) {
	const spans, most = 100_000, 1 << 20
	name := strings.Repeat("s", 200)
	proceed := make(chan struct{})
	d := ofSpans.lossless(t, exporter.Config{QueueSize: spans, QueueBytes: 1 << 30}, func(context.Context) exporter.Answer {
		<-proceed
		return exporter.Answer{}
	})
	before := heap()
	for range spans {
		d.add(name)
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

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools have
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
