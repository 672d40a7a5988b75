package flight

import (
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
)

// maxReasons bounds the requests without a result that the recorder remembers. By default, fewer
// requests are in memory.
const maxReasons = 1024

// reasons remembers why requests have no result, of the newest maxReasons requests.
type reasons struct {
	entries   [maxReasons]reasonEntry
	next      int
	forgotten time.Time // of the newest entry that was overwritten
	armed     time.Time // when the recorder was armed first; zero for never
}

type reasonEntry struct {
	id     local.ID
	reason waiting.Reason
	at     time.Time
}

// add never allocates.
func (r *reasons) add(id local.ID, reason waiting.Reason, now time.Time) {
	e := &r.entries[r.next%maxReasons]
	r.forgotten = e.at
	*e = reasonEntry{id, reason, now}
	r.next++
}

// of returns the reason of a request that ended at a time and has no result.
func (r *reasons) of(id local.ID, end time.Time) waiting.Reason {
	for i := r.next - 1; i >= max(0, r.next-maxReasons); i-- {
		if e := &r.entries[i%maxReasons]; e.id == id {
			return e.reason
		}
	}
	switch {
	case end.After(r.forgotten): // a forgotten reason is younger than the end of its request
		return waiting.NotSlow
	case r.armed.IsZero() || end.Before(r.armed):
		return waiting.NotArmed
	}
	return waiting.Forgotten
}
