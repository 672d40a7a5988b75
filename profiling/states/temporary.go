package states

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Engineer A's, until helper-a is merged.

var names = [Kinds]string{"gap", "running", "runnable", "mutex", "channel send", "channel receive", "select", "network", "timer", "condition", "wait group", "pool", "wait", "system call", "GC assist", "stop the world"}

func (k Kind) String() string { return names[min(k, Kinds-1)] }

func (r *Request) Sentence() string {
	if len(r.Causes) == 0 {
		return ""
	}
	c := r.Causes[0]
	s := c.Duration.String() + " for " + c.Kind.String() + " in " + c.Function
	if c.By != nil {
		s += " that " + c.By.Request + " held in " + c.By.Function
	}
	return s
}

func (r *Request) Times(span trace.SpanID) (t [Kinds]time.Duration) {
	for _, g := range r.Goroutines {
		for i := range g.Intervals {
			if g.Intervals[i].SpanID == span {
				t[g.Intervals[i].Kind] += g.Intervals[i].Duration()
			}
		}
	}
	return t
}
