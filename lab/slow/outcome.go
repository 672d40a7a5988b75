package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/waits"
)

// An outcome is what perfline says about a request, as the service tells the judge.
type outcome struct {
	Trouble  string // why there is no result; empty if there is one
	Sentence string
	Causes   []found

	Wall time.Duration // of the root span, from the span itself
	Sum  time.Duration // of the states of the serving goroutine, with gaps
	Gaps time.Duration // of it
	All  time.Duration // of all causes

	answer
	// how long other programs and machines kept the service's threads from running, all together
	Delayed time.Duration

	Overlap   string // intervals that are not one after the other
	Waterfall string
}

// A found is a cause of a result.
type found struct {
	Kind     waits.Kind
	Duration time.Duration
	Function string
	By       string // function
	Request  string // of By
	In       string // the request that ran or waited, unless that is the slow one
}

// describe returns the outcome for a result.
func (b *bench) describe(r *waits.Request) (o outcome) {
	b.mu.Lock()
	request, ok := b.spans[r.TraceID]
	b.mu.Unlock()
	if !ok || len(r.Goroutines) == 0 {
		return outcome{Trouble: fmt.Sprintf("the span was kept: %v; %d goroutines", ok,
			len(r.Goroutines))}
	}
	request.Waits = r
	o.Sentence, o.Wall = r.Sentence(), request.Duration()
	for _, c := range r.Causes {
		f := found{Kind: c.Kind, Duration: c.Duration, Function: c.Function}
		if c.By != nil {
			f.By, f.Request = c.By.Function, c.By.Request
		}
		if c.In != nil {
			f.In = c.In.Request
		}
		o.Causes = append(o.Causes, f)
		o.All += c.Duration
	}
	end := time.Duration(0)
	for _, i := range r.Goroutines[0].Intervals {
		if i.Start < end || i.End < i.Start {
			o.Overlap = fmt.Sprintf("%v … %v after %v", i.Start, i.End, end)
		}
		end = i.End
		o.Sum += i.Duration()
		if i.Kind == waits.Gap {
			o.Gaps += i.Duration()
		}
	}
	var waterfall strings.Builder
	if err := requests.WriteWaterfall(&waterfall, request, nil); err != nil {
		o.Trouble = err.Error()
	}
	o.Waterfall = waterfall.String()
	return o
}
