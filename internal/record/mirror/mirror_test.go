package mirror

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func newRegion(tb testing.TB, larges, smalls int) (*Region, []byte) {
	tb.Helper()
	mem := make([]byte, larges*LargeSlot+smalls*SmallSlot+RegionTail)
	m := NewMemory(mem, func(err error) { tb.Error(err) })
	return NewRegion(m, 0, larges, smalls, func() uint64 { return 77 }, func() {}), mem
}

// A model is what the reader must find of a request.
type model struct {
	head    Head
	route   string
	written []Recorded
	open    []Recorded
	ended   bool
	end     time.Duration
	cells   int
	opens   int
	lost    int // open spans without a cell
	told    int // lost, at the last entry
	handed  int
}

func (m *model) want() Request {
	r := Request{Head: m.head, Route: m.route, Ended: m.ended, End: m.end, LeftOut: m.told}
	if m.ended {
		r.Flags |= Failed
	}
	written := m.written
	if n := len(written) - m.cells; n > 0 {
		written = written[n:]
		r.LeftOut += n
	}
	for i, e := range append(slices.Clone(written), m.open...) {
		if i+len(m.written)-len(written) < m.handed && e.Kind != Open {
			e.Flags |= Given
		}
		r.Entries = append(r.Entries, e)
	}
	return r
}

// Requests come and go on slots, and the reader finds exactly the open ones, with their newest entries.
func TestRequests(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 51))
		region, mem := newRegion(t, 3, 2)
		open := map[*Slot]*model{}
		leftOut := uint64(0)
		for step := range 3000 {
			var slots []*Slot
			for s := range open {
				slots = append(slots, s)
			}
			slices.SortFunc(slots, func(a, b *Slot) int { return int(open[a].head.Start - open[b].head.Start) })
			id := SpanID{1, byte(step), byte(step >> 8)}
			switch op := random.IntN(20); {
			case op == 0 || len(slots) == 0:
				s := region.Take()
				if s == nil {
					leftOut++
					if len(open) != 5 {
						t.Fatalf("no slot beside %d requests", len(open))
					}
					continue
				}
				m := &model{cells: largeCells - openCells, opens: openCells}
				if len(s.mem) == SmallSlot {
					m.cells, m.opens = 1, 0
				}
				m.head = Head{Trace: TraceID{2, byte(step)}, Span: id, Parent: SpanID{9}, Start: time.Duration(step), Goroutine: 77, Kind: 2, Flags: Sampled, Name: fmt.Sprintf("GET /%d", step)}
				open[s] = m
				s.Begin(&m.head)
			case op == 1:
				s := slots[random.IntN(len(slots))]
				s.Clear()
				s.Put()
				delete(open, s)
			case op == 18:
				s := slots[random.IntN(len(slots))]
				if !open[s].ended {
					open[s].handed = len(open[s].written)
					s.Handed(s.Written())
				}
			case op == 2:
				s := slots[random.IntN(len(slots))]
				open[s].route = fmt.Sprintf("/items/{%d}", step)
				s.Route(open[s].route)
			case op < 7:
				s := slots[random.IntN(len(slots))]
				m := open[s]
				if m.ended {
					continue
				}
				e := Recorded{Entry: Entry{Kind: Open, Span: id, Parent: m.head.Span, Start: time.Duration(step), Name: "query"}}
				e.Goroutine = 77
				s.Write(&e.Entry)
				switch {
				case m.opens == 0:
					m.lost++
				case len(m.open) < m.opens:
					m.open = append(m.open, e)
				default: // any one goes
					m.lost++
					m.open = slices.DeleteFunc(m.open, func(e Recorded) bool { return !slices.Contains(s.spans[:], e.Span) })
					m.open = append(m.open, e)
				}
				if len(m.open) > m.opens {
					t.Fatalf("%d open spans", len(m.open))
				}
				if m.opens > 0 {
					m.told = m.lost
				}
			case op < 11:
				s := slots[random.IntN(len(slots))]
				m := open[s]
				if m.ended || len(m.open) == 0 {
					continue
				}
				i := random.IntN(len(m.open))
				e := m.open[i]
				e.Kind, e.Duration = Span, 3
				e.Goroutine = 77
				s.Write(&e.Entry)
				s.EndSpan(e.Span)
				m.open = slices.Delete(m.open, i, i+1)
				m.written, m.told = append(m.written, e), m.lost
			case op == 11:
				s := slots[random.IntN(len(slots))]
				if m := open[s]; !m.ended {
					m.ended, m.end = true, time.Duration(step)
					s.End(time.Duration(step), Failed)
				}
			default:
				s := slots[random.IntN(len(slots))]
				if open[s].ended {
					continue
				}
				s.Attributes().Attr(slog.Int("rows", step))
				e := Recorded{Entry{Kind: Mark, Parent: id, Start: time.Duration(step), Name: "cache.miss"}, []Attribute{{"rows", int64(step)}}}
				e.Goroutine = 77
				s.Write(&e.Entry)
				open[s].written, open[s].told = append(open[s].written, e), open[s].lost
			}
			if step%50 > 0 {
				continue
			}
			got := Requests(mem, 3, 2)
			for i := range got {
				got[i].Taken = 0
			}
			slices.SortFunc(got, func(a, b Request) int { return int(a.Start - b.Start) })
			var want []Request
			for _, m := range open {
				want = append(want, m.want())
			}
			slices.SortFunc(want, func(a, b Request) int { return int(a.Start - b.Start) })
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d:\n%+v\nwant\n%+v", seed, step, got, want)
			}
		}
		if n := LeftOutIn(mem, 3, 2); n != leftOut {
			t.Errorf("the memory counts %d left out, want %d", n, leftOut)
		}
		if region.LeftOut() != leftOut {
			t.Errorf("%d left out, want %d", region.LeftOut(), leftOut)
		}
	}
}

