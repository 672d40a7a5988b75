package record

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// In any order of starts, ends, marks, measures and hand-overs, with any room in the budgets, each mark is in one place: it is an event of its span,
// or the receiver took it by itself, or one count has it. Nothing of a discarded unit is handed over. At the end, all bytes are given back.
//
// The bytes of the fuzzer are the choices of a program. Module observer needs the standard library only, so rapid does not choose.
func FuzzMarksBalance(f *testing.F) {
	for seed := range uint64(1000) {
		random := rand.New(rand.NewPCG(seed, 0))
		program := make([]byte, 20+random.IntN(600))
		for i := range program {
			program[i] = byte(random.IntN(256))
		}
		f.Add(program)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		b := newBalance(t, &choices{program})
		for len(b.left) > 0 {
			b.step()
		}
		b.endAll()
		b.check()
	})
}

// choices are what a program decides. When they are used up, each choice is the first one.
type choices struct{ left []byte }

func (c *choices) below(n int) int {
	if len(c.left) == 0 {
		return 0
	}
	x := int(c.left[0])
	c.left = c.left[1:]
	return x % n
}

func oneOf[T any](c *choices, all ...T) T { return all[c.below(len(all))] }

// A balance is a process timeline, the units of a program, and what must have become of each mark.
type balance struct {
	t *testing.T
	*choices
	tl       *Timeline
	us       *units
	limit    int
	taken    MarksTaken
	units    []*balanceUnit
	spans    []*balanceSpan
	serial   int
	giveBack []func() // the bytes that others have
}

type balanceUnit struct {
	*Unit
	root      *balanceSpan
	ended     bool
	discarded bool
	marks     int
	finished  int // spans and measures
	came      int // of these
	arrived   map[string]bool
	events    map[string]bool
	lost      UnitStats // what the counts grew by
}

// A balanceSpan is a span of a unit.
type balanceSpan struct {
	unit   *balanceUnit
	name   string
	size   int
	marks  SpanMarks
	ended  bool
	before int // marks before its end
}

func (s *balanceSpan) IDs() SpanIDs          { return SpanIDs{} }
func (s *balanceSpan) Marks() *SpanMarks     { return &s.marks }
func (s *balanceSpan) Size() int             { return s.size }
func (s *balanceSpan) Describe() Description { return Description{Name: s.name} }

func newBalance(t *testing.T, c *choices) *balance {
	b := &balance{t: t, choices: c, tl: NewTimeline(TimelineOptions{})}
	b.us = &b.tl.root.units
	b.limit, b.taken = oneOf(c, 128, -1, 0, 1, 5), oneOf(c, NoMarks, LateMarks, AllMarks)
	for _, timer := range []**time.Timer{&b.us.timer, &b.us.endedTimer} { // the program hands over
		*timer = time.AfterFunc(0, func() {})
	}
	b.begin()
	return b
}

// MarkLimit implements [Receiver].
func (b *balance) MarkLimit() int { return b.limit }

// TakesMarks implements [Receiver].
func (b *balance) TakesMarks() MarksTaken { return b.taken }

// HandOver implements [Receiver].
func (b *balance) HandOver(parts []*Finished) {
	for _, f := range parts {
		for i := range f.Len() {
			if it := f.At(i); it != nil {
				b.item(f, it)
			}
			if m, under, ok := f.Mark(i); ok {
				u := under.(*balanceSpan).unit
				if u.arrived[m.Name()] {
					b.t.Errorf("the receiver took mark %s twice", m.Name())
				}
				u.arrived[m.Name()] = true
				b.checkOwn(u, m.Name())
			}
		}
	}
}

// item notes a finished span with its marks, or a measure.
func (b *balance) item(f *Finished, it *Item) {
	s := it.Span.(*balanceSpan)
	u := s.unit
	u.came++
	if u.Discarded() {
		b.t.Errorf("%s of a discarded unit was handed over", s.name)
		return
	}
	if !it.IsSpan {
		return
	}
	events := 0
	for m := f.LastMark(s); m.Valid(); m = m.Previous() {
		events++
		if m.record().span != Span(s) || u.events[m.Name()] {
			b.t.Errorf("%s has mark %s of another span, or twice", s.name, m.Name())
		}
		u.events[m.Name()] = true
		b.checkOwn(u, m.Name())
	}
	if n := s.marks.Len(); n != events {
		b.t.Errorf("%s has %d marks, and says %d", s.name, events, n)
	}
	if n := events + s.marks.Dropped(); n != s.before {
		b.t.Errorf("%s has %d marks and dropped %d, want %d together", s.name, events, s.marks.Dropped(), s.before)
	}
}

