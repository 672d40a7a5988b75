package timeline_test

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

// The hook of a server or a client queues entries, of now and of the past. They are where other entries are.
func TestQueueByHooks(t *testing.T) {
	tl := newManual()
	var seen []string
	if _, err := tl.Observe(func(l observer.List) { seen = append(seen, names(l.Entries())...) }, observer.Options{Types: []observer.Type{observer.Navigation, observer.Resource, observer.Server}}); err != nil {
		t.Fatal(err)
	}
	child := tl.NewChild()
	ctx := observer.NewContext(t.Context(), child)
	attrs := []slog.Attr{slog.Any("list", []string{"a"})}
	for i, typ := range []observer.Type{observer.Navigation, observer.Resource, observer.Server} {
		if err := child.Queue(ctx, typ, string(typ), time.Duration(-i)*time.Second, time.Duration(i), attrs...); err != nil {
			t.Fatal(err)
		}
	}
	attrs[0].Value.Any().([]string)[0] = "b"
	want(t, "the timeline's buffer, by start", names(child.Entries()), "server", "resource", "navigation")
	if e := child.EntriesByType(observer.Server)[0]; e.StartTime() != -2*time.Second || e.Duration() != 2 || e.String() != `server "server" at -2s for 2ns` || e.Detail()[0].Value.Any().([]string)[0] != "a" {
		t.Errorf("got %v with %v", e, e.Detail())
	}
	tl.run()
	want(t, "observers of the process", seen, "server", "resource", "navigation")
}

// What cannot be an entry is an error that names it, and records nothing.
func TestQueueErrors(t *testing.T) {
	tl := newManual()
	for _, c := range []struct {
		typ             observer.Type
		start, duration time.Duration
		says            string
	}{
		{observer.Mark, 0, 0, `queueing "name" of type "mark": must be navigation, resource or server; package marks records`},
		{observer.Measure, 0, 0, `"measure"`},
		{observer.GC, 0, 0, `"gc"`},
		{"frame", 0, 0, `"frame"`},
		{"", 0, 0, `type ""`},
		{observer.Resource, 0, -1, `queueing resource "name": duration -1ns must not be negative`},
		{observer.Resource, math.MinInt64, 0, "within 146 years"},
		{observer.Resource, 1, math.MaxInt64, "within 146 years"},
	} {
		if err := tl.Queue(t.Context(), c.typ, "name", c.start, c.duration); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q at %v for %v: got %v, want %q", c.typ, c.start, c.duration, err, c.says)
		}
	}
	long := strings.Repeat("x", 1<<20)
	if err := tl.Queue(t.Context(), observer.Type(long), long, 0, 0); err == nil || len(err.Error()) > 8<<10 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
	if n := len(tl.Entries()); n != 0 {
		t.Errorf("%d entries", n)
	}
}
