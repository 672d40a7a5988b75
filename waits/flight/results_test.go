package flight

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

func numbered(i int) local.ID {
	return local.ID{Trace: [16]byte{1}, Span: [8]byte{byte(i), byte(i >> 8)}}
}

// slowResult returns a result in memory of its own. Results with the same stacks have equal ones.
func slowResult(took time.Duration, stacks ...string) *waits.Request {
	stack := func(name string) []waits.Frame {
		return []waits.Frame{{Function: "main." + name, File: "main.go", Line: 1}, {Function: "main.main", File: "main.go"}}
	}
	by := &waits.Party{Function: "main.holder", Stack: stack("holder")}
	g := waits.Goroutine{Function: "main.main"}
	for _, s := range stacks {
		g.Intervals = append(g.Intervals, waits.Interval{Kind: waits.Mutex, Stack: stack(s), By: by})
	}
	r := &waits.Request{Name: "GET /", Duration: took, Causes: []waits.Cause{{Kind: waits.Mutex, Duration: took, Function: "main.slow", By: by, In: &waits.Party{Function: "main.inner", Stack: stack("inner")}}}}
	if len(stacks) > 0 {
		r.Goroutines = []waits.Goroutine{g}
	}
	return r
}

// sizes returns the bytes of results that have no bounds.
func sizes(all ...*waits.Request) int {
	r := newResults(len(all), 1<<30)
	for i, q := range all {
		r.add(numbered(i), r.prepare(q))
	}
	r.makeRoom(nil)
	return r.bytes
}

// The bounds evict results of requests that are gone first, and then those of the least slow requests. Details go before results.
func TestEviction(t *testing.T) {
	const many = 1 << 30
	ms := time.Millisecond
	stored := func() []*waits.Request {
		return []*waits.Request{slowResult(30*ms, "a"), slowResult(10*ms, "b"), slowResult(20*ms, "c"), slowResult(40*ms, "d")}
	}
	short := func(i int) *waits.Request {
		q := stored()[i]
		q.Goroutines = nil
		return q
	}
	for _, c := range []struct {
		name  string
		most  int
		bytes int
		gone  []int
		want  string // of each result: whole, causes, or the reason
	}{
		{"no bound", 9, many, []int{3}, "whole whole whole whole"},
		{"the least slow ones", 2, many, nil, "whole less-slow less-slow whole"},
		{"gone ones before", 2, many, []int{3, 0}, "gone whole whole gone"},
		{"the least slow one of gone ones", 3, many, []int{3, 0}, "gone whole whole whole"},
		{"details of the least slow one", 9, sizes(stored()...) - 1, nil, "whole causes whole whole"},
		{"gone ones before details", 9, sizes(stored()...) - 1, []int{3}, "whole whole whole gone"},
		{"all details before a result", 9, sizes(short(0), short(1), short(2), short(3)), nil, "causes causes causes causes"},
		{"no room for all causes", 9, sizes(short(0), short(1), short(2), short(3)) - 1, nil, "causes less-slow causes causes"},
		{"room for nothing", 9, 1, nil, "less-slow less-slow less-slow too-large"},
		{"no results", 0, many, []int{0}, "not-stored not-stored not-stored not-stored"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, all := newResults(c.most, c.bytes), stored()
			for i, q := range all {
				x := r.prepare(q)
				x.gone = slices.Contains(c.gone, i)
				r.add(numbered(i), x)
			}
			what := map[local.ID]string{}
			r.makeRoom(func(id local.ID, why waiting.Reason) {
				what[id] = map[waiting.Reason]string{waiting.LessSlow: "less-slow", waiting.Gone: "gone", waiting.NotStored: "not-stored", waiting.TooLarge: "too-large"}[why]
			})
			var got []string
			early := uint64(0)
			for i, q := range all {
				switch x := r.requests[numbered(i)]; {
				case x == nil:
					if what[numbered(i)] != "gone" {
						early++
					}
				case what[numbered(i)] != "":
					t.Errorf("result %d is reported as %s, and stored", i, what[numbered(i)])
				case len(x.request.Goroutines) > 0:
					what[numbered(i)] = "whole"
				default:
					what[numbered(i)] = "causes"
					if x.request.Sentence() != q.Sentence() || waiting.Dropped(x.request) == "" || len(q.Goroutines) != 1 || x.request.Causes[0].By == q.Causes[0].By || x.request.Causes[0].In == q.Causes[0].In {
						t.Errorf("result %d is %+v, want its causes, and the first result as before: readers may have it", i, x.request)
					}
				}
				got = append(got, what[numbered(i)])
			}
			if got := strings.Join(got, " "); got != c.want || r.evicted != early {
				t.Errorf("results are %s, %d are counted as evicted; want %s and %d", got, r.evicted, c.want, early)
			}
		})
	}
}

// A result that comes again replaces the first one.
func TestResultReplaced(t *testing.T) {
	r := newResults(2, 1<<20)
	first, second := r.prepare(slowResult(1, "a")), r.prepare(slowResult(1, "b"))
	r.add(numbered(1), first)
	r.add(numbered(1), second)
	r.makeRoom(nil)
	if r.requests[numbered(1)] != second || r.bytes != sizes(slowResult(1, "b")) || r.evicted != 0 {
		t.Errorf("got %+v", r)
	}
}

