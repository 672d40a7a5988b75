package analysis

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/states"
)

// votes are durations, of which the longest one counts.
type votes[K comparable] map[K]time.Duration

func (v votes[K]) most(less func(a, b K) int) (best K) {
	first := true
	for k, d := range v {
		if first || d > v[best] || d == v[best] && less(k, best) < 0 {
			best, first = k, false
		}
	}
	return best
}

// calls are how long a goroutine ran with each stack. Stacks are translated once, so that the first frame and the number
// of frames identify the frames.
type calls map[callsKey]*call

type callsKey struct {
	first *states.Frame
	n     int
}

type call struct {
	frames   []states.Frame
	duration time.Duration
}

func (c calls) add(frames []states.Frame, d time.Duration) {
	if len(frames) == 0 {
		return
	}
	key := callsKey{&frames[0], len(frames)}
	if c[key] == nil {
		c[key] = &call{frames: frames}
	}
	c[key].duration += d
}

// heaviest returns the innermost function outside the standard library that was called during more than half of the time
// for which there are calls.
func (c calls) heaviest() string {
	during := votes[string]{}
	var total time.Duration
	for _, k := range c {
		seen := map[string]bool{}
		for _, f := range k.frames {
			if !seen[f.Function] && !standard(f.Function) {
				seen[f.Function] = true
				during[f.Function] += k.duration
			}
		}
		if len(seen) > 0 {
			total += k.duration
		}
	}
	ends := votes[string]{}
	for _, k := range c {
		for _, f := range k.frames {
			if during[f.Function] > total/2 {
				ends[f.Function] += k.duration
				break
			}
		}
	}
	return ends.most(cmp.Compare[string])
}

// result returns the cause.
func (c *cause) result(r *root) states.Cause {
	result := states.Cause{Kind: c.kind, Duration: c.duration, Function: c.functions.most(cmp.Compare[string])}
	result.SpanID = c.spans.most(func(a, b trace.SpanID) int { return cmp.Compare(a.String(), b.String()) })
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
