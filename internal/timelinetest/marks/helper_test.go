package marks_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/internal/leaktest"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// manual is a process timeline whose clock a test moves by hand.
type manual struct {
	*observer.Timeline
	now time.Duration
}

func newManual() (*manual, context.Context) {
	m := &manual{}
	m.Timeline = observer.NewTimeline(observer.TimelineOptions{
		Clock:     func() time.Duration { return m.now },
		Scheduler: func(func()) {}, // reading collects
	})
	return m, observer.NewContext(context.Background(), m.Timeline)
}

// unrecorded returns ctx with an active span that is not recorded.
func unrecorded(ctx context.Context) context.Context {
	return spantest.New((*record.Timeline)(observer.FromContext(ctx))).Foreign("unrecorded", record.ToObservers).Context(ctx)
}

// newMark makes a mark without recording it, as the PerformanceMark constructor does.
func newMark(ctx context.Context, name string, at time.Duration, attrs ...slog.Attr) (observer.Entry, error) {
	e, err := record.FromContext(ctx).NewEntry(record.Mark, name, at, 0, attrs...)
	return observer.Entry(e), err
}

// recorded returns an entry as code sees it that records.
func recorded(e observer.Entry) *record.Entry { return (*record.Entry)(&e) }

// after returns a duration for options, where nil stands for none.
func after(d time.Duration) *time.Duration { return &d }

func names(entries []observer.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// spawn does what wg.Go does, which came with Go 1.25.
func spawn(wg *sync.WaitGroup, f func()) {
	wg.Add(1)
	go func() {
		defer wg.Done()
		f()
	}()
}
