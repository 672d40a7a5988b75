package runtimestats

import (
	"cmp"
	"math"
	"slices"

	"github.com/perfline/perfline/exporter"
)

const (
	maxLosses = 8   // causes of losses in a sample
	maxCauses = 256 // causes with a count of their own
)

// The groups of the counts with a field of their own in a sample.
const (
	entriesGroup  = "perfline.entries"
	deliveryGroup = "perfline.delivery.spans"
)

// A counter reads perfline's own counts, and stores the counts of the previous sample.
type counter struct {
	counts func() []exporter.Count

	before totals
	lost   map[cause]uint64 // so far; the zero cause counts all causes beyond maxCauses
	losses []Loss           // reused memory for the losses of a sample
}

type totals struct{ recorded, accepted, delivered float64 }

type cause struct{ group, kind, name string }

// read sets perfline's figures of a sample, and returns the losses. The next call reuses the slice.
func (c *counter) read(s *Sample) []Loss {
	s.Recorded, s.Accepted, s.Delivered, s.Pending = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if c.counts == nil {
		return nil
	}
	first := c.lost == nil
	if first {
		c.lost = map[cause]uint64{}
		c.before = totals{math.NaN(), math.NaN(), math.NaN()}
	}
	now := totals{0, math.NaN(), math.NaN()}
	c.losses = c.losses[:0]
	others := uint64(0)
	for _, count := range c.counts() {
		switch {
		case count.Group == entriesGroup && count.Name == "recorded":
			now.recorded += float64(count.N)
		case count.Group == deliveryGroup && count.Name == "accepted":
			now.accepted = float64(count.N)
		case count.Group == deliveryGroup && count.Name == "delivered":
			now.delivered = float64(count.N)
		case count.Group == deliveryGroup && count.Name == "pending":
			s.Pending = float64(count.N)
		}
		if !count.Lost || count.N == 0 {
			continue
		}
		s.LostInAll += count.N
		if n, ok := c.growth(count); !ok {
			others += count.N
		} else if n > 0 && !first {
			c.losses = append(c.losses, Loss{count.Group, count.Kind, count.Name, count.What, n})
			s.Lost += n
		}
	}
	if before := c.lost[cause{}]; others > before {
		c.lost[cause{}] = others
		if !first {
			s.Lost += others - before
		}
	}
	seconds := s.Interval.Seconds()
	s.Recorded = rate(now.recorded-c.before.recorded, seconds)
	s.Accepted = rate(now.accepted-c.before.accepted, seconds)
	s.Delivered = rate(now.delivered-c.before.delivered, seconds)
	c.before = now
	slices.SortFunc(c.losses, func(a, b Loss) int { return cmp.Compare(b.N, a.N) })
	return c.losses[:min(len(c.losses), maxLosses)]
}

// growth returns the growth of a count of losses since the previous sample. growth returns false
// for causes beyond maxCauses.
func (c *counter) growth(count exporter.Count) (n uint64, ok bool) {
	key := cause{count.Group, count.Kind, count.Name}
	before, ok := c.lost[key]
	if !ok && len(c.lost) >= maxCauses {
		return 0, false
	}
	if count.N != before {
		c.lost[key] = count.N
	}
	return count.N - min(count.N, before), true
}
