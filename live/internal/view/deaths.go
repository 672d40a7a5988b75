package view

import (
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/text"
)

const maxWords = 64 << 10 // bytes of the Go runtime's text in a report

// A DeathRow is an earlier process of the program.
type DeathRow struct {
	PID  int    `json:"pid"`  // id of the process
	Kind string `json:"kind"` // how the process ended, as in docs/blackbox.md
	// last sign of life, since the epoch of Unix
	Last float64 `json:"last"`
	Open int     `json:"open"` // requests that were open
	// how the process ended, and for which request; missing in a summary
	Sentence string `json:"sentence,omitempty"`
}

// NewDeathRows returns a row for each report. If summary is true, the rows have no sentence: the
// sentence names functions, and has a text of the program.
func NewDeathRows(all []*blackbox.Report, summary bool) []DeathRow {
	rows := make([]DeathRow, 0, len(all))
	for _, r := range all {
		row := newDeathRow(r)
		if summary {
			row.Sentence = ""
		}
		rows = append(rows, row)
	}
	return rows
}

func newDeathRow(r *blackbox.Report) DeathRow {
	return DeathRow{
		PID: r.PID, Kind: string(r.Kind), Last: SinceEpoch(r.Last), Open: r.Total,
		Sentence: block(r.Sentence()),
	}
}

// A DeathReports lists the reports about earlier processes.
type DeathReports struct {
	Reports []deathReport `json:"reports"` // the newest first
}

// A deathReport says what an earlier process did when the process ended.
type deathReport struct {
	DeathRow
	Started float64     `json:"started"`         // start of the process, since the epoch of Unix
	Words   string      `json:"words,omitempty"` // the Go runtime's text, or its beginning
	Routes  []openRoute `json:"routes"`          // open requests by name, the most first
	// those whose goroutine crashed, and then the oldest; at most 200
	Requests []openRow `json:"requests"`
	// requests without room in the file, since the start of the process
	LeftOut  uint64 `json:"leftOut,omitempty"`
	Finished int    `json:"finished,omitempty"` // finished spans that no backend had taken
	// finished spans without room in the file, since the start of the process
	Lost uint64 `json:"lost,omitempty"`
}

// An openRoute is a name of open requests.
type openRoute struct {
	Name   string  `json:"name"`   // name of the requests
	Count  int     `json:"count"`  // open requests
	Oldest float64 `json:"oldest"` // time since the start of the oldest request
}

// An openRow is a request that was open when its process ended. The request ends at the last sign
// of life.
type openRow struct {
	requestRow
	In      string  `json:"in,omitempty"`      // innermost span that was open
	InFor   float64 `json:"inFor,omitempty"`   // time since the start of this span
	Crashed bool    `json:"crashed,omitempty"` // the goroutine that crashed worked for the request
	LeftOut int     `json:"leftOut,omitempty"` // older entries without room in the file
}

// NewDeathReports returns the reports with at most maxDetail bytes of JSON. Half of the room is for
// open requests, those of the newest report first. The reports share the other half.
func NewDeathReports(all []*blackbox.Report) DeathReports {
	const half = maxDetail / 2
	d := DeathReports{Reports: make([]deathReport, 0, len(all))}
	for _, r := range all {
		report := newDeathReport(r)
		l := limits{bytes: half / len(all)}
		for !l.take(report) && report.Words != "" {
			report.Words = text.Start(report.Words, len(report.Words)/2)
		}
		d.Reports = append(d.Reports, report)
	}
	l := limits{bytes: half}
	for i, r := range all {
		for k := range r.Open {
			if row := newOpenRow(&r.Open[k]); l.take(row) {
				d.Reports[i].Requests = append(d.Reports[i].Requests, row)
			}
		}
	}
	return d
}

func newDeathReport(r *blackbox.Report) deathReport {
	d := deathReport{
		DeathRow: newDeathRow(r), Started: SinceEpoch(r.Started),
		Words:  text.Cut(text.Escape(r.Words, "\n\t"), maxWords),
		Routes: make([]openRoute, 0, len(r.Routes)), Requests: []openRow{},
		LeftOut: r.LeftOut, Finished: r.Finished, Lost: r.Lost,
	}
	for _, route := range r.Routes {
		d.Routes = append(d.Routes, openRoute{Shown(route.Name), route.N, ms(route.Oldest)})
	}
	return d
}

func newOpenRow(o *blackbox.OpenRequest) openRow {
	root := o.RootSpan()
	return openRow{
		requestRow: newRequestRow(&root), In: Shown(o.In), InFor: ms(o.InFor),
		Crashed: o.Crashed, LeftOut: o.LeftOut,
	}
}
