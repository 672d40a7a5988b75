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

// heaviest returns the site of more than half of the time: the program's innermost function that
// was called so long, or else the innermost function of a library. If exact stacks cover a quarter
// of the time or more, only these count.
func (c calls) heaviest(s *stacks) site {
	var all, exact time.Duration
	for k, call := range c {
		if s.site(call.frames).function == "" {
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
	during, best := votes[string]{}, ofLibrary
	for k, call := range c {
		if onlyExact && !k.exact {
			continue
		}
		counted := map[string]bool{} // a recursive function counts once
		for _, f := range call.frames {
			if !counted[f.Function] && !waiting.Standard(f.Function) {
				counted[f.Function] = true
				if during[f.Function] += call.duration; during[f.Function] > all/2 {
					best = max(best, s.rank(f.Function))
				}
			}
		}
	}
	ends, vias := votes[string]{}, map[string]votes[string]{}
	for k, call := range c {
		if onlyExact && !k.exact {
			continue
		}
		end := site{}
		for _, f := range call.frames {
			switch {
			case waiting.Standard(f.Function):
				continue
			case during[f.Function] <= all/2:
			case s.rank(f.Function) == best:
				end.function = waiting.Name(&f)
			}
			if end.function != "" {
				break
			}
			if best > ofLibrary && !s.isOwn(f.Function) {
				end.via = f.Function
			}
		}
		if end.function == "" {
			continue
		}
		if ends[end.function] += call.duration; vias[end.function] == nil {
			vias[end.function] = votes[string]{}
		}
		vias[end.function][end.via] += call.duration
	}
	function := ends.winner(cmp.Compare[string])
	return site{function, vias[function].winner(cmp.Compare[string]), best > ofLibrary}
}

func compareSites(a, b site) int {
	return cmp.Or(cmp.Compare(a.function, b.function), cmp.Compare(a.via, b.via))
}

func (c *cause) result(r *root, s *stacks) waits.Cause {
	result := waits.Cause{Kind: c.key.kind, Limit: c.limit, Duration: c.duration}
	if c.in.root != nil {
		result.In = &waits.Party{Goroutine: uint64(c.in.by.id)}
		c.in.root.identify(result.In)
	}
	byID := func(a, b trace.SpanID) int { return slices.Compare(a[:], b[:]) }
	result.SpanID = c.spans.winner(byID)
	if c.key.span == "" && c.spans[result.SpanID] <= c.duration/2 {
		result.SpanID = r.id // no span has most of the time
	}
	result.Span = r.names[result.SpanID]
	at := c.sites.winner(compareSites).nearer(c.calls.heaviest(s))
	result.Function, result.Via = at.function, at.via
	// A party must have most of the time.
	for _, share := range c.parties {
		if share.duration > c.duration/2 {
			result.By = share.party
		}
	}
	return result
}
