package queue

import (
	"slices"
	"time"
)

const (
	maxWarnings = 5 // in a minute, about delivery that begins to fail

	saidFor  = time.Hour // in which a reason is logged once
	maxSaids = 8         // reasons in that time
)

// said are the reasons that were logged, and when.
type said map[string]time.Time

// again reports whether a reason was logged within saidFor, or too many others were, and otherwise counts it as logged now.
func (s said) again(reason string) bool {
	for other, at := range s {
		if time.Since(at) >= saidFor {
			delete(s, other)
		}
	}
	if _, ok := s[reason]; ok || len(s) >= maxSaids {
		return true
	}
	s[reason] = time.Now()
	return false
}

// news are what an attempt gives the log.
type news struct {
	begins  error  // delivery begins to fail
	refused bool   // with begins: another attempt would not help
	works   bool   // delivery works again
	dropped bool   // items were dropped while delivery worked
	lost    uint64 // with works and dropped
	turned  uint64 // items that the receiver turned down
	message string // why, or a warning
}

// news returns what there is to log about an answer; lost is how many items were lost before it.
func (q *Queue[T]) news(a Answer, lost uint64) (n news) {
	if a.Err != nil {
		lost = q.stats.lost()
	}
	more := lost - q.seen
	q.seen = q.stats.lost()
	if a.Err != nil || q.failing {
		q.unsaid += more
	}
	if a.Err != nil {
		q.failing = true
		if !q.warned && q.mayWarn() {
			q.warned = true
			n.begins, n.refused = a.Err, !a.Retry && !a.Unanswered
		}
		return n
	}
	n.turned, n.message = uint64(a.Rejected), a.Message //nolint:gosec // not negative
	switch {
	case q.warned:
		n.works, n.lost = true, q.unsaid
		q.unsaid = 0
	case !q.failing && !q.closing && more > 0:
		n.dropped, n.lost = true, more
	}
	q.failing, q.warned = false, false
	return n
}

// mayWarn reports whether there is room for a warning: a receiver that fails every other time must not fill the log.
func (q *Queue[T]) mayWarn() bool {
	now := time.Now()
	q.warnings = slices.DeleteFunc(q.warnings, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(q.warnings) >= maxWarnings {
		return false
	}
	q.warnings = append(q.warnings, now)
	return true
}

// tell logs. The logger is the program's: it may take its time, add items itself, or panic.
func (q *Queue[T]) tell(n news) {
	defer func() { _ = recover() }()
	switch {
	case n.begins != nil && n.refused:
		q.c.Logger.Warn("perfline: "+q.c.What+" are refused and dropped; requests are not affected, check the receiver's address and the credentials",
			"to", q.c.To, "error", n.begins)
	case n.begins != nil:
		q.c.Logger.Warn("perfline: "+q.c.What+" are not delivered; requests are not affected, what does not fit the queue is dropped and counted",
			"to", q.c.To, "error", n.begins)
	case n.works:
		q.c.Logger.Info("perfline: "+q.c.What+" are delivered again", "to", q.c.To, "lost", n.lost)
	case n.dropped && !q.said.again("dropped"):
		q.c.Logger.Warn("perfline: "+q.c.What+" are dropped because the queue is full; requests are not affected, such losses are counted",
			"to", q.c.To, "dropped", n.lost)
	}
	switch {
	case n.turned > 0 && !q.said.again("turned down: "+n.message):
		q.c.Logger.Warn("perfline: the receiver turned down some "+q.c.What+"; more of them for the same reason are only counted",
			"to", q.c.To, q.c.What, n.turned, "reason", n.message)
	case n.turned == 0 && n.message != "" && !q.said.again("warning: "+n.message):
		q.c.Logger.Warn("perfline: the receiver of "+q.c.What+" warns", "to", q.c.To, "warning", n.message)
	}
}
