package routes

import (
	"cmp"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/local"
)

// A Window is the period that a report covers.
type Window uint8

// The windows.
const (
	SinceStart Window = iota // since NewTable
	// LastMinutes covers the last 29 columns of ten seconds and the present column: almost five
	// minutes.
	LastMinutes
)

// A Report contains the summaries of all routes with requests in a window.
type Report struct {
	Start, End time.Time // End is the time of the report
	Routes     []Summary // by class, and then by falling Count
}

// A Summary contains the counts and durations of a route's requests in a window.
type Summary struct {
	Route              string
	Class              local.Class
	Count, Failed      uint64
	PerSecond          float64
	P50, P95, P99, Max time.Duration
}

// Summaries returns a summary of each route with requests in the window.
func (t *Table) Summaries(w Window) Report {
	t.onRead.Call()
	c := t.readClock()
	report := Report{Start: c.start(w), End: c.now.Round(0)}
	for class := range local.Class(local.Classes) {
		t.classes[class].each(func(name string, r *route) {
			r.mu.Lock()
			r.advance(c.column)
			all := r.sum(w)
			r.mu.Unlock()
			s := Summary{Route: name, Class: class}
			if s.fill(&all, report.End.Sub(report.Start)); s.Count > 0 {
				report.Routes = append(report.Routes, s)
			}
		})
	}
	slices.SortFunc(report.Routes, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Route, b.Route))
	})
	return report
}

// fill sets the counts and durations to those of a column. took is the column's period.
func (s *Summary) fill(all *column, took time.Duration) {
	s.Count, s.Failed, s.Max = all.total(), all.failed, all.max
	s.P50, s.P95, s.P99 = all.quantile(0.50), all.quantile(0.95), all.quantile(0.99)
	if seconds := took.Seconds(); seconds > 0 {
		s.PerSecond = float64(s.Count) / seconds
	}
}

// A clock is the time at which a report reads a table.
type clock struct {
	table  *Table
	now    time.Time
	column int           // the number of the column that contains now
	ahead  time.Duration // the system's clock was set forward since NewTable, in whole seconds
}

func (t *Table) readClock() clock {
	now := time.Now()
	ahead := now.Round(0).Sub(t.origin.Round(0)) - now.Sub(t.origin)
	return clock{t, now, t.columnAt(now), ahead.Round(time.Second)}
}

// columnStart returns when a column began, by the system's clock as it is now.
func (c *clock) columnStart(column int) time.Time {
	return c.table.origin.Add(time.Duration(column)*columnStep + c.ahead).Round(0)
}

// start returns when a window began, which is not before the table's start.
func (c *clock) start(w Window) time.Time {
	if first := c.column - minuteColumns + 1; w == LastMinutes && first > 0 {
		return c.columnStart(first)
	}
	return c.table.start.Add(c.ahead).Round(0)
}
