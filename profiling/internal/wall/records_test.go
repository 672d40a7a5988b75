//go:build !perfline_portable

package wall

import (
	"context"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		tags := map[unsafe.Pointer]int{}
		for _, user := range []string{"a", "b"} {
			pprof.Do(t.Context(), pprof.Labels("user", user), func(context.Context) {
				tags[goruntime.Labels()] = 2 // inherited
				go waiting(wake)
				go waiting(wake)
			})
		}
		tags[nil] = 1
		go waiting(wake)
		synctest.Wait()
		for _, s := range tick(t, start(t, time.Second)) {
			if on(s, "waiting") {
				if s.Labels != nil {
					t.Errorf("labels %v beside a tag, want none", s.Labels)
				}
				tags[s.Tag] -= s.Count
			}
		}
		if len(tags) != 3 {
			t.Errorf("tags: %v, want three only", tags)
		}
		for tag, left := range tags {
			if left != 0 {
				t.Errorf("tag %p: %d goroutines not sampled, want 0", tag, left)
			}
		}
		close(wake)
	})
}

// Goroutines that become more at every look are missed at last, counted, and their
// time made up for.
func TestLost(t *testing.T) {
	e := madeEngine(t)
	clock := int64(0)
	e.now = func() int64 { return clock }
	looks, whole := 0, false
	e.goroutines.(*recordProfile).source = func(records []goruntime.StackRecord, _ []unsafe.Pointer) (int, bool) {
		looks++
		if !whole || len(records) < 3 {
			return 3 + len(records), false
		}
		records[0] = goruntime.StackRecord{Stack: []uintptr{1}}
		records[1] = goruntime.StackRecord{Stack: []uintptr{1}}
		return 2, true
	}
	if err := e.Start(time.Second); err != nil {
		t.Fatal(err)
	}
	clock += int64(time.Second)
	if got := tick(t, e); got != nil || looks != 4 {
		t.Errorf("%d samples after %d looks, want none after 4: the first asks how many", len(got), looks)
	}
	lost := e.Lost()
	if lost == 0 {
		t.Error("Lost() = 0, want how many goroutines there were")
	}
	whole = true
	clock += int64(time.Second)
	got := tick(t, e)
	if len(got) != 1 || got[0].Weight != 2*time.Second || e.Lost() != lost {
		t.Errorf("tick after a lost one: %v, Lost %d; want one sample of 2 s, and %d", got, e.Lost(), lost)
	}
}

// The runtime may write fewer records than it says: what the tick before left in
// them is not there again.
func TestRecordsAreNotStale(t *testing.T) {
	e := start(t, time.Second)
	fill := 3
	e.goroutines.(*recordProfile).source = func(records []goruntime.StackRecord, tags []unsafe.Pointer) (int, bool) {
		if len(records) < 3 {
			return 3, false
		}
		for i := range fill {
			records[i] = goruntime.StackRecord{Stack: []uintptr{uintptr(i)}}
		}
		return 3, true
	}
	for _, c := range []struct{ fill, want int }{{3, 2}, {2, 1}, {1, 0}, {3, 2}} {
		fill = c.fill
		if got := len(tick(t, e)); got != c.want {
			t.Errorf("%d records written: %d samples, want %d, without the first", c.fill, got, c.want)
		}
	}
	for i, r := range e.goroutines.(*recordProfile).records {
		if r.Stack != nil {
			t.Errorf("record %d holds a stack after the tick, want none", i)
		}
	}
	e.Stop(nil)
	if e.goroutines.(*recordProfile).records != nil || e.sample.Stack != nil {
		t.Error("Stop kept memory, want it freed")
	}
}

func TestGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		e := start(t, time.Second)
		want := 0
		for _, more := range []int{1, 100, 1000} {
			for range more {
				go waiting(wake)
			}
			want += more
			synctest.Wait()
			got := 0
			for _, s := range tick(t, e) {
				if on(s, "waiting") {
					got += s.Count
				}
			}
			if got != want {
				t.Errorf("%d goroutines sampled, want %d", got, want)
			}
		}
		if e.Lost() != 0 {
			t.Errorf("Lost() = %d, want 0", e.Lost())
		}
		close(wake)
	})
}

// The runtime makes each stack anew; a tick adds nothing to that.
func TestAllocs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		for range 100 {
			go waiting(wake)
			go deep(20, wake)
		}
		synctest.Wait()
		e := start(t, time.Second)
		emit := func(*sampling.Sample) {}
		tick(t, e)
		records, tags := make([]goruntime.StackRecord, 300), make([]unsafe.Pointer, 300)
		runtimes := testing.AllocsPerRun(20, func() {
			if _, ok := goruntime.GoroutineProfile(records, tags); !ok {
				t.Error("more goroutines than records")
			}
		})
		got := testing.AllocsPerRun(20, func() {
			if err := e.Tick(emit); err != nil {
				t.Error(err)
			}
		})
		if got > runtimes {
			t.Errorf("a tick allocates %v times, want the %v of the runtime's profile", got, runtimes)
		}
		close(wake)
	})
}
