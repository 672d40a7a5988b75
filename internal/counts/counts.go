// Package counts defines the names and words of perfline's own counts, in a table for each part of
// a pipeline. The live page, the agents' tools, the metrics and perfline.LostError read these
// tables.
package counts

import (
	"strings"

	"github.com/perfline/perfline/exporter"
)

// A Table lists the metrics of one or more parts of a pipeline.
type Table []Metric

// A Metric contains the counts of one metric.
type Metric struct {
	Name, Unit, What string
	// Key is the attribute that contains the name of a row. For a metric of states, Key is the
	// metric's name.
	Key string

	// Rows contains the counts for the page. The page omits rows with an empty What. If Unit is
	// seconds, N counts nanoseconds.
	//
	// The Group of a row is usually the metric's name. A metric of pending items is an exception.
	// The name of the row is "pending", and Group names another metric, such as
	// perfline.delivery.spans.
	Rows []exporter.Count
}

const seconds = "s"

// Rows returns the rows that the page shows.
func (t Table) Rows() (all []exporter.Count) {
	for _, m := range t {
		for _, c := range m.Rows {
			if c.What != "" {
				all = append(all, c)
			}
		}
	}
	return all
}

// A kind is the meaning of a number: growing, data that was lost, or going up and down. A bound
// that works as documented loses nothing. A loss has one name.
type kind int

const (
	grows kind = iota
	lost
	now
)

func (t *Table) metric(key, name, unit, what string) {
	what = strings.ToUpper(what[:1]) + what[1:] + "."
	*t = append(*t, Metric{Name: name, Unit: unit, What: what, Key: key})
}

// outcomes begins a metric of outcomes. add and lose append its rows.
func (t *Table) outcomes(name, unit, what string) {
	t.metric("perfline.outcome", name, unit, what+", by outcome")
}

func (t *Table) add(name string, n uint64, what string)  { t.row(grows, "", name, n, what) }
func (t *Table) lose(name string, n uint64, what string) { t.row(lost, "", name, n, what) }

func (t *Table) row(k kind, entry, name string, n uint64, what string) {
	m := &(*t)[len(*t)-1]
	m.Rows = append(m.Rows, exporter.Count{Group: m.Name, Kind: entry, Name: name, What: what, N: n,
		Lost: k == lost, Now: k == now})
}

func (t *Table) one(k kind, name, unit string, n uint64, what string) {
	t.metric("", name, unit, what)
	t.row(k, "", "", n, what)
}

// pending appends the metric of items that wait for an outcome in the group.
func (t *Table) pending(group, unit string, n uint64, what string) {
	t.one(now, group+".pending", unit, n, what)
	m := &(*t)[len(*t)-1]
	m.Rows[0].Group, m.Rows[0].Name = group, "pending"
}

// state appends a metric with 1 for the current state, and 0 for the other states.
func state[S ~string](t *Table, name, what string, current S, all ...S) {
	t.metric(name, name, "1", what)
	for _, s := range all {
		n := uint64(0)
		if s == current {
			n = 1
		}
		t.row(now, "", string(s), n, "")
	}
}