func (b *balance) checkOwn(u *balanceUnit, mark string) {
	if !strings.HasPrefix(mark, u.root.name+" ") {
		b.t.Errorf("%s has the mark %s", u.root.name, mark)
	}
}

func (b *balance) step() {
	switch u, s := b.pick(); b.below(16) {
	case 0:
		b.begin()
	case 1, 2:
		b.child(u)
	case 3, 4:
		b.mark(s, oneOf(b.choices, 0, 5<<10, 40<<10))
	case 5:
		size := oneOf(b.choices, 0, 5<<10)
		for range 1 + b.below(40) {
			b.mark(s, size)
		}
	case 6:
		b.measure(s)
	case 7, 8, 9:
		if s != u.root && !s.ended {
			b.endSpan(s)
		}
	case 10:
		if !u.root.ended {
			b.end(u)
		}
	case 11:
		b.handOver(u, oneOf(b.choices, causeFlush, causeOld, causeAbandon, causeCrowded, causeLong))
	case 12:
		b.on(u, func() { u.expire(maxUndecidedSweeps + 1) })
	case 13, 14:
		b.others(oneOf(b.choices, forAll, forUndecided), oneOf(b.choices, 0, byteStep, 16<<10))
	default:
		if b.below(2) == 0 {
			b.othersEnd()
		} else {
			b.us.deliverEnded()
		}
	}
}

func (b *balance) handOver(u *balanceUnit, why cause) {
	b.on(u, func() {
		if why == causeAbandon {
			u.abandon()
			return
		}
		u.mu.Lock()
		u.handOver(why)
	})
}

// pick returns a unit and one of its spans.
func (b *balance) pick() (*balanceUnit, *balanceSpan) {
	s := b.spans[len(b.spans)-1-b.below(min(len(b.spans), 6))]
	return s.unit, s
}

// on runs a step of a unit, whose counts have what was lost in the step.
func (b *balance) on(u *balanceUnit, step func()) {
	was := b.tl.UnitStats()
	step()
	is := b.tl.UnitStats()
	u.lost.MarksAfterEnd += is.MarksAfterEnd - was.MarksAfterEnd
	u.lost.MarksOverLimit += is.MarksOverLimit - was.MarksOverLimit
	u.lost.MarksOfOpenSpans += is.MarksOfOpenSpans - was.MarksOfOpenSpans
	u.lost.MarksDropped += is.MarksDropped - was.MarksDropped
	u.lost.MarksOnlyTaken += is.MarksOnlyTaken - was.MarksOnlyTaken
	u.lost.Refused += is.Refused - was.Refused
}

func (b *balance) begin() {
	u := &balanceUnit{Unit: new(Unit), arrived: map[string]bool{}, events: map[string]bool{}}
	b.tl.InitUnit(u.Unit, time.Now(), b, b.below(2) > 0)
	u.root = b.span(u, fmt.Sprint("unit ", len(b.units)))
	b.units = append(b.units, u)
}

func (b *balance) span(u *balanceUnit, name string) *balanceSpan {
	s := &balanceSpan{unit: u, name: name, size: oneOf(b.choices, 300, 6<<10, 20<<10)}
	b.spans = append(b.spans, s)
	return s
}

func (b *balance) child(u *balanceUnit) {
	b.serial++
	b.span(u, fmt.Sprint(u.root.name, " span ", b.serial))
}

// place is where something under a span is recorded, with attributes of some size.
func (b *balance) place(s *balanceSpan, size int) (p Place, name string, attrs []slog.Attr) {
	b.serial++
	if size > 0 {
		attrs = []slog.Attr{slog.String("text", strings.Repeat("x", size))}
	}
	return Place{Timeline: &s.unit.Timeline, Span: s, To: ToUnit, contents: size}, fmt.Sprint(s.unit.root.name, " ", b.serial), attrs
}

func (b *balance) mark(s *balanceSpan, size int) {
	p, name, attrs := b.place(s, size)
	b.on(s.unit, func() { p.record(kindMark, name, 0, 0, 0, attrs) })
	s.unit.marks++
	if !s.ended {
		s.before++
	}
}

