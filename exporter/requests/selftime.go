package requests

import (
	"cmp"
	"slices"
	"time"
)

// selfTimes returns the self time of each row in nanoseconds: see Compare. It is exact while one span at a time is open without a
// span below it.
func selfTimes(q Request, rows []Row) []float64 {
	type edge struct {
		at  time.Duration
		row int
	}
	parents := make([]int, len(rows))
	var above []int
	var starts, ends []edge
	total := max(0, q.Duration())
	within := func(t time.Time) time.Duration { return max(0, min(total, t.Sub(q.Root.Start))) }
	for i, r := range rows {
		above = append(above[:r.Depth], i)
		parents[i] = -1
		if r.Depth > 0 {
			parents[i] = above[r.Depth-1]
		}
		if start, end := within(r.Span.Start), within(r.Span.End); end > start {
			starts, ends = append(starts, edge{start, i}), append(ends, edge{end, i})
		}
	}
	byTime := func(a, b edge) int { return cmp.Compare(a.at, b.at) }
	slices.SortStableFunc(starts, byTime)
	slices.SortStableFunc(ends, byTime)

	m := meter{parents: parents, open: make([]bool, len(rows)), below: make([]int, len(rows)), since: make([]float64, len(rows)), selves: make([]float64, len(rows))}
	for len(ends) > 0 {
		from := &ends
		starting := len(starts) > 0 && starts[0].at < ends[0].at
		if starting {
			from = &starts
		}
		m.pass((*from)[0].at)
		m.set((*from)[0].row, starting)
		*from = (*from)[1:]
	}
	return m.selves
}

// A meter divides time among the open spans that have no open span below them. It sums up the share that such a span would have had since
// the beginning. So the cost of a moment does not depend on the number of spans that share it.
type meter struct {
	parents []int // -1 of the root
	open    []bool
	below   []int // children that are open, or have an open span below them

	last     time.Duration
	share    float64
	counting int       // spans
	since    []float64 // share at which the span began to count
	selves   []float64
}

// pass lets the time until then pass.
func (m *meter) pass(until time.Duration) {
	if m.counting > 0 {
		m.share += float64(until-m.last) / float64(m.counting)
	}
	m.last = until
}

// set opens or closes a span.
func (m *meter) set(i int, open bool) {
	counted, active := m.counts(i), m.active(i)
	m.open[i] = open
	for {
		switch {
		case m.counts(i) && !counted:
			m.counting++
			m.since[i] = m.share
		case !m.counts(i) && counted:
			m.counting--
			m.selves[i] += m.share - m.since[i]
		}
		parent := m.parents[i]
		if m.active(i) == active || parent < 0 {
			return
		}
		counted, active = m.counts(parent), m.active(parent)
		if m.active(i) {
			m.below[parent]++
		} else {
			m.below[parent]--
		}
		i = parent
	}
}

func (m *meter) counts(i int) bool { return m.open[i] && m.below[i] == 0 }
func (m *meter) active(i int) bool { return m.open[i] || m.below[i] > 0 }
