package marks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Mark records that name happened now (User Timing 3, mark()).
//
// Since it cannot fail, it also takes the names that MarkAt refuses on
// a request's timeline. Measure does not find such a mark, but the moment of the
// request that has the name.
//
// If a method of an attribute calls [runtime.Goexit], the mark is recorded; MarkAt and
// Measure record nothing then.
func Mark(ctx context.Context, name string, attrs ...slog.Attr) {
	var p record.Place
	p.Locate(ctx)
	if p.Wants(record.Mark) {
		p.Record(record.Mark, name, p.Timeline.Now(), 0, attrs)
	}
}

// MarkAt records that name happened at the given time since the origin of ctx's timeline, and
// returns the mark (User Timing 3, mark() with startTime). These are errors, and nothing is
// recorded then:
//
//   - A negative time: [ErrNegative].
//   - On a request's timeline, the name of a moment of the request ("responseStart"):
//     [ErrReserved].
//   - A time further than 146 years from the origin of the process's timeline.
//
// Where nothing wants a mark
// (under a span that is not recorded) it is not recorded, and returned without its
// attributes. To mark a time.Time, pass observer.FromContext(ctx).Since(t).
func MarkAt(ctx context.Context, name string, at time.Duration, attrs ...slog.Attr) (observer.Entry,
	error) {
	var p record.Place
	p.Locate(ctx)
	if p.Timeline.Parent() != nil && record.IsTimingName(name) {
		return observer.Entry{},
			fmt.Errorf("marks: mark %q: %w: choose another name", record.Name(name), ErrReserved)
	}
	if at < 0 {
		return observer.Entry{},
			fmt.Errorf("marks: mark %q at %v: %w", record.Name(name), at, ErrNegative)
	}
	wanted := p.Wants(record.Mark)
	if !wanted {
		attrs = nil
	}
	m, err := p.Timeline.NewEntry(record.Mark, name, at, 0, attrs...)
	if err == nil && wanted {
		p.Queue(m)
	}
	return observer.Entry(m), err
}

// ClearMarks removes marks from the buffer of ctx's timeline (User Timing 3,
// clearMarks()): without names all of them, else those that have one of the names.
// The name "" selects the marks whose name is empty. Measures, and what observers
// have not been given yet, stay.
func ClearMarks(ctx context.Context, names ...string) {
	record.FromContext(ctx).Clear(record.Mark, names...)
}
