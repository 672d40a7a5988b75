//go:build !race

// The race detector allocates itself.

package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
)

// Accept, OnEnd and AcceptLogs allocate nothing once there are blocks for a batch. A flush and a request allocate a little.
func TestAllocDelivery(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))  // as in testing.AllocsPerRun
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	const items, most = 500, 20
	span := spanOf(strings.Repeat("s", 200))
	var groups otlpenc.Groups
	var w otlpenc.Writer
	one := encode(&groups, span)
	encoded := []bridge.Spans{write(&w, one)}
	together := []bridge.Spans{write(&w, otlpenc.NewSpans(one.Group(), bytes.Repeat(one.Bytes, items), items))}
	separate := slices.Repeat(encoded, items)
	record := recordsOf(one.Group(), strings.Repeat("e", 200))
	written := func(n int) bridge.Records {
		return bridge.Records(w.Records(otlpenc.NewRecords(one.Group(), append(w.Next(), bytes.Repeat(record.Bytes, n)...), n)))
	}
	records := written(items)
	record = written(1)
	for _, c := range []struct {
		name   string
		signal signal
		accept func(sender)
	}{
		{"OnEnd", ofSpans, func(d sender) { repeat(items, func() { d.(*spanSender).OnEnd(span) }) }},
		{"Accept of one", ofSpans, func(d sender) { repeat(items, func() { d.(*spanSender).Accept(encoded) }) }},
		{"Accept of a list", ofSpans, func(d sender) { d.(*spanSender).Accept(separate) }},
		{"Accept of all", ofSpans, func(d sender) { d.(*spanSender).Accept(together) }},
		{"AcceptLogs of one", ofLogs, func(d sender) { repeat(items, func() { d.(*logSender).AcceptLogs(record) }) }},
		{"AcceptLogs of all", ofLogs, func(d sender) { d.(*logSender).AcceptLogs(records) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.signal.variables+"SCHEDULE_DELAY", "3600000") // only a flush sends
			d := c.signal.lossless(t, exporter.Config{}, fine)
			for round := range 20 {
				accepting := mallocs(func() { c.accept(d) })
				sending := mallocs(func() {
					if err := d.ForceFlush(t.Context()); err != nil {
						t.Error(err)
					}
				})
				if round > 1 && (accepting > 0 || sending > most) {
					t.Errorf("%d allocations for %d items, want 0; %d to send them, want %d or fewer", accepting, items, sending, most)
				}
			}
		})
	}
}

func repeat(n int, f func()) {
	for range n {
		f()
	}
}

// AcceptLogs allocates nothing in the pause for a receiver that does not know logs.
func TestAllocInThePause(t *testing.T) {
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "3600000") // only a flush sends
	d, _, _ := logsTo(t, func(context.Context) exporter.Answer { return exporter.Answer{Err: errors.New("404"), Unknown: true} }, 0)
	group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
	var w otlpenc.Writer
	record := bridge.Records(w.Records(otlpenc.NewRecords(group, append(w.Next(), recordsOf(group, "e").Bytes...), 1)))
	d.AcceptLogs(record)
	if err := d.ForceFlush(t.Context()); err == nil {
		t.Error("ForceFlush returned no error")
	}
	if n := testing.AllocsPerRun(1000, func() { d.AcceptLogs(record) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if err := d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
