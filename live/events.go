package live

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/live/internal/view"
)

type event struct {
	name string
	data any
}

// events returns the present event of each kind. The runtime's event lists samples after a time,
// and is missing without such samples.
func (h *handler) events(after time.Time) (all []event) {
	for _, k := range eventKinds {
		d := k.everything
		if h.data == guard.Summary {
			d = k.summary
		}
		if d.build == nil {
			continue
		}
		if data := d.build(h, after); data != nil {
			all = append(all, event{k.name, data})
		}
	}
	return all
}

// lastEvents holds the data of events by the names of their kinds.
type lastEvents map[string]any

// latest answers with the present events, for clients without a stream.
func (h *handler) latest(r *http.Request) (builder[lastEvents], error) {
	after, err := parseAfter(r)
	return func(context.Context) (lastEvents, error) {
		byName := lastEvents{}
		for _, e := range h.events(after) {
			byName[e.name] = e.data
		}
		return byName, nil
	}, err
}

// runtimeAfter returns the runtime samples after a time, none in a program without a history.
func (h *handler) runtimeAfter(after time.Time) view.RuntimeHistory {
	var samples []runtimestats.Sample
	if h.history != nil {
		samples = h.history.After(after)
	}
	return view.NewRuntimeHistory(h.page.Instance, samples)
}

func (h *handler) runtime(r *http.Request) (builder[view.RuntimeHistory], error) {
	after, err := parseAfter(r)
	return func(context.Context) (view.RuntimeHistory, error) {
		return h.runtimeAfter(after), nil
	}, err
}

// parseAfter parses the parameter after: the time of the last sample that the client knows.
func parseAfter(r *http.Request) (time.Time, error) {
	text := r.URL.Query().Get("after")
	if text == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(ms) < 1e15) {
		return time.Time{}, badRequest(fmt.Errorf("after=%s: must be the time of a sample, "+
			"in milliseconds since 1970", view.Shown(text)))
	}
	// The JSON cuts the time of a sample to microseconds.
	return time.UnixMicro(int64(math.Round(ms * 1000))).Add(time.Microsecond - 1), nil
}
