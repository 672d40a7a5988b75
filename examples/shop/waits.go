package main

import (
	"context"
	"time"

	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// slow is how long a slow request of the shop takes at least. It is kept, and the recorder finds
// out what it waited for.
const slow = 10 * time.Millisecond

// newRecorder returns the recorder of what slow requests wait for. It is armed during a load that
// ends. Otherwise, the first slow request arms it for a minute, or the live page does.
func newRecorder(o options) waits.Recorder {
	if o.duration > 0 {
		return flight.NewRecorder(
			flight.Config{Armed: true, MinInterval: 2 * time.Second, MinAge: 4 * time.Second})
	}
	return flight.NewRecorder(flight.Config{Auto: true})
}

// slowest returns the slowest request, with what it waited for if that is known or will be soon.
func slowest(ctx context.Context, recent *requests.Store,
	recorder waits.Recorder) (q requests.Request, ok bool) {
	defer recorder.Disarm()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); recorder.Stats().Pending > 0 &&
		ctx.Err() == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	all := recent.Slowest()
	if len(all) == 0 {
		return q, false
	}
	root := all[0].Root()
	waited, _ := recorder.Result(root.TraceID, root.SpanID)
	return all[0].WithWaits(waited), true
}
