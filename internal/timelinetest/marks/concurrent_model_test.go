package marks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Several goroutines make random calls on one process timeline and on requests of their
// own. Each uses names of its own, so it must see the same as a sequential program.
// Reading, clearing, measuring, taking records and callbacks show everything that the
// goroutine did before, in its order.
func TestConcurrentlyAgainstAModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for round := range 4 {
		o := observer.TimelineOptions{BufferSize: 1 << 20, Interval: 100 * time.Microsecond}
		calls := round%2 == 1
		if !calls { // else what a callback gets would be missing from TakeRecords
			o.Scheduler = func(func()) {}
		}
		tl := observer.NewTimeline(o)
		var wg sync.WaitGroup
		for g := range 8 {
			spawn(&wg, func() {
				s := seed + uint64(round*8+g)
				p := &player{t: t, rand: rand.New(rand.NewPCG(s, 0)), prefix: fmt.Sprintf("%d-", g), seed: s, calls: calls, tl: tl, latest: map[string]time.Duration{}}
				if g%2 == 1 {
					p.tl = tl.NewChild()
					defer p.tl.Close()
				}
				p.ctx = observer.NewContext(context.Background(), p.tl)
				for range 300 {
					p.step()
				}
			})
		}
		wg.Wait()
	}
}

// A player is one goroutine and what it knows to be true.
type player struct {
	t      *testing.T
	rand   *rand.Rand
	seed   uint64
	prefix string
	tl     *observer.Timeline
	ctx    context.Context

	buffered []modelled               // in the buffer
	latest   map[string]time.Duration // of marks
	calls    bool                     // obs is called; else its records are taken
	obs      *observer.Observer
	wants    observer.Type
	mu       sync.Mutex // guards called
	called   []modelled // what obs was called with
	queued   []modelled // for obs
	serial   int
}

type modelled struct {
	typ  observer.Type
	name string
	id   int
}

func (p *player) failf(format string, args ...any) {
	p.t.Errorf("seed %d: %s", p.seed, fmt.Sprintf(format, args...))
}

func (p *player) step() {
	name := p.prefix + string('a'+rune(p.rand.IntN(3)))
	switch p.rand.IntN(10) {
	case 0, 1, 2:
		p.serial++
		m, err := marks.MarkAt(p.ctx, name, time.Duration(p.serial))
		if err != nil {
			p.failf("MarkAt: %v", err)
		}
		p.latest[name] = m.StartTime()
		p.recorded(modelled{observer.Mark, name, p.serial})
	case 3:
		p.measure(name)
	case 4:
		marks.ClearMarks(p.ctx, name)
		delete(p.latest, name)
		p.buffered = slices.DeleteFunc(p.buffered, func(m modelled) bool { return m.typ == observer.Mark && m.name == name })
	case 5:
		marks.ClearMeasures(p.ctx, name)
		p.buffered = slices.DeleteFunc(p.buffered, func(m modelled) bool { return m.typ == observer.Measure && m.name == name })
	case 6:
		p.observe()
	case 7:
		if p.obs != nil {
			p.take() // what a callback is about to get cannot be taken back
			p.obs.Disconnect()
			if got := p.own(p.obs.TakeRecords()); len(got) > 0 {
				p.failf("after Disconnect it still holds %v", got)
			}
			p.obs, p.queued = nil, nil
		}
	case 8:
		p.take()
	default:
		got := p.own(p.tl.Entries())
		want := slices.Clone(p.buffered)
		slices.SortStableFunc(want, func(a, b modelled) int { return a.id - b.id })
		if !slices.Equal(got, want) {
			p.failf("Entries gives %v, want %v", got, want)
		}
	}
}

func (p *player) recorded(m modelled) {
	p.buffered = append(p.buffered, m)
	if p.obs != nil && p.wants == m.typ {
		p.queued = append(p.queued, m)
	}
}

func (p *player) measure(name string) {
	p.serial++
	length := time.Duration(p.serial)
	m, err := marks.Measure(p.ctx, name, marks.MeasureOptions{Start: marks.Named(name), Duration: &length})
	at, marked := p.latest[name]
	switch {
	case !marked && !errors.Is(err, marks.ErrNoMark):
		p.failf("Measure from %q, which was cleared or never marked: %v", name, err)
	case marked && (err != nil || m.StartTime() != at):
		p.failf("Measure from %q begins at %v, %v, want %v", name, m.StartTime(), err, at)
	case marked:
		p.recorded(modelled{observer.Measure, name, int(at)})
	}
}

func (p *player) observe() {
	if p.obs != nil {
		return
	}
	p.wants = []observer.Type{observer.Mark, observer.Measure}[p.rand.IntN(2)]
	p.mu.Lock()
	p.called = nil // a callback of the last observer may still run, with others' names
	p.mu.Unlock()
	obs, err := p.tl.Observe(func(l observer.List) {
		// In the order of queueing, which a List does not tell: by one goroutine,
		// times grow with it, but for measures from older marks.
		got := p.own(l.Entries())
		p.mu.Lock()
		defer p.mu.Unlock()
		p.called = append(p.called, got...)
	}, observer.Options{Type: p.wants, MaxBuffer: 1 << 20})
	if err != nil {
		p.failf("Observe: %v", err)
		return
	}
	p.obs = obs
}

// take compares what the observer has got with what it must have.
func (p *player) take() {
	if p.obs == nil {
		return
	}
	var got []modelled
	if p.calls {
		p.tl.Deliver()
		p.mu.Lock()
		got, p.called = p.called, nil
		p.mu.Unlock()
		for _, s := range [][]modelled{got, p.queued} {
			slices.SortStableFunc(s, func(a, b modelled) int { return a.id - b.id })
		}
	} else {
		got = p.own(p.obs.TakeRecords())
	}
	if !slices.Equal(got, p.queued) {
		p.failf("the observer got %v, want %v (called: %v)", got, p.queued, p.calls)
	}
	p.queued = nil
}

// own returns the entries with this goroutine's names. Their starts identify them.
func (p *player) own(entries []observer.Entry) (out []modelled) {
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), p.prefix) {
			out = append(out, modelled{e.Type(), e.Name(), int(e.StartTime())})
		}
	}
	return out
}
