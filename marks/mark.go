package marks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Mark records the event name at the current time (User Timing 3, mark()).
//
// Mark cannot fail: on a request's timeline, Mark also takes the names that MarkAt refuses. Measure
// does not find such a mark, but the moment of the request with the same name. If a method of an
// attribute calls [runtime.Goexit], Mark still records the mark.
func Mark(ctx context.Context, name string, attrs ...slog.Attr) {
	var p record.Place
	p.Locate(ctx)
	if p.Wants(record.Mark) {
		p.Record(record.Mark, name, p.Timeline.Now(), 0, attrs)
	}
}

// MarkAt records the event name at a time since the origin of ctx's timeline, and returns the mark
// (User Timing 3, mark() with startTime). To mark a time.Time, pass
// observer.FromContext(ctx).Since(t). MarkAt returns an error, and records nothing, in these cases:
//
//   - the time is negative: [ErrNegative]
//   - on a request's timeline, the name is that of a moment of the request ("responseStart"):
//     [ErrReserved]
//   - the time is further than 146 years from the origin of the process's timeline
//
// If nothing wants the mark (under a span that is not recorded), MarkAt does not record the mark,
// and returns the mark without its attributes. If a method of an attribute calls [runtime.Goexit],
// MarkAt records nothing.
func MarkAt(ctx context.Context, name string, at time.Duration, attrs ...slog.Attr) (observer.Entry,
	error) {
	name = record.Name(name)
	var p record.Place
	p.Locate(ctx)
	if p.Timeline.Parent() != nil && record.IsTimingName(name) {
		err := fmt.Errorf("marks: mark %q: %w: choose another name", name, ErrReserved)
		return observer.Entry{}, err
	}
	if at < 0 {
		return observer.Entry{}, fmt.Errorf("marks: mark %q at %v: %w", name, at, ErrNegative)
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

// ClearMarks removes marks from the buffer of ctx's timeline (User Timing 3, clearMarks()). With
// names, ClearMarks removes only the marks with one of the names; "" is a name, too. Measures and
// undelivered entries of observers stay.
func ClearMarks(ctx context.Context, names ...string) {
	record.FromContext(ctx).Clear(record.Mark, names...)
}
