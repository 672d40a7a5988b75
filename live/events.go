package live

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/live/internal/view"

	"github.com/perfline/perfline/guard"
)

// An event is a kind of data that the stream sends.
type event struct {
	name string
	data any
}

// events returns all that the page shows, by kind. Samples of the runtime are those after a time;
// without one, their event is missing.
func (h *handler) events(after time.Time) (all []event) {
	for _, k := range eventKinds {
		d := k.everything
		if h.data == guard.Summary {
			d = k.summary
		}
		if d.build == nil {
			continue
		}
		if made := d.build(h, after); made != nil {
			all = append(all, event{k.name, made})
		}
	}
	return all
}

// lastEvents are the data of events by the names of their kinds.
type lastEvents map[string]any

// all answers with the events, for clients without a stream.
func (h *handler) all(r *http.Request) (maker[lastEvents], error) {
	after, err := afterOf(r)
	return func(context.Context) (lastEvents, error) {
		byName := lastEvents{}
		for _, e := range h.events(after) {
			byName[e.name] = e.data
		}
		return byName, nil
	}, err
}

// runtimeAfter returns the samples after a time. There are none in a program without a history.
func (h *handler) runtimeAfter(after time.Time) view.RuntimeHistory {
	var samples []runtimestats.Sample
	if h.history != nil {
		samples = h.history.After(after)
	}
	return view.NewRuntimeHistory(h.page.Instance, samples)
}

func (h *handler) runtime(r *http.Request) (maker[view.RuntimeHistory], error) {
	after, err := afterOf(r)
	return func(context.Context) (view.RuntimeHistory, error) {
		return h.runtimeAfter(after), nil
	}, err
}

// afterOf reads the parameter after: the time of the last sample that the client has.
func afterOf(r *http.Request) (time.Time, error) {
	text := r.URL.Query().Get("after")
	if text == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(ms) < 1e15) {
		return time.Time{}, badRequest(fmt.Errorf("after=%s: must be the time of a sample, "+
			"in milliseconds since 1970", view.Shown(text)))
	}
	// The time of a sample has nanoseconds, which its JSON does not have.
	return time.UnixMicro(int64(math.Round(ms * 1000))).Add(time.Microsecond - 1), nil
}
