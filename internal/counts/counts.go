// Package counts words perfline's own counts once: it has a table for each part of a pipeline. The
// live page, the agents' tools, the metrics and perfline.LostError read the same tables.
package counts

import (
	"strings"

	"github.com/perfline/perfline/exporter"
)

// A Table has the metrics of some parts.
type Table []Metric

// A Metric has the counts of one metric.
type Metric struct {
	Name, Unit, What string
	Key              string // the attribute with the names of rows; of a state the metric's name

	// Rows are the counts for the page. A row has the metric's name in its Group, except for what
	// waits: it is the row "pending" of "perfline.delivery.spans" there, and a metric of its own.
	// Rows without words are for the metric only. If the unit is seconds, N has nanoseconds.
	Rows []exporter.Count
}

const seconds = "s"

// Rows returns the rows for the page.
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

// A kind says how to read a number: it grows, it should be 0, or it goes up and down.
type kind int

const (
	grows kind = iota
	lost
	now
)

// metric begins a metric. Its description is what, as a sentence.
func (t *Table) metric(key, name, unit, what string) {
	what = strings.ToUpper(what[:1]) + what[1:] + "."
	*t = append(*t, Metric{Name: name, Unit: unit, What: what, Key: key})
}

// outcomes begins a metric of what became of things, to which add and lose add rows.
func (t *Table) outcomes(name, unit, what string) {
	t.metric("perfline.outcome", name, unit, what+", by outcome")
}

func (t *Table) add(name string, n uint64, what string)  { t.row(grows, "", name, n, what) }
func (t *Table) lose(name string, n uint64, what string) { t.row(lost, "", name, n, what) }

// row adds a row to the last metric.
func (t *Table) row(k kind, entry, name string, n uint64, what string) {
	m := &(*t)[len(*t)-1]
	c := exporter.Count{Group: m.Name, Kind: entry, Name: name, What: what, N: n}
	c.Lost, c.Now = k == lost, k == now
	m.Rows = append(m.Rows, c)
}

// one adds a metric that is one count.
func (t *Table) one(k kind, name, unit string, n uint64, what string) {
	t.metric("", name, unit, what)
	t.row(k, "", "", n, what)
}

// waiting adds the metric of what waits for an outcome of the metric of.
func (t *Table) waiting(of, unit string, n uint64, what string) {
	t.one(now, of+".pending", unit, n, what)
	m := &(*t)[len(*t)-1]
	m.Rows[0].Group, m.Rows[0].Name = of, "pending"
}

// state adds a metric that is 1 for the current state, and 0 for the others.
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
