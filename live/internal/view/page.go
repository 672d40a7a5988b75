package view

import (
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

// A PageState describes the handler, so that a page notices another program behind its address.
type PageState struct {
	Instance string  `json:"instance"` // random, another one after each start of the program
	Started  float64 `json:"started"`  // since the epoch of Unix
	Data     string  `json:"data"`     // "everything" or "summary"
}

// A ServiceOnly is the overview of a summary.
type ServiceOnly struct {
	Service string `json:"service"` // service.name, empty before the first request
}

// NewServiceOnly returns the service that made the requests.
func NewServiceOnly(all []requests.Snapshot) ServiceOnly { return ServiceOnly{serviceOf(all)} }

// A CountRow is one of perfline's own counts.
type CountRow struct {
	Group string `json:"group"`          // name of the metric
	Kind  string `json:"kind,omitempty"` // kind
	Name  string `json:"name"`           // name
	What  string `json:"what"`           // meaning
	N     uint64 `json:"n"`              // number
	Lost  bool   `json:"lost,omitempty"` // should be 0
	Now   bool   `json:"now,omitempty"`  // the number now, not since the start of the program
}

// NewCountRows returns a row for each count.
func NewCountRows(all []exporter.Count) []CountRow {
	rows := make([]CountRow, 0, len(all))
	for _, c := range all {
		rows = append(rows, CountRow(c))
	}
	return rows
}

// A Failure is the answer to a request that is refused.
type Failure struct {
	Field string `json:"field,omitempty"` // the parameter that is wrong
	Error string `json:"error"`           // what is wrong, and what to do
}

// A WaitsState is how the waits recorder is doing. Without a recorder, it has the status "none"
// only.
type WaitsState struct {
	Status string `json:"status"` // a waits.Status, or "none"
	// when armed or paused ends, since the epoch; 0 for no end
	Until float64 `json:"until,omitempty"`
	// armed: a slow request armed it; disarmed: the next slow request will
	Auto   bool   `json:"auto,omitempty"`
	Reason string `json:"reason,omitempty"` // a sentence without its period
	// why this client may not arm and disarm it, and what to do
	Refused string  `json:"refused,omitempty"`
	Results uint64  `json:"results"` // requests that it has results of
	Pending uint64  `json:"pending"` // slow requests whose results may come
	Armed   float64 `json:"armed"`   // for how long in all
}

// NewWaitsState describes a recorder, or nil. Refused is the reason why clients may not control the
// recorder, or nil.
func NewWaitsState(r waits.Recorder, refused error) WaitsState {
	if r == nil {
		return WaitsState{Status: "none"}
	}
	s, stats := r.State(), r.Stats()
	w := WaitsState{
		Status: string(s.Status), Auto: s.Auto, Reason: Shown(s.Reason),
		Results: stats.Results, Pending: stats.Pending,
	}
	if !s.Until.IsZero() {
		w.Until = SinceEpoch(s.Until)
	}
	if s.Status != waits.Armed { // while it is armed, the page would change all the time
		w.Armed = observer.Milliseconds(stats.Armed)
	}
	if refused != nil {
		w.Refused = refused.Error()
	}
	return w
}
