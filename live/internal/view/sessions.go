package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// A SessionList is how all sessions are doing.
type SessionList struct {
	// why there are none to be seen, and what to do
	Refused  string       `json:"refused,omitempty"`
	Sessions []sessionRow `json:"sessions"`          // the newest first
	Leaks    bool         `json:"leaks"`             // the runtime can look for leaked goroutines
	Modules  []string     `json:"modules,omitempty"` // whose functions sessions from outside name
	// the length at which a session without one stops by itself
	Longest float64 `json:"longest,omitempty"`
}

type sessionRow struct {
	ID       uint32  `json:"id"`                     // id
	State    string  `json:"state"`                  // waiting, recording, processing or ready
	Route    string  `json:"route,omitempty"`        // name of the request for which it waits
	Start    float64 `json:"start"`                  // since the epoch of Unix
	Length   float64 `json:"length"`                 // length of the session until now
	Progress float64 `json:"progress" unit:"0 to 1"` // share of the processing that is done
	Sampler  string  `json:"sampler,omitempty"`      // engine of the sampler
	Entries  uint64  `json:"entries"`                // recorded entries
	Samples  uint64  `json:"samples"`                // samples of the profiler
	Dropped  uint64  `json:"dropped,omitempty"`      // entries over the limit of the session
	Limit    float64 `json:"limit"`                  // the length at which it stops by itself
	Cost     float64 `json:"cost"`                   // estimate of the time that recording took
}

// NewSessionList lists the sessions of a recorder, the newest first. With refused, the reason why
// remote clients may see none, the list has the reason alone. Leaks is true where the runtime can
// look for leaked goroutines.
func NewSessionList(r *sessions.Recorder, refused error, leaks bool) SessionList {
	l := SessionList{Sessions: []sessionRow{}, Leaks: leaks}
	if refused != nil {
		l.Refused = refused.Error()
		return l
	}
	c := r.Config()
	l.Longest = observer.Milliseconds(c.MaxLength)
	for _, m := range remote.Policy(c.Policy).Visible() {
		l.Modules = append(l.Modules, Shown(m))
	}
	for _, s := range slices.Backward(r.Statuses()) {
		l.Sessions = append(l.Sessions, newSessionRow(s))
	}
	return l
}

func newSessionRow(s sessions.Status) sessionRow {
	return sessionRow{ID: uint32(s.ID), State: string(s.State), Route: Shown(s.Route),
		Start:  SinceEpoch(s.Started),
		Length: observer.Milliseconds(s.Length), Progress: s.Progress, Sampler: Shown(s.Sampler),
		Entries: s.Entries, Samples: s.Samples, Dropped: s.Dropped,
		Limit: observer.Milliseconds(s.MaxLength), Cost: observer.Milliseconds(s.Cost)}
}

const maxRoutes = 500

// A SessionContents is what a session is about: all of its timelines by their routes.
type SessionContents struct {
	ID        uint32 `json:"id"`        // id
	Timelines int    `json:"timelines"` // timelines
	Requests  int    `json:"requests"`  // requests
	Samples   int    `json:"samples"`   // in timelines
	// the one with the most samples first, then by requests
	Routes []recordedRow `json:"routes"`
	Cut    int           `json:"cut"` // routes left out

	Files []Format[RecordedSession] `json:"files"` // formats of its files

	// profiles of the process that are missing
	ProcessFailed uint64 `json:"processFailed,omitempty"`
}

// recordedRow is all requests of one name, whatever of it is shown, or the process, or the
// garbage collector.
type recordedRow struct {
	// the id of its first timeline, by which to ask for its flame graph
	Route    uint32  `json:"route"`
	Name     string  `json:"name"`     // name
	Requests int     `json:"requests"` // 0 of the process and the garbage collector
	Samples  int     `json:"samples"`  // samples of the profiler
	Max      float64 `json:"max"`      // the longest request's length
}

// NewSessionContents sums up a finished session by routes.
func NewSessionContents(s *sessions.Session) SessionContents {
	c := SessionContents{
		ID: uint32(s.ID()), Files: offered(SessionFormats, RecordedSession{Session: s}),
		ProcessFailed: s.Stats().ProcessFailed,
	}
	byName := map[string]*recordedRow{}
	frame := uint32(0)
	for t := range lookup.Timelines(s) {
		c.Timelines++
		row := byName[t.Name]
		if row == nil {
			row = &recordedRow{Route: uint32(t.ID), Name: Shown(t.Name)}
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
