package queue

import (
	"slices"
	"time"

	"github.com/perfline/perfline/internal/text"
)

const (
	maxWarnings = 5         // per minute, about failing delivery
	repeatAfter = time.Hour // a reason is logged once in this time
	maxReasons  = 8         // per repeatAfter
)

// A logLimiter contains the logged reasons and their times.
type logLimiter map[string]time.Time

// allow reports whether a reason may be logged now, and records it as logged. It returns false for
// a reason logged within repeatAfter, and for further reasons after maxReasons of them.
func (l logLimiter) allow(reason string) bool {
	for other, at := range l {
		if time.Since(at) >= repeatAfter {
			delete(l, other)
		}
	}
	if _, ok := l[reason]; ok || len(l) >= maxReasons {
		return false
	}
	l[reason] = time.Now()
	return true
}

// An event contains the facts that an attempt adds to the log.
type event struct {
	failure   error  // delivery starts failing
	refused   bool   // with failure: another attempt would not help
	unknown   bool   // with failure: the receiver does not support the items
	recovered bool   // delivery works again
	sizeLimit int    // new limit of a request, in bytes; 0: unchanged
	overflow  bool   // items were dropped while delivery worked
	lost      uint64 // with recovered and overflow: lost items
	rejected  uint64 // items that the receiver rejected
	message   string // the reason, or a warning
}

// event returns the facts to log about an answer. lost is the number of items lost before it.
func (q *Queue[T]) event(a Answer, lost uint64) (e event) {
	if a.Err != nil {
		lost = q.stats.lost()
	}
	more := lost - q.lostBefore
	q.lostBefore = q.stats.lost()
	if a.Err != nil || q.failing {
		q.unreported += more
	}
	if a.Err != nil {
		q.failing = true
		unknown := a.Unknown && q.c.UnknownPause > 0
		if (!q.failureLogged || unknown && !q.unknownLogged) && q.mayWarn() {
			q.failureLogged, q.unknownLogged = true, q.unknownLogged || unknown
			e.failure, e.refused, e.unknown = a.Err, !a.Retry && !a.Unanswered, unknown
		}
		return e
	}
	e.rejected, e.message = uint64(a.Rejected), a.Message //nolint:gosec // not negative
	switch {
	case q.failureLogged:
		e.recovered, e.lost = true, q.unreported
		q.unreported = 0
	case !q.failing && !q.closing && more > 0:
		e.overflow, e.lost = true, more
	}
	q.failing, q.failureLogged, q.unknownLogged = false, false, false
	return e
}

// mayWarn reports whether another warning is allowed, and counts it. The bound keeps a receiver
// that fails every other time from filling the log.
func (q *Queue[T]) mayWarn() bool {
	now := time.Now()
	q.warnings = slices.DeleteFunc(q.warnings,
		func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(q.warnings) >= maxWarnings {
		return false
	}
	q.warnings = append(q.warnings, now)
	return true
}

func (q *Queue[T]) log(e event) {
	switch {
	case e.failure != nil && e.unknown:
		q.c.Logger.Warn("perfline: the receiver does not know "+q.c.What+
			"; they are dropped and counted, and tried again now and then without a further line",
			"to", q.c.To, "pause", q.c.UnknownPause, "error",
			text.Line(e.failure.Error(), maxReason))
	case e.failure != nil && e.refused:
		q.c.Logger.Warn("perfline: "+q.c.What+
			" are refused and dropped; requests are not affected, the error names the cause",
			"to", q.c.To, "error", text.Line(e.failure.Error(), maxReason))
	case e.failure != nil:
		q.c.Logger.Warn("perfline: "+q.c.What+
			" are not delivered; requests are not affected, what does not fit the queue is dropped and counted",
			"to", q.c.To, "error", text.Line(e.failure.Error(), maxReason))
	case e.recovered:
		q.c.Logger.Info("perfline: "+q.c.What+" are delivered again", "to", q.c.To, "lost", e.lost)
	case e.overflow && q.logged.allow("overflow"):
		q.c.Logger.Warn("perfline: "+q.c.What+
			" are dropped because the queue is full; requests are not affected, such losses are counted",
			"to", q.c.To, "dropped", e.lost)
	}
	if e.sizeLimit > 0 && q.logged.allow("smaller") {
		q.c.Logger.Info("perfline: the receiver takes no requests as large as that; "+q.c.What+
			" travel in smaller ones from now on",
			"to", q.c.To, "bytes", e.sizeLimit)
	}
	switch {
	case e.rejected > 0 && q.logged.allow("rejected: "+e.message):
		q.c.Logger.Warn("perfline: the receiver turned down some "+q.c.What+
			"; more of them for the same reason are only counted",
			"to", q.c.To, "lost", e.rejected, "reason", e.message)
	case e.rejected == 0 && e.message != "" && q.logged.allow("warning: "+e.message):
		q.c.Logger.Warn("perfline: the receiver of "+q.c.What+" warns", "to", q.c.To, "warning",
			e.message)
	}
}