func (b *balance) measure(s *balanceSpan) {
	p, name, attrs := b.place(s, 0)
	b.on(s.unit, func() { p.record(kindMeasure, name, 0, 0, 0, attrs) })
	s.unit.finished++
}

func (b *balance) endSpan(s *balanceSpan) {
	s.ended = true
	s.unit.finished++
	b.on(s.unit, func() { s.unit.EndSpan(s, "", nil) })
}

// end ends a unit in any way.
func (b *balance) end(u *balanceUnit) {
	how := b.below(5)
	switch tentative := u.Tentative(); {
	case tentative && how < 2 && !u.ended:
		u.discarded = true
		b.on(u, func() { u.Discard(u.root) })
	case tentative && how == 2 && !u.ended:
		b.on(u, func() { u.Export(u.root) })
	case how == 4 && !u.ended: // its root ends later
		u.ended = true
		b.on(u, u.Close)
		return
	default:
		b.on(u, func() { u.End(u.root) })
	}
	b.ended(u)
}

// ended notes that the root of a unit has ended.
func (b *balance) ended(u *balanceUnit) {
	u.ended, u.root.ended = true, true
	u.finished++
}

// others have all bytes of a budget except for some.
func (b *balance) others(of, rest int) {
	h := b.us.shards.Near()
	room := func(n int) bool { return b.us.take(h, of, n) }
	if room(rest) {
		defer b.us.give(h, of, rest)
	}
	for n := maxUnitsBytes; n > 0; n /= 2 {
		for room(n) {
			b.giveBack = append(b.giveBack, func() { b.us.give(h, of, n) })
		}
	}
}

func (b *balance) othersEnd() {
	for _, give := range b.giveBack {
		give()
	}
	b.giveBack = nil
}

// endAll ends the units, and some of the spans that are open.
func (b *balance) endAll() {
	for _, s := range slices.Backward(b.spans) {
		if !s.ended && s != s.unit.root && b.below(4) > 0 {
			b.endSpan(s)
		}
	}
	for _, u := range b.units {
		for !u.root.ended {
			b.end(u)
		}
		b.on(u, u.abandon)
	}
	b.othersEnd()
	if err := b.tl.FlushUnits(context.Background()); err != nil {
		b.t.Error(err)
	}
}

func (b *balance) check() {
	for _, u := range b.units {
		b.checkUnit(u)
	}
	room := [budgets]int64{}
	for of := range room {
		room[of] = b.us.room[of].Load()
		for i := range b.us.shards.parts {
			room[of] += b.us.shards.parts[i].spare[of].Load()
		}
	}
	if want := [budgets]int64{maxUnitsBytes, maxUndecided}; room != want {
		b.t.Errorf("at the end the budgets have %v, want %v", room, want)
	}
	if s := b.tl.UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
		b.t.Errorf("at the end %d units wait with %d bytes", s.Waiting, s.WaitingBytes)
	}
}

func (b *balance) checkUnit(u *balanceUnit) {
	l := &u.lost
	if u.discarded {
		if len(u.events) > 0 || len(u.arrived) > 0 || l.MarksAfterEnd+l.MarksOverLimit+l.MarksOfOpenSpans+l.MarksDropped+l.MarksOnlyTaken > 0 {
			b.t.Errorf("%s is discarded, and %v are events, %v were taken, %+v count", u.root.name, u.events, u.arrived, *l)
		}
		return
	}
	refused := int(u.refused) // spans and measures
	if u.came+refused != u.finished {
		b.t.Errorf("%s: %d spans and measures came and %d were refused, want %d together", u.root.name, u.came, refused, u.finished)
	}
	in, only := len(u.events), 0
	for name := range u.arrived {
		if !u.events[name] {
			only++
		}
	}
	lost := int(l.MarksAfterEnd+l.MarksOverLimit+l.MarksOfOpenSpans+l.MarksDropped+l.Refused) - refused
	if in+only+lost != u.marks {
		b.t.Errorf("%s, limit %d, takes %d, fate %d: of %d marks %d are events, %d were only taken, %d are counted; %+v with %d spans and measures",
			u.root.name, b.limit, b.taken, u.fate.Load(), u.marks, in, only, lost, *l, refused)
	}
	if int(l.MarksOnlyTaken) > only {
		b.t.Errorf("%s: %d marks count as only taken, and %d were", u.root.name, l.MarksOnlyTaken, only)
	}
}
