package otlp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/environ"
)

func TestReadBatch(t *testing.T) {
	usual := Batch{QueueSize: 8192, BatchSize: 512, Delay: 5 * time.Second, Timeout: 30 * time.Second}
	t.Run("spans", func(t *testing.T) { readsBatch(t, Traces, "OTEL_BSP_", "OTEL_BLRP_", usual) })
	usual.Delay = time.Second
	t.Run("log records", func(t *testing.T) { readsBatch(t, Logs, "OTEL_BLRP_", "OTEL_BSP_", usual) })
}

// readsBatch checks that a signal reads the variables with one prefix, and not with another.
func readsBatch(t *testing.T, signal Signal, prefix, other string, usual Batch) {
	t.Helper()
	size, batch, delay, limit := prefix+"MAX_QUEUE_SIZE", prefix+"MAX_EXPORT_BATCH_SIZE", prefix+"SCHEDULE_DELAY", prefix+"EXPORT_TIMEOUT"
	for _, name := range []string{"MAX_QUEUE_SIZE", "MAX_EXPORT_BATCH_SIZE", "SCHEDULE_DELAY", "EXPORT_TIMEOUT"} {
		t.Setenv(other+name, "17")
	}
	with := func(change func(*Batch)) Batch {
		b := usual
		change(&b)
		return b
	}
	for _, c := range []struct {
		name, value string
		field       int
		want        Batch
		rule        string // in the line that is logged; empty: none is
	}{
		{size, "", 0, usual, ""},
		{size, " 100000 ", 0, with(func(b *Batch) { b.QueueSize = 100_000 }), ""},
		{size, "256", 0, with(func(b *Batch) { b.QueueSize = 256 }), ""},
		{size, "1", 0, with(func(b *Batch) { b.QueueSize = 1 }), ""},
		{size, "-5", 0, usual, "must be a whole number from 1 to 16777216"},
		{size, "0", 0, usual, "must be a whole number from 1"},
		{size, "16777217", 0, usual, "must be a whole number from 1"},
		{size, "99999999999999999999", 0, usual, "must be a whole number from 1"},
		{size, "many", 0, usual, "must be a whole number from 1"},
		{size, "1e3", 0, usual, "must be a whole number from 1"},
		{size, "9000", 300, with(func(b *Batch) { b.QueueSize = 300 }), ""},
		{size, "many", 9000, with(func(b *Batch) { b.QueueSize = 9000 }), "must be a whole number from 1"},
		{size, "", MaxQueueSize, with(func(b *Batch) { b.QueueSize = 1 << 24 }), ""},
		{batch, "64", 0, with(func(b *Batch) { b.BatchSize = 64 }), ""},
		{batch, "10000", 0, with(func(b *Batch) { b.BatchSize = 10000 }), ""},
		{batch, "-5", 0, usual, "must be a whole number from 1"},
		{batch, "0", 0, usual, "must be a whole number from 1"},
		{batch, "99999999999999999999", 0, usual, "must be a whole number from 1"},
		{batch, "all", 0, usual, "must be a whole number from 1"},
		{delay, "0", 0, with(func(b *Batch) { b.Delay = 0 }), ""},
		{delay, "250", 0, with(func(b *Batch) { b.Delay = 250 * time.Millisecond }), ""},
		{delay, "-5", 0, usual, "must be a whole number of milliseconds, 0 or more"},
		{delay, "99999999999999999999", 0, usual, "must be a whole number of milliseconds"},
		{delay, "5s", 0, usual, "must be a whole number of milliseconds"},
		{limit, "0", 0, with(func(b *Batch) { b.Timeout = 0 }), ""},
		{limit, "-5", 0, usual, "must be a whole number of milliseconds"},
		{limit, "99999999999999999999", 0, usual, "must be a whole number of milliseconds"},
		{limit, "\xff", 0, usual, "must be a whole number of milliseconds"},
	} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			var log bytes.Buffer
			got := ReadBatch(environ.NewReader(slog.New(slog.NewTextHandler(&log, nil))), signal, c.field)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if lines := log.String(); strings.Count(lines, "\n") > 1 || (lines != "") != (c.rule != "") || !strings.Contains(lines, c.rule) {
				t.Errorf("logged %q, want %q", lines, c.rule)
			}
		})
	}
}
