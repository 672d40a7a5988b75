package profile_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/profile"
)

const maxDepth = 2048 // calls of a stack, as Builder.Add says

// A program is a table of calls to make samples of.
type program map[profile.Call]*profile.Call

func newProgram() program { return program{} }

// call returns the pointer of a call.
func (p program) call(c profile.Call) *profile.Call {
	if p[c] == nil {
		p[c] = &c
	}
	return p[c]
}

// line is a line of a function in shop.go, which begins at 10.
func (p program) line(name string, line int) *profile.Call {
	return p.call(profile.Call{Name: name, File: "/src/shop.go", StartLine: 10, Line: line})
}

// stack makes calls of names, innermost first; each is at line 11.
func (p program) stack(names ...string) []*profile.Call {
	var s []*profile.Call
	for _, n := range names {
		s = append(s, p.line(n, 11))
	}
	return s
}

// callNames joins what Calls gives.
func callNames(t *profile.Trace, s profile.Sample) string {
	var names []string
	for c := range t.Calls(s) {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// byHand is a small trace that has some of everything.
func byHand() *profile.Trace {
	return &profile.Trace{
		Resources: []string{"/src/main.go", `/src/"quoted" & odd.go`},
		Frames:    []profile.Frame{{"main.main", 0, 3, 0}, {"runtime.memmove", profile.None, 0, 0}, {"shop.f", 1, 31, 7}},
		Stacks:    []profile.Stack{{0, profile.None}, {2, 0}, {1, 1}},
		Samples: []profile.Sample{
			{Timestamp: -time.Millisecond, StackID: 2, ContextID: profile.None, Count: 1, Weight: 10},
			{Timestamp: 1, StackID: profile.None, ContextID: 0, Count: 2, Weight: 30, Marker: profile.GC},
			{Timestamp: 1551734999998, StackID: 0, ContextID: 1, Count: 1, Weight: 10, Truncated: true},
		},
		Contexts: []profile.SampleContext{
			{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, SpanName: "GET /", Labels: []profile.Label{{"tenant", "a"}}}, {Labels: []profile.Label{{"job", "x"}}},
		},
		Origin: time.Unix(1000, 5), Interval: 10, Started: time.Second, Stopped: 3 * time.Second,
	}
}

func TestStacksAreInterned_JSP1_JSP12(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	b.Add([]*profile.Call{p.line("f", 12), p.line("main", 20)}, profile.Sample{Timestamp: 1, ContextID: profile.None, Count: 1})
	b.Add([]*profile.Call{p.line("f", 13), p.line("main", 20)}, profile.Sample{Timestamp: 2, ContextID: profile.None, Count: 1})
	b.Add([]*profile.Call{p.line("f", 12), p.line("main", 21)}, profile.Sample{Timestamp: 3, ContextID: profile.None, Count: 1})
	b.Add([]*profile.Call{p.line("main", 22)}, profile.Sample{Timestamp: 4, ContextID: profile.None, Count: 1})
	got := b.Trace(nil)
	if want := []profile.Frame{{Name: "main", ResourceID: 0, Line: 10}, {Name: "f", ResourceID: 0, Line: 10}}; !reflect.DeepEqual(got.Frames, want) {
		t.Errorf("frames are %v, want the outermost first: %v", got.Frames, want)
	}
	if want := []profile.Stack{{0, profile.None}, {1, 0}}; !slices.Equal(got.Stacks, want) {
		t.Errorf("stacks are %v, want one of f under main for all its lines: %v", got.Stacks, want)
	}
	var leaves []int
	var lines [][]int
	for _, s := range got.Samples {
		leaves = append(leaves, s.StackID)
		var of []int
		for c := range got.Calls(s) {
			of = append(of, c.Line)
		}
		lines = append(lines, of)
	}
	if want := []int{1, 1, 1, 0}; !slices.Equal(leaves, want) {
		t.Errorf("samples have the stacks %v, want %v", leaves, want)
	}
	if want := [][]int{{12, 20}, {13, 20}, {12, 21}, {22}}; !reflect.DeepEqual(lines, want) {
		t.Errorf("the lines that ran are %v, want %v", lines, want)
	}
}

func TestCalls(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	b.Add([]*profile.Call{p.line("f", 12), p.call(profile.Call{Name: "runtime.x"}), p.line("main", 20)}, profile.Sample{Timestamp: 1, ContextID: profile.None})
	tr := b.Trace(nil)
	want := []profile.Call{{"f", "/src/shop.go", 10, 12}, {"runtime.x", "", 0, 0}, {"main", "/src/shop.go", 10, 20}}
	if got := slices.Collect(tr.Calls(tr.Samples[0])); !slices.Equal(got, want) {
		t.Errorf("calls are %v, want %v", got, want)
	}
	for c := range tr.Calls(tr.Samples[0]) {
		if c.Name != "f" {
			t.Errorf("%s came after the loop was left", c.Name)
		}
		break
	}
	t.Run("of a sample that was given another stack", func(t *testing.T) {
		s := tr.Samples[0]
		s.StackID = tr.Stacks[s.StackID].ParentID
		want := []profile.Call{{"runtime.x", "", 0, 0}, {"main", "/src/shop.go", 10, 0}}
		if got := slices.Collect(tr.Calls(s)); !slices.Equal(got, want) {
			t.Errorf("calls are %v, want that stack without lines: %v", got, want)
		}
	})
	t.Run("of a sample that came into another trace", func(t *testing.T) {
		s := tr.Samples[0]
		s.StackID = 1
		if got, want := callNames(byHand(), s), "shop.f main.main"; got != want {
			t.Errorf("calls are %q, want that trace's: %q", got, want)
		}
	})
	t.Run("of a sample without a stack", func(t *testing.T) {
		for c := range tr.Calls(profile.Sample{StackID: profile.None}) {
			t.Errorf("got %v", c)
		}
	})
}

func TestFramesLeftOut_JSP13(t *testing.T) {
	p := newProgram()
	for _, c := range []struct{ name, stack, want string }{
		{"in the middle", "f hidden.g main", "f main"},
		{"innermost", "hidden.g f main", "f main"},
		{"outermost", "f main hidden.start", "f main"},
		{"several in a row", "f hidden.a hidden.b main", "f main"},
		{"all", "hidden.a hidden.b", ""},
		{"none there", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := profile.NewBuilder(func(s *profile.Call) bool { return !strings.HasPrefix(s.Name, "hidden.") })
			for range 3 {
				b.Add(p.stack(strings.Fields(c.stack)...), profile.Sample{ContextID: profile.None})
			}
			// The rest is the same stack as one without the others.
			b.Add(p.stack(strings.Fields(c.want)...), profile.Sample{ContextID: profile.None})
			tr := b.Trace(nil)
			if got := callNames(tr, tr.Samples[0]); got != c.want {
				t.Errorf("stack is %q, want %q", got, c.want)
			}
			for i, s := range tr.Samples {
				at, _ := tr.Position(s)
				if first, _ := tr.Position(tr.Samples[0]); at != first {
					t.Errorf("sample %d is at %v, the first at %v", i, at, first)
				}
			}
			if want := len(strings.Fields(c.want)); len(tr.Stacks) != want || len(tr.Frames) != want || tr.NumPlaces() != want {
				t.Errorf("%d stacks, %d frames, %d places; want %d of each", len(tr.Stacks), len(tr.Frames), tr.NumPlaces(), want)
			}
			want := profile.Stats{Samples: 4}
			if c.name == "all" {
				want.Filtered = 3
			}
			if tr.Stats != want {
				t.Errorf("stats are %+v, want %+v", tr.Stats, want)
			}
		})
	}
}

func TestFilterIsAskedOnce(t *testing.T) {
	p, asked := newProgram(), map[string]int{}
	b := profile.NewBuilder(func(s *profile.Call) bool {
		asked[s.Name]++
		return s.Name != "hidden"
	})
	for _, stack := range []string{"f hidden main", "hidden f main", "main", "main hidden f"} {
		b.Add(p.stack(strings.Fields(stack)...), profile.Sample{ContextID: profile.None})
	}
	if want := map[string]int{"f": 1, "hidden": 1, "main": 1}; !maps.Equal(asked, want) {
		t.Errorf("the filter was asked %v, want %v", asked, want)
	}
}

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name      string
		call      profile.Call
		frame     profile.Frame
		resources []string
	}{
		{"JSP-15 a function has its name, its file and where it begins, not the line that ran",
			profile.Call{Name: "example.com/shop.(*Cart).Total", File: "/src/shop.go", StartLine: 31, Line: 40},
			profile.Frame{Name: "example.com/shop.(*Cart).Total", ResourceID: 0, Line: 31}, []string{"/src/shop.go"}},
		{"JSP-14 a built-in has its name only", profile.Call{Name: "runtime.memmove"},
			profile.Frame{Name: "runtime.memmove", ResourceID: profile.None}, []string{}},
		{"what JSON cannot hold is replaced", profile.Call{Name: "a\xff\xfe", File: "\xff.go"},
			profile.Frame{Name: "a\uFFFD", ResourceID: 0}, []string{"\uFFFD.go"}},
		{"negative lines are not known", profile.Call{Name: "a", StartLine: -1, Line: -1}, profile.Frame{Name: "a", ResourceID: profile.None}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := profile.NewBuilder(nil)
			b.Add([]*profile.Call{&c.call}, profile.Sample{ContextID: profile.None})
			tr := b.Trace(nil)
			if got := tr.Frames[0]; got != c.frame {
				t.Errorf("frame is %+v, want %+v", got, c.frame)
			}
			if !slices.Equal(tr.Resources, c.resources) {
				t.Errorf("resources are %q, want %q", tr.Resources, c.resources)
			}
			if err := tr.WriteJSON(io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSamples(t *testing.T) {
	p := newProgram()
	t.Run("JSP-11 without a stack", func(t *testing.T) {
		b := profile.NewBuilder(nil)
		b.Add(nil, profile.Sample{Timestamp: 5, ContextID: profile.None})
		tr := b.Trace(nil)
		if want := []profile.Sample{{Timestamp: 5, StackID: profile.None, ContextID: profile.None, Count: 1}}; !slices.Equal(tr.Samples, want) {
			t.Errorf("got %+v, want %+v", tr.Samples, want)
		}
	})
	t.Run("JSP-18 in the order of time, equal times as they came", func(t *testing.T) {
		b := profile.NewBuilder(nil)
		for i, at := range []time.Duration{3, 1, 2, 1, 2} {
			b.Add(p.stack("f"), profile.Sample{Timestamp: at, ContextID: profile.None, Count: i + 1})
		}
		var got []string
		for _, s := range b.Trace(nil).Samples {
			got = append(got, fmt.Sprintf("%d#%d", s.Timestamp, s.Count))
		}
		if want := "[1#2 1#4 2#3 2#5 3#1]"; fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
	t.Run("JSP-10 time is what the session says, weight and count the engine's", func(t *testing.T) {
		b := profile.NewBuilder(nil)
		b.Add(p.stack("f"), profile.Sample{Timestamp: -4, ContextID: profile.None, Count: 7, Weight: 70, Truncated: true})
		tr := b.Trace(nil)
		if s := tr.Samples[0]; s.Timestamp != -4 || s.Count != 7 || s.Weight != 70 || !s.Truncated || tr.Stats.Truncated != 1 {
			t.Errorf("got %+v, %+v", s, tr.Stats)
		}
	})
	t.Run("of a stack that is too deep the innermost frames", func(t *testing.T) {
		b, stack := profile.NewBuilder(nil), deepStack(p, maxDepth+1)
		b.Add(stack, profile.Sample{ContextID: profile.None})
		b.Add(stack[:maxDepth], profile.Sample{ContextID: profile.None})
		tr := b.Trace(nil)
		if s := tr.Samples; !s[0].Truncated || s[1].Truncated || s[0].StackID != s[1].StackID || len(tr.Stacks) != maxDepth || tr.Stats.Truncated != 1 {
			t.Errorf("got %+v of %d stacks, %+v; want the first cut to the other's %d frames", s, len(tr.Stacks), tr.Stats, maxDepth)
		}
	})
	t.Run("JSP-30 markers", func(t *testing.T) {
		b := profile.NewBuilder(nil)
		for _, m := range []profile.Marker{profile.Ordinary, profile.GC, profile.Syscall, profile.Idle, profile.Other, 200} {
			b.Add(nil, profile.Sample{ContextID: profile.None, Marker: m})
		}
		var got []string
		for _, s := range b.Trace(nil).Samples {
			got = append(got, s.Marker.String())
		}
		if want := []string{"", "gc", "syscall", "idle", "other", "other"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestContexts(t *testing.T) {
	type labelSet struct{ context profile.SampleContext }
	span := profile.SampleContext{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, SpanName: "GET /"}
	user := profile.SampleContext{Labels: []profile.Label{{"a", "1"}, {"b", "2"}}}
	for _, c := range []struct {
		name     string
		contexts []profile.SampleContext
		ids      []int
	}{
		{"nothing", []profile.SampleContext{{}}, []int{profile.None}},
		{"a span, and an equal one of another goroutine", []profile.SampleContext{span, span}, []int{0, 0}},
		{"labels in any order", []profile.SampleContext{user, {Labels: []profile.Label{{"b", "2"}, {"a", "1"}}}}, []int{0, 0}},
		{"parts that only look alike", []profile.SampleContext{
			{Labels: []profile.Label{{"a", "b1:c"}}}, {Labels: []profile.Label{{"a", "b"}, {"c", ""}}}, {SpanName: "1:a1:b"}, {SpanName: "a", Labels: []profile.Label{{"b", ""}}},
			{Labels: []profile.Label{{"2", "xxxxxxxxxx2yz"}}}, {Labels: []profile.Label{{"13xxxxxxxxxx", "yz"}}},
		}, []int{0, 1, 2, 3, 4, 5}},
		{"each part tells them apart", []profile.SampleContext{
			span, {TraceID: trace.TraceID{9}, SpanID: span.SpanID, SpanName: span.SpanName}, {TraceID: span.TraceID, SpanID: trace.SpanID{9}, SpanName: span.SpanName},
			{TraceID: span.TraceID, SpanID: span.SpanID, SpanName: "other"}, {TraceID: span.TraceID, SpanID: span.SpanID, SpanName: span.SpanName, Labels: user.Labels},
		}, []int{0, 1, 2, 3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := profile.NewBuilder(nil)
			var ids []int
			for _, context := range c.contexts {
				key, asked := &labelSet{context}, 0
				for range 2 {
					ids = append(ids, b.Context(unsafe.Pointer(key), func(key any) profile.SampleContext {
						asked++
						return (*labelSet)(key.(unsafe.Pointer)).context
					}))
				}
				if asked != 1 || ids[len(ids)-1] != ids[len(ids)-2] {
					t.Errorf("it was asked %d times what a key means, and answered %v", asked, ids)
				}
			}
			var twice []int
			for _, id := range c.ids {
				twice = append(twice, id, id)
			}
			if !slices.Equal(ids, twice) {
				t.Errorf("ids are %v, want %v", ids, twice)
			}
			for _, got := range b.Trace(nil).Contexts {
				if !slices.IsSortedFunc(got.Labels, func(a, b profile.Label) int { return cmp.Compare(a.Key, b.Key) }) {
					t.Errorf("labels are not sorted: %v", got.Labels)
				}
			}
		})
	}
	t.Run("a goroutine without labels", func(t *testing.T) {
		id := profile.NewBuilder(nil).Context(nil, func(any) profile.SampleContext { t.Error("asked"); return span })
		if id != profile.None {
			t.Errorf("id is %d", id)
		}
	})
}

// A span may have another name by the time that the trace is made: contexts that are
// equal then are one.
func TestNamesWhenTheTraceIsMade(t *testing.T) {
	b, p := profile.NewBuilder(nil), newProgram()
	a, same, other := &spanKey{"GET", 1, ""}, &spanKey{"HEAD", 1, ""}, &spanKey{"GET", 2, ""}
	ignorant := [8]*spanKey{} // of the first's end
	for i := range ignorant {
		ignorant[i] = &spanKey{"GET", 1, ""}
	}
	describe := func(key any) profile.SampleContext {
		k := key.(*spanKey)
		return profile.SampleContext{SpanID: trace.SpanID{k.id}, SpanName: k.name}
	}
	for _, key := range []any{a, nil, same, other, a} {
		b.Add(p.stack("f"), profile.Sample{ContextID: b.Context(key, describe), Count: 1})
	}
	for _, key := range ignorant {
		b.Context(key, describe)
	}
	a.end, same.end = "GET /{id}", "GET /{id}"
	tr := b.Trace(func(key any) string { return key.(*spanKey).end })
	want := []profile.SampleContext{{SpanID: trace.SpanID{1}, SpanName: "GET /{id}"}, {SpanID: trace.SpanID{2}, SpanName: "GET"}}
	if !reflect.DeepEqual(tr.Contexts, want) {
		t.Errorf("contexts are %+v, want %+v", tr.Contexts, want)
	}
	var ids []int
	for _, s := range tr.Samples {
		ids = append(ids, s.ContextID)
	}
	if want := []int{0, profile.None, 0, 1, 0}; !slices.Equal(ids, want) {
		t.Errorf("samples have the contexts %v, want %v", ids, want)
	}
}

type spanKey struct {
	name string
	id   byte
	end  string
}

func TestAddAllocs(t *testing.T) {
	p, b, labels := newProgram(), profile.NewBuilder(nil), new(int)
	stack := deepStack(p, 30)
	describe := func(any) profile.SampleContext { return profile.SampleContext{SpanName: "s"} }
	got := testing.AllocsPerRun(1000, func() { // the list of samples grows some ten times meanwhile, which is less than one allocation each
		b.Add(stack, profile.Sample{Timestamp: 1, ContextID: b.Context(unsafe.Pointer(labels), describe), Count: 1})
	})
	if got != 0 {
		t.Errorf("a known stack costs %v allocations, want none", got)
	}
}

func TestSampleSize(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, most uintptr
	}{
		{"sample", unsafe.Sizeof(profile.Sample{}), 48}, {"stack", unsafe.Sizeof(profile.Stack{}), 16}, {"place", profile.PlaceSize, 12},
	} {
		if c.got > c.most {
			t.Errorf("a %s takes %d bytes, want at most %d", c.name, c.got, c.most)
		}
	}
}

// The builder against a list of stacks.
func TestBuilderModel_JSP16_JSP17(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newProgram()
		stack := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *profile.Call {
			return p.call(profile.Call{
				Name: rapid.SampledFrom([]string{"a", "b", "hidden", "c\xff", "c\xfe"}).Draw(t, "name"), File: rapid.SampledFrom([]string{"", "x.go", "y.go"}).Draw(t, "file"),
				StartLine: rapid.IntRange(0, 2).Draw(t, "start"), Line: rapid.IntRange(0, 3).Draw(t, "line"),
			})
		}), 0, 8)
		keep := func(s *profile.Call) bool { return s.Name != "hidden" }
		b := profile.NewBuilder(keep)
		type sample struct {
			at    time.Duration
			calls []profile.Call
		}
		var model []sample
		for range rapid.IntRange(0, 30).Draw(t, "samples") {
			s := stack.Draw(t, "stack")
			want := sample{at: time.Duration(rapid.IntRange(0, 20).Draw(t, "at"))}
			for _, call := range s {
				if keep(call) {
					name := strings.NewReplacer("\xff", "\uFFFD", "\xfe", "\uFFFD").Replace(call.Name)
					want.calls = append(want.calls, profile.Call{name, call.File, call.StartLine, call.Line})
				}
			}
			b.Add(s, profile.Sample{Timestamp: want.at, ContextID: profile.None})
			model = append(model, want)
		}
		slices.SortStableFunc(model, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
		tr := b.Trace(nil)
		checkTrace(t, tr)
		if len(tr.Samples) != len(model) {
			t.Fatalf("%d samples, want %d", len(tr.Samples), len(model))
		}
		for i, want := range model {
			s := tr.Samples[i]
			if got := slices.Collect(tr.Calls(s)); s.Timestamp != want.at || !slices.Equal(got, want.calls) {
				t.Fatalf("sample %d is %v at %v, want %v at %v", i, got, s.Timestamp, want.calls, want.at)
			}
			for n, c := range slices.Collect(tr.Calls(profile.Sample{StackID: s.StackID})) { // by the specification's stacks alone: the same but for the lines
				w := want.calls[n]
				if w.Line = 0; c != w {
					t.Fatalf("sample %d: call %d by stacks is %v, want %v", i, n, c, w)
				}
			}
		}
	})
}

func hasEqual[T comparable](list []T) bool {
	set := map[T]bool{}
	for _, v := range list {
		set[v] = true
	}
	return len(set) < len(list)
}

// checkTrace checks what every trace keeps: ids, order, no equal elements, and nothing
// that no sample uses.
func checkTrace(t interface {
	Helper()
	Fatalf(string, ...any)
}, tr *profile.Trace,
) {
	t.Helper()
	if err := tr.WriteJSON(io.Discard); err != nil {
		t.Fatalf("%v", err)
	}
	if hasEqual(tr.Resources) || hasEqual(tr.Frames) || hasEqual(tr.Stacks) {
		t.Fatalf("two elements of a list are equal: %+v", tr)
	}
	resources, frames, stacks, contexts := map[string]bool{}, map[profile.Frame]bool{}, map[profile.Position]bool{}, map[int]bool{}
	positions := map[profile.Position]bool{} // of stacks, with the lines
	for _, s := range tr.Samples {
		for at, ok := tr.Position(s); ok; at, ok = tr.Caller(at) {
			positions[at] = true
			if f := tr.Call(at).File; f != "" {
				resources[f] = true
			}
		}
		for at, ok := tr.Position(profile.Sample{StackID: s.StackID}); ok; at, ok = tr.Caller(at) {
			stacks[at] = true
		}
		for id := s.StackID; id != profile.None; id = tr.Stacks[id].ParentID {
			frames[tr.Frames[tr.Stacks[id].FrameID]] = true
		}
		if s.ContextID != profile.None {
			contexts[s.ContextID] = true
		}
	}
	if len(resources) != len(tr.Resources) || len(frames) != len(tr.Frames) || len(stacks) != len(tr.Stacks) || len(contexts) != len(tr.Contexts) ||
		tr.NumPlaces() > len(positions) {
		t.Fatalf("samples use %d resources, %d frames, %d stacks, %d contexts, %d positions; the trace has %d, %d, %d, %d, and %d places", len(resources), len(frames), len(stacks),
			len(contexts), len(positions), len(tr.Resources), len(tr.Frames), len(tr.Stacks), len(tr.Contexts), tr.NumPlaces())
	}
}

// deepStack is a stack of n functions.
func deepStack(p program, n int) []*profile.Call {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("example.com/shop/internal/orders.(*Service).step%02d", i))
	}
	return p.stack(names...)
}

func BenchmarkAdd(b *testing.B) {
	p, labels := newProgram(), new(int)
	stack := deepStack(p, 30)
	builder := profile.NewBuilder(nil)
	describe := func(any) profile.SampleContext { return profile.SampleContext{SpanName: "s"} }
	added := 0
	b.ReportAllocs()
	for b.Loop() {
		if added++; added%100_000 == 0 {
			builder = profile.NewBuilder(nil) // or the samples would fill the memory
		}
		builder.Add(stack, profile.Sample{Timestamp: 1, ContextID: builder.Context(unsafe.Pointer(labels), describe), Count: 1, Weight: 10 * time.Millisecond})
	}
}
