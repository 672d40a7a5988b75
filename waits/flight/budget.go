package flight

import "time"

// A budget bounds the time spent in any minute.
type budget struct {
	limit time.Duration // per minute; negative for none
	epoch time.Time
	slots [61]struct { // one second each: any minute overlaps at most 61 seconds
		second int64 // since epoch
		spent  time.Duration
	}
}

func newBudget(share float64) budget {
	return budget{limit: time.Duration(share * float64(time.Minute)), epoch: time.Now()}
}

func (b *budget) second(now time.Time) int64 { return int64(now.Sub(b.epoch) / time.Second) }

// spend counts d, which ended now.
func (b *budget) spend(now time.Time, d time.Duration) {
	second := b.second(now)
	s := &b.slots[second%int64(len(b.slots))]
	if s.second != second {
		s.second, s.spent = second, 0
	}
	s.spent += d
}

// wait returns the time until the budget allows spending d, or with 0 until it allows spending.
func (b *budget) wait(now time.Time, d time.Duration) time.Duration {
	if b.limit < 0 {
		return 0
	}
	// The newest seconds come first: if they are within the limit, older seconds do not matter.
	second, n := b.second(now), int64(len(b.slots))
	spent := time.Duration(0)
	for at := second; at > second-n && at >= 0; at-- {
		if s := &b.slots[at%n]; s.second == at {
			spent += s.spent
		}
		if spent+max(1, d) > b.limit {
			return b.epoch.Add(time.Duration(at+n) * time.Second).Sub(now)
		}
	}
	return 0
}
