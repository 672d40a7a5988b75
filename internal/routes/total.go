package routes

import "github.com/perfline/perfline/internal/local"

// Total returns the summary and the heat map of all requests of a class, including [Others]. So the
// total of local.Request is the load: a call within the process is no request of its own.
func (t *Table) Total(class local.Class, w Window) (Summary, HeatMap) {
	return t.total(class, w, func(*route) bool { return true })
}

// TotalOf returns the part of the total of local.Request that consists of messages and jobs, or the
// other part, the requests. [Others] belongs to the requests.
func (t *Table) TotalOf(messages bool, w Window) (Summary, HeatMap) {
	return t.total(local.Request, w, func(r *route) bool { return r.message == messages })
}

func (t *Table) total(class local.Class, w Window, has func(*route) bool) (Summary, HeatMap) {
	t.onRead.Call()
	s := Summary{Class: min(class, local.Housekeeping)}
	c := t.readClock()
	x := newAxis(w, c.column)
	columns := make([]column, x.columns)
	t.classes[s.Class].each(func(_ string, r *route) {
		if has(r) {
			r.addTo(columns, x)
		}
	})
	var all column
	for i := range columns {
		all.merge(&columns[i])
	}
	s.fill(&all, c.now.Sub(c.start(w)))
	return s, newHeatMap(c, x, columns)
}

// A Line counts the requests of a route in each column of a window. The oldest column is first. The
// columns are the same as in the heat map.
type Line []LineColumn

// A LineColumn counts the requests that ended in the period of one column.
type LineColumn struct{ Count, Failed uint64 }

// Lines returns the line of each route with requests in the window. The keys are the routes.
func (t *Table) Lines(class local.Class, w Window) map[string]Line {
	t.onRead.Call()
	x := newAxis(w, t.now())
	lines := map[string]Line{}
	t.classes[min(class, local.Housekeeping)].each(func(name string, r *route) {
		r.visit(x, func(place int, c *column) {
			if lines[name] == nil {
				lines[name] = make(Line, x.columns)
			}
			to := &lines[name][place]
			to.Count += c.total()
			to.Failed += c.failed
		})
	})
	return lines
}

// Names returns the routes of a class, including [Others], in no particular order.
func (t *Table) Names(class local.Class) (names []string) {
	t.onRead.Call()
	t.classes[min(class, local.Housekeeping)].each(
		func(name string, _ *route) { names = append(names, name) })
	return names
}

// An axis divides a window into columns, which all routes share.
type axis struct {
	window  Window
	now     int // the number of the present column
	first   int // the number of the first column
	merged  int // a column of the axis spans 1<<merged columns of columnStep
	columns int
}

func newAxis(w Window, now int) axis {
	x := axis{window: w, now: now}
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

// place returns the column of the axis that contains the column with a number. The open column of a
// route may be later or earlier than now: then it counts in the nearest column of the axis.
func (x axis) place(number int) int {
	return min(max(0, number-x.first)>>x.merged, x.columns-1)
}
