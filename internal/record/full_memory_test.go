package record

import (
	"testing"
	"time"
)

// What the balance of marks found, in few steps each.
func TestMarksAtFullMemory(t *testing.T) {
	fill := func(b *balance) { b.others(forAll, 0) }
	refuse := func(b *balance, u *balanceUnit) { // a span with marks
		s := b.span(u, u.root.name+" span")
		for range 20 {
			b.mark(s, 0)
		}
		fill(b)
		s.size = 6 << 10
		b.endSpan(s)
	}
	for _, c := range []struct {
		name      string
		undecided bool
		taken     MarksTaken
		steps     func(*balance, *balanceUnit)
		want      UnitStats
	}{
		{"a late mark", false, NoMarks, func(b *balance, u *balanceUnit) {
			s := b.span(u, u.root.name+" span")
			b.endSpan(s)
			b.handOver(u, causeFlush)
			fill(b)
			b.mark(s, 0)
		}, UnitStats{MarksAfterEnd: 1}},
		{"a mark of an open span", false, NoMarks, func(b *balance, u *balanceUnit) {
			fill(b)
			b.mark(u.root, 0)
		}, UnitStats{MarksDropped: 1}},
		{"marks of a refused span", true, NoMarks, refuse, UnitStats{Refused: 21}},
		{"marks of a refused span that would be taken", true, AllMarks, refuse, UnitStats{Refused: 21}},
		{"marks of a refused span that are taken", true, AllMarks, func(b *balance, u *balanceUnit) {
			refuse(b, u)
			b.on(u, func() { u.Export(u.root) })
			b.ended(u)
		}, UnitStats{Refused: 1}},
		{"marks of a span that is given up", true, NoMarks, func(b *balance, u *balanceUnit) {
			s := b.span(u, u.root.name+" span")
			b.mark(s, 0)
			b.endSpan(s)
			b.handOver(u, causeAbandon)
		}, UnitStats{Refused: 2}},
		{"marks of a refused span that is given up", true, AllMarks, func(b *balance, u *balanceUnit) {
			refuse(b, u)
			b.handOver(u, causeAbandon)
		}, UnitStats{Refused: 21}},
		{"a journal that loses all its marks", false, NoMarks, func(b *balance, u *balanceUnit) {
			b.limit = 0
			b.mark(u.root, 0)
			b.mark(u.root, 0)
			fill(b)
			b.mark(u.root, 5<<10)
			b.othersEnd()
			b.mark(u.root, 0)
			if s := b.tl.UnitStats(); s.Waiting != 1 {
				b.t.Errorf("one unit is listed %d times", s.Waiting)
			}
		}, UnitStats{MarksOverLimit: 2, MarksDropped: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBalance(t, new(choices))
			b.taken = c.taken
			u := b.units[0]
			u.Unit = new(Unit)
			b.tl.InitUnit(u.Unit, time.Now(), b, c.undecided)
			c.steps(b, u)
			if !u.root.ended {
				b.on(u, func() { u.End(u.root) })
				b.ended(u)
			}
			b.endAll()
			b.check()
			if u.lost != c.want {
				t.Errorf("the counts are %+v, want %+v", u.lost, c.want)
			}
		})
	}
}
