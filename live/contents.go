package live

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

const maxRoutes = 500

// sessionContents is what a session is about: all of its timelines by their routes.
type sessionContents struct {
	ID        uint32 `json:"id"`
	Timelines int    `json:"timelines"`
	Requests  int    `json:"requests"`
	Samples   int    `json:"samples"` // in timelines
	// the one with the most samples first, then by requests
	Routes []recordedRow `json:"routes"`
	Cut    int           `json:"cut"` // routes left out

	Files []format[recordedSession] `json:"files"`

	// profiles of the process that are missing
	ProcessFailed uint64 `json:"processFailed,omitempty"`
}

// recordedRow is all requests of one name, whatever of it is shown, or the process, or the
// garbage collector.
type recordedRow struct {
	// the id of its first timeline, by which to ask for its flame graph
	Route    uint32  `json:"route"`
	Name     string  `json:"name"`
	Requests int     `json:"requests"` // 0 of the process and the garbage collector
	Samples  int     `json:"samples"`
	Max      float64 `json:"max"` // the longest request's length
}

func (h *handler) contents(w http.ResponseWriter, r *http.Request) {
	s := h.finishedSession(w, r.PathValue("id"))
	if s == nil {
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if !headOnly(w, r) {
		answer(w, newSessionContents(s))
	}
}

func newSessionContents(s *sessions.Session) sessionContents {
	c := sessionContents{
		ID: uint32(s.ID()), Files: offered(sessionFormats, recordedSession{Session: s}),
		ProcessFailed: s.Stats().ProcessFailed,
	}
	byName := map[string]*recordedRow{}
	frame := sessions.FrameID(0)
	for t := range lookup.Timelines(s) {
		c.Timelines++
		row := byName[t.Name]
		if row == nil {
			row = &recordedRow{Route: uint32(t.ID), Name: shown(t.Name)}
			byName[t.Name] = row
		}
		row.Samples += t.Samples
		c.Samples += t.Samples
		if t.FrameID == frame || t.FrameID < lookup.FirstRequest {
			continue // a frame's timelines are together
		}
		frame = t.FrameID
		row.Requests++
		c.Requests++
		row.Max = max(row.Max, observer.Milliseconds(t.Interval.End-t.Interval.Start))
	}
	rows := slices.SortedFunc(maps.Values(byName), func(a, b *recordedRow) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(b.Requests, a.Requests),
			cmp.Compare(a.Route, b.Route))
	})
	c.Cut = max(0, len(rows)-maxRoutes)
	c.Routes = make([]recordedRow, 0, len(rows)-c.Cut)
	for _, row := range rows[:len(rows)-c.Cut] {
		c.Routes = append(c.Routes, *row)
	}
	return c
}
