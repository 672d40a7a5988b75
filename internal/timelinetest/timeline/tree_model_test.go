package timeline_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// defaultMaxBuffer is what a zero observer.Options.MaxBuffer means.
const defaultMaxBuffer = 16_384

// A treeModel says, sequentially and without buffers, what a process timeline,
// its current request and an observer of each must answer. Entries are known by
// their ids, which are also the times at which they start.
type treeModel struct {
	limit   int
	stats   map[observer.Type]observer.TypeStats
	process modelLine
	request modelLine
}

type modelLine struct {
	origin int
	closed bool
	log    []modelEntry
	full   map[observer.Type]uint64
	latest map[string]int
	obs    modelObserver
}

type modelEntry struct {
	id   int
	typ  observer.Type
	name string
}

type modelObserver struct {
	types      map[observer.Type]bool // empty: not registered
	max        int
	pending    []modelEntry
	needsDrops bool
}

func (m *treeModel) count(typ observer.Type, f func(*observer.TypeStats)) {
	s := m.stats[typ]
	f(&s)
	m.stats[typ] = s
}

func (m *treeModel) offer(o *modelObserver, e modelEntry) {
	if !o.types[e.typ] {
		return
	}
	if len(o.pending) >= o.max {
		m.count(e.typ, func(s *observer.TypeStats) { s.ObserverFull++ })
		return
	}
	o.pending = append(o.pending, e)
}

func (m *treeModel) add(on *modelLine, e modelEntry) {
	m.count(e.typ, func(s *observer.TypeStats) { s.Recorded++ })
	if e.typ == observer.Mark && !on.closed {
		on.latest[e.name] = e.id
	}
	total := 0
	for _, k := range on.log {
		if k.typ == e.typ {
			total++
		}
	}
	switch {
	case on.closed:
	case total < m.limit:
		on.log = append(on.log, e)
	default:
		on.full[e.typ]++
		m.count(e.typ, func(s *observer.TypeStats) { s.BufferFull++ })
	}
	if on == &m.request {
		m.offer(&m.request.obs, e)
	}
	m.offer(&m.process.obs, e)
}

// deliver is what the observer of on is called with, if it is called.
func (m *treeModel) deliver(on *modelLine) (call string) {
	o := &on.obs
	if len(o.pending) == 0 {
		return ""
	}
	// PT-33: by start; what Buffered brought a second time is next to the first.
	slices.SortStableFunc(o.pending, func(a, b modelEntry) int { return cmp.Compare(a.id, b.id) })
	for _, e := range o.pending {
		m.count(e.typ, func(s *observer.TypeStats) { s.Delivered++ })
		call += fmt.Sprintf(" %s %q at %d", e.typ, e.name, e.id-on.origin) //nolint:perfsprint // a handful, for a message
	}
	o.pending = nil
	if o.needsDrops {
		o.needsDrops = false
		var n uint64
		for typ := range o.types {
			n += on.full[typ]
		}
		call += fmt.Sprintf(" dropped %d", n)
	}
	return call + ";"
}

func newModelLine(origin int) modelLine {
	return modelLine{origin: origin, full: map[observer.Type]uint64{}, latest: map[string]int{}}
}

