//go:build !perfline_portable

package spanlabels_test

import (
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

const maxDepth = 1 << 10 // spans without an end that a goroutine keeps

// A census counts the spans that are in memory.
type census []weak.Pointer[spanlabels.Span]

func (c *census) add(s *spanlabels.Span) *spanlabels.Span {
	*c = append(*c, weak.Make(s))
	return s
}

func (c *census) count() int {
	runtime.GC()
	runtime.GC()
	*c = slices.DeleteFunc(*c, func(p weak.Pointer[spanlabels.Span]) bool { return p.Value() == nil })
	return len(*c)
}

// total is how many spans a chain has.
const total = 20_000

// A chain is a way to begin and end many spans on a goroutine.
type chain struct {
	most int // spans in memory
	run  func(t *testing.T, begin func(byte) *spanlabels.Span, end func(*spanlabels.Span))
}

// chains returns all chains by name.
func chains() map[string]chain {
	return map[string]chain{
		"each ended before the next": {2, func(_ *testing.T, begin func(byte) *spanlabels.Span, end func(*spanlabels.Span)) {
			for range total {
				end(begin(1))
			}
		}},
		"five at a time, first in first out": {7, func(_ *testing.T, begin func(byte) *spanlabels.Span, end func(*spanlabels.Span)) {
			var live []*spanlabels.Span
			for range total {
				if live = append(live, begin(1)); len(live) == 5 {
					end(live[0])
					live = slices.Delete(live, 0, 1)
				}
			}
			for _, s := range live {
				end(s)
			}
		}},
		"some live for long": {301, // 100, with at most 2 others live each
			func(_ *testing.T, begin func(byte) *spanlabels.Span, end func(*spanlabels.Span)) {
				var long, short []*spanlabels.Span
				for i := range total {
					if i%(total/100) == 0 {
						long = append(long, begin(1))
					}
					if short = append(short, begin(2)); len(short) == 3 {
						end(short[1])
						end(short[0])
						short = slices.Delete(short, 0, 2)
					}
				}
				for _, s := range append(long, short...) {
					end(s)
				}
			}},
		"labels of the program's merged with each": {4, func(t *testing.T, begin func(byte) *spanlabels.Span, end func(*spanlabels.Span)) {
			for range total {
				s := begin(1)
				pprof.SetGoroutineLabels(pprof.WithLabels(spanlabels.NewContext(t.Context(), s), pprof.Labels("a", "b")))
				end(s)
			}
		}},
		"labels of the program's merged with each, under one that goes on": {5, func(t *testing.T, begin func(byte) *spanlabels.Span, end func(*spanlabels.Span)) {
			defer end(begin(9))
			for range total {
				s := begin(1)
				pprof.SetGoroutineLabels(pprof.WithLabels(spanlabels.NewContext(t.Context(), s), pprof.Labels("a", "b")))
				end(s)
			}
		}},
		"none ever ended": {maxDepth + 1, func(_ *testing.T, begin func(byte) *spanlabels.Span, _ func(*spanlabels.Span)) {
			for range total {
				begin(1)
			}
		}},
	}
}

// Goroutines that begin spans that end in other places, for as long as they live, keep
// few more of them than are live at a time.
func TestChainsAreBounded(t *testing.T) {
	for name, c := range chains() {
		t.Run(name, func(t *testing.T) { synctest.Test(t, c.check) })
	}
}

// check makes the chain, and looks how many of its spans are in memory.
func (c chain) check(t *testing.T) {
	t.Helper()
	on(t)
	defer goruntime.SetLabels(nil)
	ends := make(chan *spanlabels.Span)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range ends {
			s.End("")
			ends <- nil
		}
	}()
	var spans census
	most, ended := 0, 0
	c.run(t, func(n byte) *spanlabels.Span { return spans.add(begin(n)) }, func(s *spanlabels.Span) {
		if ended++; ended%(total/20) == 0 {
			synctest.Wait() // the goroutine that ends spans has let go of the one before
			most = max(most, spans.count())
		}
		ends <- s
		<-ends
	})
	close(ends)
	<-done
	synctest.Wait()
	most = max(most, spans.count())
	if most > c.most {
		t.Errorf("%d spans are kept, want at most %d", most, c.most)
	}
}

// However many came and went on a goroutine, it goes on under what is around.
func TestChainsAreNotCutShort(t *testing.T) {
	for _, n := range []int{1, maxDepth - 2, maxDepth - 1, maxDepth, 3 * maxDepth} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			on(t)
			outer := begin(1)
			last := begin(2)
			for range n { // each begins before the other ends
				next := begin(2)
				elsewhere(func() { last.End("") })
				last = next
			}
			elsewhere(func() { last.End("") })
			wantSpan(t, "around the last", outer)
			outer.End("")
		})
	}
}