// Results share equal stacks: the first user brings one, and the last one takes it away.
func TestResultsShareStacks(t *testing.T) {
	r := newResults(9, 1<<20)
	a, b := slowResult(1, "a", "a", "b"), slowResult(2, "b", "a")
	r.add(numbered(1), r.prepare(a))
	r.makeRoom(nil)
	one := r.bytes
	r.add(numbered(2), r.prepare(b))
	r.makeRoom(nil)
	stacks := func(q *waits.Request, i int) *waits.Frame { return &q.Goroutines[0].Intervals[i].Stack[0] }
	if stacks(a, 0) != stacks(a, 1) || stacks(a, 0) != stacks(b, 1) || stacks(a, 2) != stacks(b, 0) || stacks(a, 0) == stacks(a, 2) {
		t.Error("equal stacks are not one, or others are")
	}
	if want := slowResult(1, "b").Goroutines[0].Intervals[0].Stack; !slices.Equal(b.Goroutines[0].Intervals[0].Stack, want) {
		t.Errorf("the stack is %+v, want %+v", b.Goroutines[0].Intervals[0].Stack, want)
	}
	if own := r.requests[numbered(2)].bytes; r.bytes != one+own {
		t.Errorf("two results with the same stacks take %d bytes, the first one %d, and the second one %d without its stacks", r.bytes, one, own)
	}
	for _, leaves := range []int{1, 2} {
		r.remove(numbered(leaves))
		if empty := r.pool.bytes == 0 && len(r.pool.texts)+len(r.pool.stacks) == 0; empty != (leaves == 2) {
			t.Errorf("after result %d has left, the pool is %+v", leaves, r.pool)
		}
	}
}

// Stacks with the same hash are not mixed up.
func TestStacksThatCollide(t *testing.T) {
	r := newResults(9, 1<<20)
	a, b := slowResult(1, "a"), slowResult(1, "b")
	r.add(numbered(1), r.prepare(a))
	for hash := range r.pool.stacks { // each further stack finds another one's place taken
		r.pool.stacks[hash].stack = slices.Clone(r.pool.stacks[hash].stack)
		r.pool.stacks[hash].stack[0].Line = 99
	}
	before := r.pool.bytes
	x := r.prepare(b)
	if got := b.Goroutines[0].Intervals[0].By.Stack[0].Line; got != 1 {
		t.Errorf("the stack has line %d, want its own", got)
	}
	r.add(numbered(2), x)
	r.remove(numbered(2))
	if r.pool.bytes != before {
		t.Errorf("the pool has %d bytes, want %d as before", r.pool.bytes, before)
	}
}

// A modelResult is what a model knows of a result.
type modelResult struct {
	took    time.Duration
	causes  string
	details int // goroutines and omitted ones
}

// The store of results against a model: the bounds hold, no result of a request in memory leaves before one of a request that is gone or
// less slow, causes outlast details, and the books of the pool are those of the results.
func TestResultsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newResults(rapid.IntRange(0, 12).Draw(t, "most"), rapid.IntRange(0, 20_000).Draw(t, "bytes"))
		all, next := map[local.ID]modelResult{}, 0
		gone := map[local.ID]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"requests leave memory": func(t *rapid.T) {
				if next > 0 {
					gone[numbered(rapid.IntRange(0, next-1).Draw(t, "request"))] = true
				}
			},
			"results come": func(t *rapid.T) {
				for range rapid.IntRange(1, 4).Draw(t, "results") {
					took := time.Duration(rapid.IntRange(1, 50).Draw(t, "took"))
					q := slowResult(took, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 0, 40).Draw(t, "stacks")...)
					all[numbered(next)] = modelResult{took, q.Sentence(), len(q.Goroutines)}
					r.add(numbered(next), r.prepare(q))
					next++
				}
				for id, x := range r.requests {
					x.gone = gone[id]
				}
				before, reasons := slices.Collect(maps.Keys(r.requests)), map[local.ID]waiting.Reason{}
				r.makeRoom(func(id local.ID, why waiting.Reason) { reasons[id] = why })
				for _, id := range before {
					if _, stays := r.requests[id]; stays == (reasons[id] != "") {
						t.Errorf("result %v stays: %v, and its reason to leave is %q", id, stays, reasons[id])
					}
					if reasons[id] == "" {
						continue
					}
					for other, x := range r.requests {
						switch {
						case !gone[id] && x.gone:
							t.Errorf("result %v has left before %v, whose request is gone", id, other)
						case gone[id] == x.gone && all[id].took > all[other].took:
							t.Errorf("result %v of %d ns has left before %v of %d ns", id, all[id].took, other, all[other].took)
						case reasons[id] == waiting.LessSlow && len(r.requests) < r.max && len(x.request.Goroutines) > 0:
							t.Errorf("result %v has left for lack of bytes, and %v has its details", id, other)
						}
					}
				}
			},
			"": func(t *rapid.T) {
				if len(r.requests) > r.max || r.bytes > r.maxBytes {
					t.Errorf("%d results with %d bytes, want at most %d and %d", len(r.requests), r.bytes, r.max, r.maxBytes)
				}
				used, own := map[*shared]int{}, 0
				for id, x := range r.requests {
					if x.request.Sentence() != all[id].causes || len(x.request.Goroutines)+x.request.Omitted != all[id].details {
						t.Errorf("result %v is %+v, want %+v", id, x.request, all[id])
					}
					own += x.bytes
					for _, s := range x.uses {
						used[s]++
					}
				}
				for s, users := range used {
					own += s.bytes()
					if s.users != users {
						t.Errorf("%+v has %d users, want %d", s, s.users, users)
					}
				}
				if r.bytes != own || len(r.pool.texts)+len(r.pool.stacks) != len(used) {
					t.Errorf("%d bytes and %d shared parts, want %d and %d", r.bytes, len(r.pool.texts)+len(r.pool.stacks), own, len(used))
				}
			},
		})
	})
}
