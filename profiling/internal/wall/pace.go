package wall

import "time"

// A pace finds the period that keeps ticks inside the budget.
//
// The period follows cost/budget by a quarter of the difference each tick, and one tick counts for
// at most eight times the period's cost. The first tick finds the symbols and costs far more than
// usual. It makes the period less than three times as long. Seven such ticks in a row make it a
// thousand times as long.
type pace struct {
	budget           float64 // CPU time by wall time
	interval, period time.Duration
}

// longest is the longest period, so that an engine is never taken for dead.
const longest = time.Minute

func newPace(budget float64, interval time.Duration) pace {
	return pace{budget: budget, interval: interval, period: interval}
}

// spent says what the last tick cost.
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
