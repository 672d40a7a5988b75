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

// calls are the calls of a goroutine while it ran.
type calls struct {
	frames []states.Frame
	length time.Duration
}

// heaviest returns the innermost function outside the standard library that was called during more than half of the time
// for which there are calls.
func heaviest(all []calls) string {
	during := votes[string]{}
	var total time.Duration
	for _, c := range all {
		if innermost(c.frames) == "" {
			continue
		}
		total += c.length
		seen := map[string]bool{}
		for _, f := range c.frames {
			if !seen[f.Function] && !standard(f.Function) {
				seen[f.Function] = true
				during[f.Function] += c.length
			}
		}
	}
	ends := votes[string]{}
	for _, c := range all {
		for _, f := range c.frames {
			if during[f.Function] > total/2 {
				ends[f.Function] += c.length
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
	if f := heaviest(c.calls); f != "" {
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
