package analysis

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// votes are durations, of which the longest one counts.
type votes[K comparable] map[K]time.Duration

func (v votes[K]) winner(less func(a, b K) int) (best K) {
	first := true
	for k, d := range v {
		if first || d > v[best] || d == v[best] && less(k, best) < 0 {
			best, first = k, false
		}
	}
	return best
}

// calls are how long a goroutine ran with each stack. Stacks are translated once, so that the first
// frame and the number of frames identify the frames.
type calls map[callsKey]*call

type callsKey struct {
	first *waits.Frame
	n     int
	seen  bool // where the goroutine ran, and not only calls around it
}

type call struct {
	frames   []waits.Frame
	duration time.Duration
}

func (c calls) add(frames []waits.Frame, d time.Duration, seen bool) {
	if len(frames) == 0 {
		return
	}
	key := callsKey{&frames[0], len(frames), seen}
	if c[key] == nil {
		c[key] = &call{frames: frames}
	}
	c[key].duration += d
}

// heaviest returns the innermost function outside the standard library that was called during more
// than half of the time. Where the goroutine was seen counts alone, if that is a quarter of the
// time or more: it stands for the rest.
func (c calls) heaviest() string {
	var all, seen time.Duration
	for k, call := range c {
		if innermost(call.frames) == "" {
			continue
		}
		all += call.duration
		if k.seen {
			seen += call.duration
		}
	}
	onlySeen := seen >= all/4
	if onlySeen {
		all = seen
	}
	during := votes[string]{}
	for k, call := range c {
		if onlySeen && !k.seen {
			continue
		}
		counted := map[string]bool{} // a recursive function counts once
		for _, f := range call.frames {
			if !counted[f.Function] && !waiting.Standard(f.Function) {
				counted[f.Function] = true
				during[f.Function] += call.duration
			}
		}
	}
	ends := votes[string]{}
	for k, call := range c {
		if onlySeen && !k.seen {
			continue
		}
		for _, f := range call.frames {
			if during[f.Function] > all/2 {
				ends[f.Function] += call.duration
				break
			}
		}
	}
	return ends.winner(cmp.Compare[string])
}

// result returns the cause.
func (c *cause) result(r *root) waits.Cause {
	result := waits.Cause{Kind: c.kind, Limit: c.limit, Duration: c.duration,
		Function: c.functions.winner(cmp.Compare[string])}
	result.SpanID = c.spans.winner(
		func(a, b trace.SpanID) int { return cmp.Compare(a.String(), b.String()) })
	result.Span = r.names[result.SpanID]
	if f := c.calls.heaviest(); f != "" {
		result.Function = f
	}
	// One party is named only if it had most of the time.
	for _, share := range c.parties {
		if share.duration > c.duration/2 {
			result.By = share.party
		}
	}
	return result
}
