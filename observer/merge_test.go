package observer

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// However goroutines spread over inlets, and whoever was overtaken between
// reading the clock and writing: after the merge each goroutine's entries are in
// its order, and nothing is lost or doubled.
func TestMergeKeepsEachGoroutinesOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inlets := make([][]*Entry, rapid.IntRange(1, 6).Draw(t, "inlets"))
		now := time.Duration(0)
		written := 0
		var clocks [4]time.Duration // what each goroutine read last
		for range rapid.IntRange(0, 60).Draw(t, "entries") {
			g := rapid.IntRange(0, len(clocks)-1).Draw(t, "goroutine")
			in := rapid.IntRange(0, len(inlets)-1).Draw(t, "inlet")
			now += time.Duration(rapid.IntRange(0, 2).Draw(t, "time passes"))
			// The goroutine may have read the clock some time ago, but not before
			// it wrote its last entry.
			at := max(clocks[g], now-time.Duration(rapid.IntRange(0, 3).Draw(t, "ago")))
			clocks[g] = now
			inlets[in] = append(inlets[in], &Entry{at: at, start: time.Duration(written), duration: time.Duration(g)})
			written++
		}
		entries := slices.Concat(inlets...)
		whole := slices.Clone(entries)
		merge(entries)
		for _, e := range whole {
			if !slices.Contains(entries, e) {
				t.Fatal("an entry was lost")
			}
		}
		last := map[time.Duration]*Entry{}
		for i, e := range entries {
			if i > 0 && entries[i-1].at > e.at {
				t.Fatalf("at %d the time goes back to %v", i, e.at)
			}
			// Entries of one goroutine at one moment in two inlets have no order but
			// that of the inlets.
			if prev := last[e.duration]; prev != nil && prev.start > e.start && prev.at != e.at {
				t.Fatalf("goroutine %d: entry %d after %d", e.duration, e.start, prev.start)
			}
			last[e.duration] = e
		}
	})
}
