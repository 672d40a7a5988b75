//go:build !race

// The race detector allocates on its own account.

package marks_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

type countingMeter struct{ n int }

func (*countingMeter) Wants(string) bool { return true }

func (m *countingMeter) Measured(any, string, time.Duration, []slog.Attr, *record.Failure) { m.n++ }

// A meter adds no allocation to a measure, wherever that is recorded.
func TestAllocsWithMeter(t *testing.T) {
	for _, place := range places {
		tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}}) // no pass, which allocates, runs meanwhile
		tracing := spantest.New((*record.Timeline)(tl))
		tracing.Discard, tracing.Limit = true, 128
		ctx := place.under(tracing, observer.NewContext(t.Context(), tl))
		work := func() {
			marks.Time(ctx, "m", slog.String("k", "v"), slog.Int("n", 1)).End(slog.Bool("b", true), slog.Float64("f", 1.5))
			marks.Time(ctx, "m").End()
			_, tm := marks.Start(ctx, "m")
			tm.End()
		}
		alone := testing.AllocsPerRun(2000, work)
		m := &countingMeter{}
		detach := (*record.Timeline)(tl).Meter(m)
		if got := testing.AllocsPerRun(2000, work); got != alone || m.n != 3*2001 {
			t.Errorf("%s: %v allocations and %d measures with a meter, want %v and %d", place.name, got, m.n, alone, 3*2001)
		}
		detach()
	}
}
