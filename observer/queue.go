package observer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// Queue records an entry of type Navigation, Resource or Server under the span that is active in
// ctx ("queue a PerformanceEntry", Performance Timeline 2, section 3). Call Queue in hooks of
// servers and clients that package bridge does not instrument. Queue starts no span. start is a
// time of t, as [Timeline.Now] returns it. The attributes are frozen: the package's documentation
// has the rules. [InitiatorKey] is the key of a call's initiator.
//
// Queue returns an error, and records nothing, for another type, a negative duration, and a start
// or an end further than 146 years from the origin of the process's timeline. An entry without room
// is not an error: [Timeline.Stats] counts the entry.
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
