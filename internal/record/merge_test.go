package record

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Goroutines spread over inlets in any way, and overtake each other between reading
// the clock and writing. After the merge, each goroutine's entries are in its order,
// and no entry is lost or doubled.
func TestMergeKeepsEachGoroutinesOrder(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		inlets := make([][]*Entry, 1+random.IntN(6))
		now := time.Duration(0)
		written := 0
		var clocks [4]time.Duration // what each goroutine read last
		for range random.IntN(61) {
			g := random.IntN(len(clocks))
			in := random.IntN(len(inlets))
			now += time.Duration(random.IntN(3))
			// The goroutine may have read the clock some time ago, but not before
			// it wrote its last entry.
			at := max(clocks[g], now-time.Duration(random.IntN(4)))
			clocks[g] = now
			inlets[in] = append(inlets[in], &Entry{at: at, start: time.Duration(written), duration: time.Duration(g)})
			written++
		}
		entries := slices.Concat(inlets...)
		whole := slices.Clone(entries)
		merge(entries)
		for _, e := range whole {
			if !slices.Contains(entries, e) {
				t.Fatalf("seed %d: an entry was lost", seed)
			}
		}
		last := map[time.Duration]*Entry{}
		for i, e := range entries {
			if i > 0 && entries[i-1].at > e.at {
				t.Fatalf("seed %d: at %d the time goes back to %v", seed, i, e.at)
			}
			// Entries of one goroutine at one moment in two inlets are in the order of
			// the inlets.
			if prev := last[e.duration]; prev != nil && prev.start > e.start && prev.at != e.at {
				t.Fatalf("seed %d: goroutine %d: entry %d after %d", seed, e.duration, e.start, prev.start)
			}
			last[e.duration] = e
		}
	}
}