// A process may die between any two bytes of a write. The reader finds what was complete before.
func TestTornWrites(t *testing.T) {
	region, mem := newRegion(t, 1, 0)
	s := region.Take()
	var states [][]byte // of the memory, after each write
	states = append(states, slices.Clone(mem))
	did := func() { states = append(states, slices.Clone(mem)) }
	for i := range 3 {
		s.Begin(&Head{Span: SpanID{byte(i + 1)}, Name: fmt.Sprintf("GET /%d", i), Start: time.Duration(i)})
		did()
		for j := range 30 {
			s.Write(&Entry{Kind: Mark, Name: fmt.Sprintf("mark %d", j), Span: SpanID{byte(i + 1)}})
			did()
		}
		s.Write(&Entry{Kind: Open, Name: "query", Span: SpanID{8}, Parent: SpanID{byte(i + 1)}})
		did()
		s.Route("/items/{id}")
		did()
		s.Clear()
		s.Put()
		did()
		s = region.Take()
	}
	for i := 1; i < len(states); i++ {
		before, after := states[i-1], states[i]
		for cut := range after {
			if before[cut] == after[cut] {
				continue
			}
			mem := append(slices.Clone(after[:cut]), before[cut:]...)
			for _, r := range Requests(mem, 1, 0) {
				for _, e := range r.Entries {
					ok := e.Kind == Open && e.Parent == r.Span && e.Name == "query" || e.Kind == Mark && e.Span == r.Span && strings.HasPrefix(e.Name, "mark ")
					if !ok {
						t.Fatalf("invented: %+v", e)
					}
				}
				if r.Route != "" && r.Route != "/items/{id}" || r.Name != fmt.Sprintf("GET /%d", r.Start) {
					t.Fatalf("invented: %+v", r)
				}
			}
		}
	}
}

