package marks_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/perfline/perfline/internal/spantest"
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

// unrecorded returns ctx with an active span that is not recorded.
func unrecorded(ctx context.Context) context.Context {
	return spantest.New(observer.FromContext(ctx)).Foreign("unrecorded", observer.ToObservers).Context(ctx)
}

func names(entries []observer.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
