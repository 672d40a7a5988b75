package timeline_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// Goroutines record marks, measures and spans before and after the end of units, keep spans of ended units for long, read,
// observe and flush, all at once. Each entry arrives once, in a part of its own unit, and no unit's view shows another's entries.
// With the race detector, storage is poisoned when it is released.
func TestUnitsHammer(t *testing.T) {
	const goroutines, rounds = 8, 40
	h := &hammer{t: t}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	h.tracing = spantest.New(rec(tl))
	h.tracing.Discard, h.tracing.Before = true, h.check
	var seen sync.Map
	obs, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			h.checkEntry(&e)
			if _, twice := seen.LoadOrStore(e.Name(), true); twice {
				t.Errorf("an observer got %q twice", e.Name())
			}
		}
	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}, MaxBuffer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range goroutines {
		spawn(&all, func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for round := range rounds {
				h.unit(r, fmt.Sprintf("%d.%d", g, round))
			}
		})
	}
	all.Wait()
	obs.Disconnect()
	flush(t, h.tracing)
	if h.spans.Load() != h.madeSpans.Load() || h.measures.Load() != h.madeMeasures.Load() {
		t.Errorf("%d spans and %d measures arrived, want %d and %d", h.spans.Load(), h.measures.Load(), h.madeSpans.Load(), h.madeMeasures.Load())
	}
	late := int64(rec(tl).UnitStats().MarksAfterEnd)
	if got := h.marks.Load() + late; got != h.madeMarks.Load() || late == 0 {
		t.Errorf("%d marks arrived and %d were late, want %d together", h.marks.Load(), late, h.madeMarks.Load())
	}
	if s := tl.Stats().Total(); int64(s.Recorded) != h.madeMarks.Load()+h.madeMeasures.Load() || s.Overflow != 0 {
		t.Errorf("stats are %+v, want %d marks and %d measures recorded", s, h.madeMarks.Load(), h.madeMeasures.Load())
	}
	if s := rec(tl).UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
		t.Errorf("stats are %+v, want nothing that waits", s)
	}
}

// A hammer counts what it makes and what arrives. The names of spans and entries begin with their unit.
type hammer struct {
	t          *testing.T
	tracing    *spantest.System
	endedSpans [4]atomic.Pointer[spantest.Span] // of ended units

	serial                             atomic.Int64
	madeSpans, madeMeasures, madeMarks atomic.Int64
	spans, measures, marks             atomic.Int64
}

func unitOf(name string) string {
	unit, _, _ := strings.Cut(name, " ")
	return unit
}

func (h *hammer) name(s *spantest.Span) string {
	return fmt.Sprint(unitOf(s.Name), " ", h.serial.Add(1))
}

func (h *hammer) mark(s *spantest.Span) {
	h.madeMarks.Add(1)
	mark(s, h.name(s), slog.String("unit", unitOf(s.Name)))
}

func (h *hammer) measure(s *spantest.Span) {
	h.madeMeasures.Add(1)
	measure(s, h.name(s), slog.String("unit", unitOf(s.Name)))
}

func (h *hammer) end(s *spantest.Span) {
	h.madeSpans.Add(1)
	s.End()
}

// unit records one unit.
func (h *hammer) unit(r *rand.Rand, name string) {
	root := h.tracing.NewRoot(name + " root")
	var children sync.WaitGroup
	for range 1 + r.IntN(3) {
		n := r.IntN(20)
		spawn(&children, func() {
			c := root.Child(h.name(root))
			for range n {
				h.mark(root)
				h.mark(c)
				h.measure(c)
			}
			h.view(root)
			h.end(c)
			h.mark(c)
		})
	}
	if r.IntN(2) == 0 {
		children.Wait() // else children end after the root
	}
	h.mark(root)
	h.end(root)
	if old := h.endedSpans[r.IntN(len(h.endedSpans))].Swap(root); old != nil {
		h.mark(old)
		h.measure(old)
		h.view(old)
		c := old.Child(h.name(old))
		h.mark(c)
		h.end(c)
	}
	if r.IntN(10) == 0 {
		flush(h.t, h.tracing)
	}
	children.Wait()
}

// view checks that a unit's view has entries of that unit only.
func (h *hammer) view(s *spantest.Span) {
	for _, e := range view(&s.Unit().Timeline).Entries() {
		h.checkEntry(&e)
		if unitOf(e.Name()) != unitOf(s.Name) {
			h.t.Errorf("the view of %q has %q", s.Name, e.Name())
		}
	}
}

func (h *hammer) checkEntry(e *observer.Entry) {
	if want := fmt.Sprintf("[unit=%s]", unitOf(e.Name())); fmt.Sprint(e.Detail()) != want {
		h.t.Errorf("%q has %v", e.Name(), e.Detail())
	}
}

// check checks that all of a part is of one unit, and stays so while it is read.
func (h *hammer) check(f *record.Finished) {
	read := spantest.Read(f)
	runtime.Gosched() // others use storage again meanwhile, if they can
	again := spantest.Read(f)
	if !reflect.DeepEqual(read, again) {
		h.t.Errorf("a part changed while it was read: %v became %v", read, again)
	}
	unit := unitOf(read[0].Name())
	for i := range read {
		r := &read[i]
		h.checkUnit(unit, r.Name(), r.Attrs, !r.IsSpan)
		if r.IsSpan {
			h.spans.Add(1)
		} else {
			h.measures.Add(1)
		}
		for _, m := range r.Marks {
			h.marks.Add(1)
			h.checkUnit(unit, m.Name, m.Attrs, true)
		}
	}
}

func (h *hammer) checkUnit(unit, name, attrs string, entry bool) {
	if unitOf(name) != unit || entry && attrs != "[unit="+unit+"]" {
		h.t.Errorf("a part of unit %s has %q with %s", unit, name, attrs)
	}
}
