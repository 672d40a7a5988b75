package observer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// Queue records an entry under the span that is active in ctx ("queue a PerformanceEntry",
// Performance Timeline 2, section 3). Call Queue in hooks of servers and clients that package
// bridge does not instrument. typ must be Navigation, Resource or Server. start is the time since
// the origin of t, like the result of [Timeline.Now]. The attribute [InitiatorKey] stores the
// initiatorType of a call (Resource Timing). Queue freezes the attributes by the rules in the
// package documentation, so later changes of the values have no effect. Queue starts no span.
//
// Queue returns an error and records nothing in these cases:
//
//   - typ is not Navigation, Resource or Server
//   - the duration is negative
//   - the start or the end is more than 146 years from the origin of the process timeline
//
// If a buffer is full, Queue returns no error: [Timeline.Stats] counts the lost entry.
func (t *Timeline) Queue(ctx context.Context, typ Type, name string, start, duration time.Duration,
	attrs ...slog.Attr) error {
	if typ != Navigation && typ != Resource && typ != Server {
		return fmt.Errorf("observer: queueing %q of type %q: must be %s, %s or %s; package marks records marks and measures", record.Name(name), record.Name(string(typ)), Navigation, Resource, Server)
	}
	if duration < 0 {
		return fmt.Errorf("observer: queueing %s %q: duration %v must not be negative", typ,
			record.Name(name), duration)
	}
	e, err := t.engine().NewEntry(record.Type(typ), name, start, duration, attrs...)
	if err != nil {
		return err
	}
	t.engine().Queue(ctx, e)
	return nil
}
