//go:build !perfline_portable

package spanlabels

import (
	"runtime"
	"runtime/pprof"
	"testing"
	"unsafe"
)

// chain counts the spans that the goroutine's labels keep, through labels of the
// program's too.
func chain() (n int) {
	for s := find(current()); s != nil; s = s.next() {
		n++
	}
	return n
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Goroutines that begin spans that end in other places, for as long as they live, keep
// few more of them than are live at a time.
func TestChainsAreBounded(t *testing.T) {
	const total = 100_000
	for name, c := range map[string]struct {
		most int
		run  func(t *testing.T, end func(*Span))
	}{
		"each ended before the next": {2, func(_ *testing.T, end func(*Span)) {
			for range total {
				end(begin(1))
			}
		}},
		"five at a time, first in first out": {7, func(_ *testing.T, end func(*Span)) {
			var live []*Span
			for range total {
				if live = append(live, begin(1)); len(live) == 5 {
					end(live[0])
					live = live[1:]
				}
			}
			for _, s := range live {
				end(s)
			}
		}},
		"some live for long": {301, // 100, with at most 2 others live each
			func(_ *testing.T, end func(*Span)) {
				var long, short []*Span
				for i := range total {
					if i%1000 == 0 {
						long = append(long, begin(1))
					}
					if short = append(short, begin(2)); len(short) == 3 {
						end(short[1])
						end(short[0])
						short = short[2:]
					}
				}
				for _, s := range append(long, short...) {
					end(s)
				}
			}},
		"labels of the program's merged with each": {4, func(t *testing.T, end func(*Span)) {
			for range total {
				s := begin(1)
				pprof.SetGoroutineLabels(pprof.WithLabels(NewContext(t.Context(), s), pprof.Labels("a", "b")))
				end(s)
			}
		}},
		"labels of the program's merged with each, under one that goes on": {5, func(t *testing.T, end func(*Span)) {
			defer end(begin(9))
			for range total {
				s := begin(1)
				pprof.SetGoroutineLabels(pprof.WithLabels(NewContext(t.Context(), s), pprof.Labels("a", "b")))
				end(s)
			}
		}},
		"none ever ended": {maxDepth + 1, func(*testing.T, func(*Span)) {
			for range total {
				begin(1)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			on(t)
			defer setCurrent(nil)
			ends := make(chan *Span)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for s := range ends {
					s.end(1, "")
					ends <- nil
				}
			}()
			before := heap()
			most := 0
			c.run(t, func(s *Span) {
				most = max(most, chain())
				ends <- s
				<-ends
			})
			close(ends)
			<-done
			most = max(most, chain())
			if most > c.most {
				t.Errorf("a chain of %d spans, want at most %d", most, c.most)
			}
			if after, room := heap(), uint64(c.most+1000)*2*uint64(unsafe.Sizeof(Span{})); after > before+room {
				t.Errorf("the heap grew from %d to %d bytes, want at most %d more", before, after, room)
			}
		})
	}
}

// However many came and went on a goroutine, it goes on under what is around.
func TestChainsAreNotCutShort(t *testing.T) {
	on(t)
	outer := begin(1)
	last := begin(2)
	for range 3 * maxDepth { // each begins before the other ends
		next := begin(2)
		elsewhere(func() { last.end(1, "") })
		last = next
		if below := last.next(); below.nearest(goroutine()) != outer {
			t.Fatalf("around the last is %v", name(below.nearest(goroutine())))
		}
	}
	last.end(1, "")
	outer.end(1, "")
}
