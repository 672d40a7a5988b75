package marks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Mark records a mark with the given name at the current time (User Timing 3, mark()).
//
// Mark never fails. On a request's timeline, Mark also accepts the reserved names that MarkAt
// refuses. For a reserved name, Measure uses the moment of the request and ignores the mark. If a
// method of an attribute calls [runtime.Goexit], Mark still records the mark.
func Mark(ctx context.Context, name string, attrs ...slog.Attr) {
	var p record.Place
	p.Locate(ctx)
	if p.Wants(record.Mark) {
		p.Record(record.Mark, name, p.Timeline.Now(), 0, attrs)
	}
}

// MarkAt records a mark with the given name, and returns the mark (User Timing 3, mark() with
// startTime). The parameter at is the time of the mark since the origin of ctx's timeline. To mark
// a time.Time, pass observer.FromContext(ctx).Since(t). MarkAt returns an error and records nothing
// in these cases:
//
//   - [ErrNegative]: the time is negative
//   - [ErrReserved]: the name is reserved for a moment of the request ("responseStart"), and the
//     timeline is a request's timeline
//   - the time is more than 146 years from the origin of the process timeline
//
// If no observer and no span receives the mark, the returned mark contains no attributes. This case
// occurs under a span that is not recorded. If a method of an attribute calls [runtime.Goexit],
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

// ClearMarks removes marks from the buffer of ctx's timeline (User Timing 3, clearMarks()). Without
// names, ClearMarks removes all marks. Otherwise ClearMarks removes only the marks that match one
// of the names. The empty string counts as a name. ClearMarks removes no measures. Observers still
// receive marks that were recorded before the call.
func ClearMarks(ctx context.Context, names ...string) {
	record.FromContext(ctx).Clear(record.Mark, names...)
}
