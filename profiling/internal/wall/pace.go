package wall

import "time"

// A pace finds the period that keeps ticks inside the budget.
//
// Each tick moves the period by a quarter of its distance to cost/budget. A tick counts for at most
// eight times the period's cost. The first tick finds the symbols and costs far more than usual: it
// makes the period less than three times as long. Seven such ticks in a row make the period a
// thousand times as long.
type pace struct {
	budget           float64 // CPU time by wall time
	interval, period time.Duration
}

// longest bounds the period, so that the engine does not seem to be dead.
const longest = time.Minute

func newPace(budget float64, interval time.Duration) pace {
	return pace{budget: budget, interval: interval, period: interval}
}

// spent adjusts the period to the cost of the last tick.
func (p *pace) spent(cost time.Duration) {
	limit := max(p.interval, longest)
	if p.period < limit/8 {
		limit = 8 * p.period
	}
	want := p.interval
	if inside := float64(cost) / p.budget; inside >= float64(limit) {
		want = limit
	} else {
		want = max(want, time.Duration(inside))
	}
	p.period += (want - p.period) / 4
}
