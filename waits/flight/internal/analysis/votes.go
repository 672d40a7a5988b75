package analysis

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// votes are durations. The longest duration wins.
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

// calls are the running times of a goroutine with each stack. The first frame and the number of
// frames identify a stack, because each stack is translated once.
type calls map[callsKey]*call

type callsKey struct {
	first *waits.Frame
	n     int
	exact bool // not only the calls around the running function
}

type call struct {
	frames   []waits.Frame
	duration time.Duration
}

func (c calls) add(frames []waits.Frame, d time.Duration, exact bool) {
	if len(frames) == 0 {
		return
	}
	key := callsKey{&frames[0], len(frames), exact}
	if c[key] == nil {
		c[key] = &call{frames: frames}
	}
	c[key].duration += d
}

// heaviest returns the innermost function outside the standard library that was called during more
// than half of the time. If exact stacks cover a quarter of the time or more, only these count.
func (c calls) heaviest() string {
	var all, exact time.Duration
	for k, call := range c {
		if innermost(call.frames) == "" {
			continue
		}
		all += call.duration
		if k.exact {
			exact += call.duration
		}
	}
	onlyExact := exact >= all/4
	if onlyExact {
		all = exact
	}
	during := votes[string]{}
	for k, call := range c {
		if onlyExact && !k.exact {
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
		if onlyExact && !k.exact {
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

func (c *cause) result(r *root) waits.Cause {
	result := waits.Cause{Kind: c.kind, Limit: c.limit, Duration: c.duration}
	byID := func(a, b trace.SpanID) int { return slices.Compare(a[:], b[:]) }
	result.SpanID = c.spans.winner(byID)
	result.Span = r.names[result.SpanID]
	result.Function = cmp.Or(c.calls.heaviest(), c.functions.winner(cmp.Compare[string]))
	// A party must have most of the time.
	for _, share := range c.parties {
		if share.duration > c.duration/2 {
			result.By = share.party
		}
	}
	return result
}
