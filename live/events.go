package live

import (
	"net/http"
	"time"

	"github.com/perfline/perfline/guard"
)

// An event is a kind of data that the stream sends.
type event struct {
	name string
	data any
}

// events returns all that the page shows, by kind. Samples of the runtime are those after a time;
// without one, their event is missing.
func (h *handler) events(after time.Time) []event {
	var all []event
	if h.data == guard.Summary {
		all = []event{{"page", h.page}, {"requests", h.serviceOnly()},
			{"routes", h.streamedRoutes()}}
	} else {
		all = []event{{"page", h.page}, {"requests", h.overview()}, {"routes", h.streamedRoutes()},
			{"sessions", h.sessions()}, {"flight", h.waitsState()}}
	}
	all = append(all, event{"counts", h.counts()})
	if history := h.runtimeAfter(after); len(history.Samples) > 0 {
		all = append(all, event{"runtime", history})
	}
	return all
}

// all answers with the events, for clients without a stream.
func (h *handler) all(w http.ResponseWriter, r *http.Request) {
	after, ok := readAfter(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	byName := map[string]any{}
	for _, e := range h.events(after) {
		byName[e.name] = e.data
	}
	answer(w, byName)
}
