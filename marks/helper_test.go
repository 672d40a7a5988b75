package marks_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// unrecorded is a bridge whose every span is not recorded.
type unrecorded struct{}

func (unrecorded) Scope(context.Context) (any, bool) { return "unrecorded", false }
func (unrecorded) Start(ctx context.Context, _ string, _ time.Time) (context.Context, any) {
	return ctx, nil
}
func (unrecorded) Collect(iter.Seq[*observer.Entry]) bool { return false }

func names(entries []observer.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
