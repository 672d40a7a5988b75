package pyroscope

import (
	"log/slog"
	"sync"

	"github.com/perfline/perfline/internal/secret"
)

// A report logs when deliveries begin to fail and when they work again. It belongs to
// the goroutine that delivers.
type report struct {
	log *slog.Logger
	to  string

	failing bool
	before  uint64            // profiles lost before it began to fail
	refused map[string]uint64 // profiles refused in a row, by kind

	large sync.Once // whoever takes profiles
}

// tooLarge tells of a profile that the queue has no room for even when it is empty.
func (r *report) tooLarge(u *upload) {
	r.large.Do(func() {
		r.log.Warn("perfline: a profile is larger than QueueSize and dropped, as those after it will be, which are counted",
			"kind", u.kind, "bytes", u.size())
	})
}

func newReport(c Config) *report {
	return &report{log: c.Logger, to: secret.URL(c.ServerAddress), refused: map[string]uint64{}}
}

// note tells the report of a result, and how many profiles have been lost in all up to it.
func (r *report) note(kind string, res result, lost uint64) {
	switch {
	case res.outcome == sent:
		if r.failing {
			r.log.Info("perfline: profiles are delivered again", "to", r.to, "lost", lost-r.before)
		}
		if n := r.refused[kind]; n > 0 {
			r.log.Info("perfline: profiles are taken again", "kind", kind, "to", r.to, "refused", n)
		}
		r.failing = false
		delete(r.refused, kind)
	case res.outcome == cancelled, res.outcome == retryable && res.profile: // the last attempt says it
	case res.profile:
		r.refused[kind]++
		if r.refused[kind] == 1 {
			r.log.Warn("perfline: a profile is refused and dropped; so may be those like it, which are counted",
				"kind", kind, "to", r.to, "error", res.err)
		}
	case !r.failing:
		r.failing, r.before = true, lost
		message := "perfline: profiles are not delivered; the program is not affected, what does not fit the queue is dropped and counted"
		if res.outcome != retryable {
			r.before-- // this one
		}
		if res.outcome == refused {
			message = "perfline: profiles are refused, dropped and counted; see to the server's address, the credentials and the tenant"
		}
		r.log.Warn(message, "to", r.to, "error", res.err)
	}
}