// Hand-overs end in any order, and the next process notes in the slot what a backend has taken.
func TestHandedAndTaken(t *testing.T) {
	region, mem := newRegion(t, 1, 1)
	region.Take().Begin(&Head{Name: "GET /large"})
	s := region.Take()
	s.Begin(&Head{Name: "GET /small", Flags: Sampled})
	large := region.larges.take(region)
	if large != nil {
		t.Fatal("a third slot")
	}
	s.Write(&Entry{Kind: Measure, Name: "first"})
	s.Write(&Entry{Kind: Measure, Name: "second"})
	s.Handed(2)
	s.Handed(1)
	all := Requests(mem, 1, 1)
	if len(all) != 2 || all[1].Entries[0].Flags&Given == 0 {
		t.Fatalf("%+v: want the second measure as handed over", all)
	}
	mem[all[1].Taken] |= Taken
	again := Requests(mem, 1, 1)
	if again[0].Flags&Given > 0 || again[1].Flags != Sampled|Given || again[1].Entries[0].Flags&Given == 0 {
		t.Errorf("%+v: want the second request as taken, with the rest unchanged", again)
	}
}

// Fail and Close end all writes. Only the first Fail is told, and none after Close.
func TestMemoryEnds(t *testing.T) {
	told := 0
	mem := make([]byte, 2*LargeSlot+RegionTail)
	m := NewMemory(mem, func(error) { told++ })
	region := NewRegion(m, 0, 2, 0, func() uint64 { return 0 }, func() {})
	spool := NewSpool(NewMemory(make([]byte, 1024), nil), 0, 1024)
	s := region.Take()
	s.Begin(&Head{Name: "GET /"})
	m.Fail(errors.New("the disk"))
	m.Fail(errors.New("the disk again"))
	before := slices.Clone(mem)
	s.Route("/items")
	s.Write(&Entry{Kind: Mark, Name: "late"})
	s.End(1, 0)
	s.Clear()
	s.Put()
	if told != 1 || !m.Closed() || region.Take() != nil || !slices.Equal(mem, before) {
		t.Errorf("told %d times, closed %t", told, m.Closed())
	}
	spool.memory.Close()
	spool.memory.Fail(errors.New("late"))
	if receipt := put(spool, 3, nil, []byte("late")); receipt > 0 || spool.Overwritten() != 3 {
		t.Errorf("receipt %d and %d spans without room after Close", receipt, spool.Overwritten())
	}
}

// Late writers of an earlier process do not exist, but any memory may come from a disk.
func FuzzRequests(f *testing.F) {
	region, mem := newRegion(f, 1, 1)
	s := region.Take()
	s.Begin(&Head{Name: "GET /", Kind: 2})
	s.Write(&Entry{Kind: Open, Name: "query", Span: SpanID{1}})
	s.Attributes().Text("key", "a value")
	s.Write(&Entry{Kind: Mark, Name: "miss"})
	s.End(5, Failed)
	f.Add(slices.Clone(mem), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, mem []byte, at uint16, b byte) {
		if len(mem) > int(at) {
			mem[at] ^= b
		}
		for _, r := range Requests(mem, 1, 1) {
			text := r.Name + r.Route + fmt.Sprint(r.Attributes, r.Entries)
			if len(r.Entries) > largeCells || r.LeftOut < 0 || !utf8.ValidString(text) {
				t.Errorf("%+v", r)
			}
		}
	})
}

