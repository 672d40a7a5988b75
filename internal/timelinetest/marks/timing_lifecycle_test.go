package marks_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Time and Start make timings of the same kind.
var begin = map[string]func(t *testing.T, attrs ...slog.Attr) (*manual, *marks.Timing){
	"Time": func(_ *testing.T, attrs ...slog.Attr) (*manual, *marks.Timing) {
		tl, ctx := newManual()
		return tl, marks.Time(ctx, "work", attrs...)
	},
	"Start": func(_ *testing.T, attrs ...slog.Attr) (*manual, *marks.Timing) {
		tl, ctx := newManual()
		_, tm := marks.Start(ctx, "work", attrs...)
		return tl, tm
	},
}

// UT-6, UT-18: a measure has the attributes of both calls, however many, although the
// callers change their slices between and afterwards.
func TestTimingCopiesAttributes(t *testing.T) {
	for name, begin := range begin {
		for _, counts := range [][2]int{{0, 0}, {2, 2}, {4, 0}, {0, 6}, {3, 2}, {4, 4}, {7, 5}} {
			t.Run(fmt.Sprintf("%s with %d and %d", name, counts[0], counts[1]), func(t *testing.T) {
				var first, second, want []slog.Attr
				for i := range counts[0] {
					first = append(first, slog.Int(fmt.Sprint("begin", i), i))
				}
				for i := range counts[1] {
					second = append(second, slog.Int(fmt.Sprint("end", i), i))
				}
				want = append(append(want, first...), second...)
				// Room behind the slice must not be used: it is the caller's.
				roomy := append(make([]slog.Attr, 0, 32), first...)
				tl, tm := begin(t, roomy...)
				clear(roomy)
				endAttrs := append(make([]slog.Attr, 0, 32), second...)
				tm.End(endAttrs...)
				clear(endAttrs)
				if got := fmt.Sprint(tl.Entries()[0].Detail()); got != fmt.Sprint(want) {
					t.Errorf("got %s, want %s", got, fmt.Sprint(want))
				}
				for i, a := range append(roomy[:cap(roomy):cap(roomy)], endAttrs[:cap(endAttrs)]...) {
					if !a.Equal(slog.Attr{}) {
						t.Errorf("attribute %d of the callers' memory became %v", i, a)
					}
				}
			})
		}
	}
}

func TestTimingEndsOnce(t *testing.T) {
	for name, begin := range begin {
		t.Run(name+" on another goroutine", func(t *testing.T) {
			tl, tm := begin(t)
			tl.now = 7
			done := make(chan struct{})
			go func() {
				defer close(done)
				tm.End(slog.Int("n", 1))
			}()
			<-done
			tl.now = 9
			tm.End(slog.Int("n", 2))
			got := tl.Entries()
			if len(got) != 1 || got[0].Duration() != 7 || fmt.Sprint(got[0].Detail()) != "[n=1]" {
				t.Errorf("got %d entries, want the one of the first End", len(got))
			}
		})
		t.Run(name+" by many at once", func(t *testing.T) {
			for range 100 {
				tl, tm := begin(t, slog.Int("begin", 0))
				var all sync.WaitGroup
				for g := range 4 {
					spawn(&all, func() { tm.End(slog.Int("g", g), slog.Int("g", g)) })
				}
				all.Wait()
				got := tl.Entries()
				if len(got) != 1 || recorded(got[0]).NumAttrs() != 3 {
					t.Fatalf("got %d entries, want 1 with one End's attributes", len(got))
				}
				d := got[0].Detail()
				if !d[1].Equal(d[2]) {
					t.Fatalf("the attributes of two Ends are mixed: %v", d)
				}
			}
		})
	}
}

// Timings that are cancelled, nested or ended in the wrong order are recorded all the same.
func TestTimingsNest(t *testing.T) {
	tl, ctx := newManual()
	ctx, outer := marks.Start(ctx, "outer")
	tl.now = 1
	inner := marks.Time(ctx, "inner")
	tl.now = 2
	outer.End()
	tl.now = 5
	inner.End()
	var got []string
	for _, e := range tl.EntriesByType(observer.Measure) {
		got = append(got, fmt.Sprint(e.Name(), " ", int(e.StartTime()), " ", int(e.Duration())))
	}
	if fmt.Sprint(got) != "[outer 0 2 inner 1 4]" {
		t.Errorf("got %v", got)
	}
}
