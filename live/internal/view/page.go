package view

import (
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/waits"
)

// A PageState identifies the handler and its process, so that a page notices another program at its
// address.
type PageState struct {
	Instance string  `json:"instance"` // random, new for each start of the program
	Started  float64 `json:"started"`  // since the epoch of Unix
	Data     string  `json:"data"`     // "everything" or "summary"
	ID       string  `json:"id"`       // service.instance.id, empty if unknown
	Host     string  `json:"host"`     // host.name, empty if unknown
	// start of the process, since the epoch of Unix
	ProcessStarted float64 `json:"processStarted"`
	// the page lacks unsampled requests, because a provider of OpenTelemetry's SDK drops them
	SampledOnly bool `json:"sampledOnly,omitempty"`
}

// A ServiceOnly is the overview in a summary.
type ServiceOnly struct {
	Service string `json:"service"` // service.name, empty before the first request
}

// NewServiceOnly returns the name of the service. The name is an attribute of the first request.
func NewServiceOnly(all []requests.Snapshot) ServiceOnly { return ServiceOnly{serviceOf(all)} }

// A CountRow is one of perfline's own counts.
type CountRow struct {
	Group string `json:"group"`          // name of the metric
	Kind  string `json:"kind,omitempty"` // type of entry
	Name  string `json:"name"`           // outcome
	What  string `json:"what"`           // meaning
	N     uint64 `json:"n"`              // number
	Lost  bool   `json:"lost,omitempty"` // counts a loss: should be 0
	Now   bool   `json:"now,omitempty"`  // the present number, instead of a sum since the start
}

// NewCountRows returns one row for each count.
func NewCountRows(all []exporter.Count) []CountRow {
	rows := make([]CountRow, 0, len(all))
	for _, c := range all {
		rows = append(rows, CountRow(c))
	}
	return rows
}

// A Failure is the answer to a refused request.
type Failure struct {
	Field string `json:"field,omitempty"` // name of the wrong parameter
	Error string `json:"error"`           // the problem and the remedy
}

// A WaitsState describes the waits recorder. Without a recorder, all fields but Status are empty.
type WaitsState struct {
	Status  string  `json:"status"`            // a waits.Status, or "none"
	Until   float64 `json:"until,omitempty"`   // end of armed or paused, since the epoch; 0: no end
	Auto    bool    `json:"auto,omitempty"`    // a slow request armed, or will arm, the recorder
	Reason  string  `json:"reason,omitempty"`  // a sentence without its period
	Refused string  `json:"refused,omitempty"` // why this client may not arm, and the remedy
	Results uint64  `json:"results"`           // requests with a result in memory
	Pending uint64  `json:"pending"`           // slow requests that wait for a result
	Armed   float64 `json:"armed"`             // total time for which the recorder was armed
}

// NewWaitsState describes the recorder r; r may be nil. refused is the reason why clients may not
// control the recorder. If clients may control the recorder, refused is nil.
func NewWaitsState(r waits.Recorder, refused error) WaitsState {
	if r == nil {
		return WaitsState{Status: "none"}
	}
	s, stats := r.State(), r.Stats()
	w := WaitsState{
		Status: string(s.Status), Auto: s.Auto, Reason: Shown(s.Reason),
		Results: stats.Results, Pending: stats.Pending, Armed: ms(stats.Armed),
	}
	if !s.Until.IsZero() {
		w.Until = SinceEpoch(s.Until)
	}
	if refused != nil {
		w.Refused = refused.Error()
	}
	return w
}