func TestAttributes(t *testing.T) {
	region, mem := newRegion(t, 1, 0)
	s := region.Take()
	s.Begin(&Head{Name: strings.Repeat("ä", 100)})
	a := s.Attributes()
	for _, attr := range []slog.Attr{
		slog.String("plain", "x"), slog.String("quoted", "a \"b\""), slog.String("empty", ""), slog.Int("int", -5),
		slog.Uint64("uint", 1<<63), slog.Float64("float", 0.5), slog.Bool("bool", true), slog.Duration("d", time.Second), slog.Time("at", time.Unix(1, 0)),
	} {
		a.Attr(attr)
	}
	s.Write(&Entry{Kind: Mark, Name: "m"})
	s.Attributes().Text("long", strings.Repeat("ü", 200))
	s.Write(&Entry{Kind: Mark, Name: "long"})
	s.Write(&Entry{Kind: Mark, Name: "none"})
	s.Attributes().Text(strings.Repeat("k", 125), "a value")
	s.Write(&Entry{Kind: Mark, Name: "key"})
	r := Requests(mem, 1, 0)[0]
	if r.Name != strings.Repeat("ä", maxName/2) || r.Flags != Cut {
		t.Errorf("%q, %v", r.Name, r.Flags)
	}
	for i, want := range []struct {
		attributes string
		flags      Flags
	}{
		{`[{plain x} {quoted a "b"} {empty } {int -5} {uint 9223372036854775808} {float 0.5} {bool true} {d 1000000000} {at 1000000000}]`, 0},
		{"[{long " + strings.Repeat("ü", 60) + "}]", Cut},
		{"[]", 0},
		{"[]", Cut}, // no room for the value
	} {
		if e := r.Entries[i]; fmt.Sprint(e.Attributes) != want.attributes || e.Flags != want.flags {
			t.Errorf("%v, %v, want %v", e.Attributes, e.Flags, want)
		}
	}
}

// A name may leave less room than the attributes need. Then the last attribute is a shorter text, or is left out.
func TestCutAttributes(t *testing.T) {
	var a Attributes
	a.Text("a", "äö b")
	a.Int("int", 5)
	a.Bool("bool", true)
	a.Float("", -0.5)
	a.Text("empty", "")
	all := attributesIn(a.room[:a.n])
	if want := "[{a äö b} {int 5} {bool true} { -0.5} {empty }]"; fmt.Sprint(all) != want {
		t.Fatalf("%v, want %s", all, want)
	}
	for n := range a.n {
		got := attributesIn(a.room[:n])
		for i, g := range got {
			text, cut := g.Value.(string)
			cut = cut && i == len(got)-1 && g.Key == all[i].Key && strings.HasPrefix(all[i].Value.(string), text)
			if g != all[i] && !cut {
				t.Errorf("%d of %d bytes: %v", n, a.n, got)
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	region, _ := newRegion(t, 1, 0)
	attrs := []slog.Attr{slog.String("key", "a b"), slog.Int("n", 5)}
	request := func() {
		s := region.Take()
		s.Attributes().Text("url.path", "/items/5")
		s.Begin(&Head{Name: "GET /items/{id}"})
		s.Route("/items/{id}")
		s.Write(&Entry{Kind: Open, Name: "query", Span: SpanID{1}})
		for i := range attrs {
			s.Attributes().Attr(attrs[i])
		}
		s.Write(&Entry{Kind: Span, Name: "query", Span: SpanID{1}})
		s.EndSpan(SpanID{1})
		s.End(5, 0)
		s.Clear()
		s.Put()
	}
	request()
	if n := testing.AllocsPerRun(100, request); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	region, _ := newRegion(b, 10, 0)
	attrs := []slog.Attr{slog.String("key", "some-user"), slog.Int("n", 5)}
	b.ReportAllocs()
	for b.Loop() {
		s := region.Take()
		s.Attributes().Text("url.path", "/items/5")
		s.Begin(&Head{Name: "GET /items/{id}"})
		s.Route("/items/{id}")
		for range 3 {
			s.Write(&Entry{Kind: Open, Name: "query", Span: SpanID{1}})
			a := s.Attributes()
			for i := range attrs {
				a.Attr(attrs[i])
			}
			s.Write(&Entry{Kind: Span, Name: "query", Span: SpanID{1}})
			s.EndSpan(SpanID{1})
		}
		s.End(5, 0)
		s.Clear()
		s.Put()
	}
}
