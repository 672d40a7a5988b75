package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/profiling/sessions"
)

// A SessionList lists the profiler's sessions.
type SessionList struct {
	Refused  string       `json:"refused,omitempty"` // why this client sees none, and the remedy
	Sessions []sessionRow `json:"sessions"`          // the newest first
	Leaks    bool         `json:"leaks"`             // the runtime can look for leaked goroutines
	Modules  []string     `json:"modules,omitempty"` // modules whose functions remote sessions name
	Longest  float64      `json:"longest,omitempty"` // longest session, and the default
}

type sessionRow struct {
	ID       uint32  `json:"id"`                     // id of the session
	State    string  `json:"state"`                  // waiting, recording, processing or ready
	Route    string  `json:"route,omitempty"`        // request that the session waits for
	Start    float64 `json:"start"`                  // since the epoch of Unix
	Length   float64 `json:"length"`                 // length of the session until now
	Progress float64 `json:"progress" unit:"0 to 1"` // completed share of the processing
	Sampler  string  `json:"sampler,omitempty"`      // engine of the sampler
	Entries  uint64  `json:"entries"`                // recorded entries
	Samples  uint64  `json:"samples"`                // samples of the profiler
	Dropped  uint64  `json:"dropped,omitempty"`      // entries over the limit of the session
	Limit    float64 `json:"limit"`                  // length at which the session stops
	Cost     float64 `json:"cost"`                   // estimated time spent in recording
}

// NewSessionList returns a list of the recorder's sessions. A non-nil refused means that clients
// must not read sessions. The list then contains only this error. leaks is the value of the field
// Leaks.
func NewSessionList(r *sessions.Recorder, refused error, leaks bool) SessionList {
	l := SessionList{Sessions: []sessionRow{}, Leaks: leaks}
	if refused != nil {
		l.Refused = refused.Error()
		return l
	}
	c := r.Config()
	l.Longest = ms(c.MaxLength)
	for _, m := range remote.Policy(c.Policy).Visible() {
		l.Modules = append(l.Modules, Shown(m))
	}
	for _, s := range slices.Backward(r.Statuses()) {
		l.Sessions = append(l.Sessions, newSessionRow(s))
	}
	return l
}

func newSessionRow(s sessions.Status) sessionRow {
	return sessionRow{
		ID: uint32(s.ID), State: string(s.State), Route: Shown(s.Route),
		Start: SinceEpoch(s.Started), Length: ms(s.Length),
		Progress: s.Progress, Sampler: Shown(s.Sampler),
		Entries: s.Entries, Samples: s.Samples, Dropped: s.Dropped,
		Limit: ms(s.MaxLength), Cost: ms(s.Cost),
	}
}

const maxRoutes = 500

// A SessionContents summarizes the timelines of a session by route.
type SessionContents struct {
	ID        uint32        `json:"id"`        // id of the session
	Timelines int           `json:"timelines"` // timelines of the session
	Requests  int           `json:"requests"`  // requests of the session
	Samples   int           `json:"samples"`   // samples in timelines
	Routes    []recordedRow `json:"routes"`    // by samples, then by requests, descending
	Cut       int           `json:"cut"`       // routes left out

	Files []Format[RecordedSession] `json:"files"` // formats of the session's files

	ProcessFailed uint64 `json:"processFailed,omitempty"` // missing profiles of the whole process
}

// A recordedRow sums up the requests of a route, the process, or the garbage collector.
type recordedRow struct {
	Route    uint32  `json:"route"`    // id of the first timeline: asks for the flame graph
	Name     string  `json:"name"`     // name of the route
	Requests int     `json:"requests"` // 0 for the process and the garbage collector
	Samples  int     `json:"samples"`  // samples of the profiler
	Max      float64 `json:"max"`      // longest duration of a request
}

// NewSessionContents returns a summary of a finished session.
func NewSessionContents(s *sessions.Session) SessionContents {
	c := SessionContents{
		ID: uint32(s.ID()), Files: available(SessionFormats, RecordedSession{Session: s}),
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
			continue // the timelines of a frame are neighbours
		}
		frame = t.FrameID
		row.Requests++
		c.Requests++
		row.Max = max(row.Max, ms(t.Interval.End-t.Interval.Start))
	}
	rows := slices.SortedFunc(maps.Values(byName), func(a, b *recordedRow) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(b.Requests, a.Requests),
			cmp.Compare(a.Route, b.Route))
	})
	n := min(len(rows), maxRoutes)
	c.Routes, c.Cut = make([]recordedRow, 0, n), len(rows)-n
	for _, row := range rows[:n] {
		c.Routes = append(c.Routes, *row)
	}
	return c
}
