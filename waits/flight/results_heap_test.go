//go:build !race

// The race detector's own memory is larger.

package flight

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/waits"
)

// A resultShape is what the results of a test look like.
type resultShape struct{ goroutines, intervals, frames, text int }

var anyResultShape = rapid.Custom(func(t *rapid.T) resultShape {
	return resultShape{
		goroutines: rapid.IntRange(1, 20).Draw(t, "goroutines"), intervals: rapid.IntRange(0, 40).Draw(t, "intervals"),
		frames: rapid.IntRange(1, 12).Draw(t, "frames"), text: rapid.IntRange(1, 400).Draw(t, "text"),
	}
})

// result makes a result of its own. Two intervals share each stack, and all share the party that ended them.
func (s resultShape) result(number int) *waits.Request {
	texts := 0
	text := func() string { // another one each time
		texts++
		return strings.Repeat("x", s.text) + fmt.Sprint(number, texts)
	}
	stack := func() (all []waits.Frame) {
		for range s.frames {
			all = append(all, waits.Frame{Function: text(), File: text()})
		}
		return all
	}
	by := &waits.Party{Function: text(), Request: text(), Stack: stack()}
	r := &waits.Request{Name: text(), Causes: []waits.Cause{{Function: text(), By: by}}}
	for range s.goroutines {
		g := waits.Goroutine{Function: text()}
		for range s.intervals {
			shared := stack()
			g.Intervals = append(g.Intervals, waits.Interval{Stack: shared, By: by}, waits.Interval{Stack: shared})
		}
		r.Goroutines = append(r.Goroutines, g)
	}
	return r
}

// Results take no more of the heap than the books of results say. maxResultBytes holds by these books.
func TestHeapOfResults(t *testing.T) {
	shapes := []resultShape{{goroutines: 4, intervals: 10, frames: 6, text: 300}} // nearly all of it is text
	for seed := range 8 {
		shapes = append(shapes, anyResultShape.Example(seed))
	}
	for _, s := range shapes {
		const enough = 4 << 20
		before, n := garbage.Heap(), 0
		all := newResults(1<<20, 1<<30)
		for ; all.bytes < enough; n++ {
			all.add(numbered(n), all.prepare(s.result(n)))
			all.makeRoom(nil)
		}
		heap, books := garbage.Heap()-before, all.bytes
		t.Logf("%+v: %d results, %d kB of the heap, %d kB in the books, %.2f", s, n, heap>>10, books>>10, float64(heap)/float64(books))
		if most := books + books/3 + 1<<20; heap > most {
			t.Errorf("%d results take %d kB of the heap, and the books say %d kB", n, heap>>10, books>>10)
		}
		runtime.KeepAlive(&all)
	}
}
