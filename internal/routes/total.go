package routes

import (
	"time"

	"github.com/perfline/perfline/internal/local"
)

// Total returns the figures and the heat map of all routes of a class together, [Others] included.
func (t *Table) Total(class local.Class, w Window) (Summary, HeatMap) {
	t.onRead.Call()
	s := Summary{Class: min(class, local.Housekeeping)}
	c := t.readClock()
	x := newAxis(w, c.column)
	columns := make([]column, x.columns)
	t.classes[s.Class].each(func(_ string, r *route) {
		r.visit(w, c.column,
			func(number int, some *column) { columns[x.index(number)].merge(some) })
	})
	var all column
	for i := range columns {
		all.merge(&columns[i])
	}
	s.fill(&all, c.now.Sub(c.start(w)))
	return s, newHeatMap(c.columnStart(x.first), columnStep<<x.merged, columns)
}

// A Line has the requests of a route in each column of a window, the oldest first. The heat map has
// the same columns.
type Line []LineColumn

// A LineColumn counts the requests that ended in a column's time.
type LineColumn struct{ Count, Failed uint64 }

// Lines returns the line of each route of a class that had requests in a window.
func (t *Table) Lines(class local.Class, w Window) map[string]Line {
	t.onRead.Call()
	now := t.now()
	x := newAxis(w, now)
	lines := map[string]Line{}
	t.classes[min(class, local.Housekeeping)].each(func(name string, r *route) {
		r.visit(w, now, func(number int, some *column) {
			line := lines[name]
			if line == nil {
				line = make(Line, x.columns)
				lines[name] = line
			}
			to := &line[x.index(number)]
			to.Count += some.total()
			to.Failed += some.failed
		})
	})
	return lines
}

// each calls do for each route, and for the others.
func (c *classTable) each(do func(name string, r *route)) {
	for name, r := range *c.routes.Load() {
		do(name, r)
	}
	do(Others, &c.others)
}

// visit calls do for each column with requests of a window that ends with the column now. The
// column is do's only during the call.
func (r *route) visit(w Window, now int, do func(number int, some *column)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reach(now)
	unpack := func(number int, p packed) {
		if len(p) == 0 {
			return
		}
		var some column
		p.addTo(&some)
		do(number, &some)
	}
	if w == LastMinutes {
		for i := max(0, r.at-minuteColumns+1); i < r.at; i++ {
			unpack(i, r.minutes[i%minuteColumns])
		}
	} else {
		for i, p := range r.start {
			unpack(i<<r.merged, p)
		}
	}
	if r.open != (column{}) {
		do(r.at, &r.open)
	}
}

// An axis is the time of a window that several routes share.
type axis struct {
	first   int // the number of the first column
	merged  int // a column of the axis has 1<<merged columns of columnStep
	columns int
}

func newAxis(w Window, now int) (x axis) {
	if w == LastMinutes {
		x.first = max(0, now-minuteColumns+1)
	} else {
		for now>>x.merged >= maxColumns {
			x.merged++
		}
	}
	x.columns = (now-x.first)>>x.merged + 1
	return x
}

// index returns the column of the axis that has the column with a number. A route may be a column
// ahead of the clock, or behind: that column counts at the end, or at the beginning.
func (x axis) index(number int) int {
	return min(max(0, number-x.first)>>x.merged, x.columns-1)
}

// fill sets the figures of the requests of all in a time.
func (s *Summary) fill(all *column, took time.Duration) {
	s.Count, s.Failed, s.Max = all.total(), all.failed, all.max
	s.P50, s.P95, s.P99 = all.quantile(0.50), all.quantile(0.95), all.quantile(0.99)
	if seconds := took.Seconds(); seconds > 0 {
		s.PerSecond = float64(s.Count) / seconds
	}
}

// Names returns the names of the routes of a class, [Others] included, in no order.
func (t *Table) Names(class local.Class) (names []string) {
	t.onRead.Call()
	t.classes[min(class, local.Housekeeping)].each(
		func(name string, _ *route) { names = append(names, name) })
	return names
}