// Random operations on a process and its requests give what the model gives. It
// collects before it closes a timeline; TestCloseDelivers has the other case.
func TestTreeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(2, 6).Draw(t, "limit")
		tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize, o.ChildBufferSize = limit, limit })
		m := &treeModel{limit: limit, stats: map[observer.Type]observer.TypeStats{}, process: newModelLine(0)}
		var calls, wantCalls [2]string
		callback := func(i int) func(observer.List) {
			return func(l observer.List) {
				for _, e := range l.Entries() {
					calls[i] += fmt.Sprintf(" %s %q at %d", e.Type(), e.Name(), e.StartTime())
				}
				if n, ok := l.Dropped(); ok {
					calls[i] += fmt.Sprintf(" dropped %d", n)
				}
				calls[i] += ";"
			}
		}
		id := 0
		tick := func() {
			id++
			tl.now = time.Duration(id)
		}
		// The process's observer names Types and takes all; the request's names one
		// Type after another, and its buffer is small.
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		observers := make([]*observer.Observer, 2)
		var child *observer.Timeline
		open := func() {
			tick()
			child = tl.NewChild()
			m.request = newModelLine(id)
			var err error
			observers[1], err = child.Observe(callback(1), observer.Options{Type: observer.Mark, MaxBuffer: 3})
			must(err)
			m.request.obs = modelObserver{types: map[observer.Type]bool{observer.Mark: true}, max: 3, needsDrops: true}
		}
		var err error
		observers[0], err = tl.Observe(callback(0), both)
		must(err)
		bothTypes := map[observer.Type]bool{observer.Mark: true, observer.Measure: true}
		m.process.obs = modelObserver{types: bothTypes, max: defaultMaxBuffer, needsDrops: true}
		open()
		drawName := rapid.SampledFrom([]string{"a", "b", "c"})
		drawType := rapid.SampledFrom([]observer.Type{observer.Mark, observer.Measure, observer.Resource})
		pick := func(t *rapid.T) (int, *observer.Timeline, *modelLine) {
			if rapid.Bool().Draw(t, "on the request") {
				return 1, child, &m.request
			}
			return 0, tl.Timeline, &m.process
		}
		ids := func(entries []observer.Entry, origin int) (out []int) {
			for _, e := range entries {
				out = append(out, int(e.StartTime())+origin)
			}
			return out
		}
		modelIDs := func(entries []modelEntry) (out []int) {
			for _, e := range entries {
				out = append(out, e.id)
			}
			return out
		}
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				_, on, line := pick(t)
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					tick()
					e := modelEntry{id, drawType.Draw(t, "type"), drawName.Draw(t, "name")}
					if !rec(on).Record(record.Type(e.typ), e.name, on.Now(), 0, nil) {
						t.Fatal("refused")
					}
					m.add(line, e)
				}
			},
			"run": func(*rapid.T) {
				tl.run()
				wantCalls[0] += m.deliver(&m.process)
				wantCalls[1] += m.deliver(&m.request)
			},
			"flush": func(*rapid.T) { rec(child).Flush() },
			"clear": func(t *rapid.T) {
				_, on, line := pick(t)
				typ, name, all := drawType.Draw(t, "type"), drawName.Draw(t, "name"), rapid.Bool().Draw(t, "all")
				var which []string
				if !all {
					which = []string{name}
				}
				gone := func(e modelEntry) bool { return e.typ == typ && (all || e.name == name) }
				before := len(line.log)
				if line.closed {
					return
				}
				line.log = slices.DeleteFunc(line.log, gone)
				if n := rec(on).Clear(record.Type(typ), which...); n != before-len(line.log) {
					t.Fatalf("cleared %d, want %d", n, before-len(line.log))
				}
				for n := range line.latest {
					if gone(modelEntry{typ: typ, name: n}) && typ == observer.Mark {
						delete(line.latest, n)
					}
				}
			},
			"take": func(t *rapid.T) {
				i, _, line := pick(t)
				got := observers[i].TakeRecords()
				if i == 0 { // the order between timelines is TestOrderAcrossTimelines's
					slices.SortFunc(got, func(a, b observer.Entry) int { return cmp.Compare(a.StartTime(), b.StartTime()) })
				}
				if g, w := fmt.Sprint(ids(got, line.origin)), fmt.Sprint(modelIDs(line.obs.pending)); g != w {
					t.Fatalf("TakeRecords gave %s, want %s", g, w)
				}
				line.obs.pending = nil
			},
			"disconnect": func(t *rapid.T) {
				i, _, line := pick(t)
				observers[i].Disconnect()
				line.obs = modelObserver{max: line.obs.max}
			},
			"observe the process": func(*rapid.T) {
				must(observers[0].Observe(both))
				m.process.obs.types, m.process.obs.max, m.process.obs.needsDrops = bothTypes, defaultMaxBuffer, true
			},
			"observe the request": func(t *rapid.T) {
				if m.request.closed {
					return
				}
				typ, buffered, o := drawType.Draw(t, "type"), rapid.Bool().Draw(t, "buffered"), &m.request.obs
				must(observers[1].Observe(observer.Options{Type: typ, Buffered: buffered, MaxBuffer: 3}))
				if o.types == nil {
					o.types = map[observer.Type]bool{}
				}
				o.types[typ], o.max, o.needsDrops = true, 3, true
				for _, e := range m.request.log {
					if buffered && e.typ == typ {
						m.offer(o, e)
					}
				}
			},
			"close and open": func(*rapid.T) {
				tl.run() // a closed timeline's dropped count is TestCloseDelivers's
				wantCalls[0] += m.deliver(&m.process)
				wantCalls[1] += m.deliver(&m.request)
				child.Close()
				m.request.closed, m.request.obs = true, modelObserver{}
				tick()
				late := modelEntry{id, observer.Mark, "late"}
				rec(child).Record(record.Type(late.typ), late.name, child.Now(), 0, nil)
				m.add(&m.request, late)
				open()
			},
			"": func(t *rapid.T) {
				if calls != wantCalls {
					t.Fatalf("delivered\n%q, want\n%q", calls, wantCalls)
				}
				for i, on := range []*observer.Timeline{tl.Timeline, child} {
					line := []*modelLine{&m.process, &m.request}[i]
					if g, w := fmt.Sprint(ids(on.Entries(), line.origin)), fmt.Sprint(modelIDs(line.log)); g != w {
						t.Fatalf("Entries are %s, want %s", g, w)
					}
					for _, name := range []string{"a", "b", "c", "late"} {
						at, ok := rec(on).Latest(name)
						if w, known := line.latest[name]; ok != known || ok && int(at)+line.origin != w {
							t.Fatalf("Latest(%q) is %d, %v, want %d, %v", name, at, ok, w-line.origin, known)
						}
					}
				}
				// A check of the counts collects, which must not change anything.
				if rapid.Bool().Draw(t, "stats") {
					for typ, s := range tl.Stats() {
						if s != m.stats[typ] {
							t.Fatalf("stats of %s are %+v, want %+v", typ, s, m.stats[typ])
						}
					}
				}
			},
		})
	})
}
