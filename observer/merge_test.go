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
		r := &root{}
		chunks := make([]*chunk, rapid.IntRange(1, 6).Draw(t, "inlets"))
		for i := range chunks {
			chunks[i] = &chunk{}
		}
		now := time.Duration(0)
		written := 0
		var clocks [4]time.Duration // what each goroutine read last
		for range rapid.IntRange(0, 60).Draw(t, "entries") {
			g := rapid.IntRange(0, len(clocks)-1).Draw(t, "goroutine")
			c := chunks[rapid.IntRange(0, len(chunks)-1).Draw(t, "inlet")]
			if c.n == chunkLen {
				continue
			}
			now += time.Duration(rapid.IntRange(0, 2).Draw(t, "time passes"))
			// The goroutine may have read the clock some time ago, but not before
			// it wrote its last entry.
			at := max(clocks[g], now-time.Duration(rapid.IntRange(0, 3).Draw(t, "ago")))
			clocks[g] = now
			c.records[c.n] = record{at: at, start: time.Duration(written), duration: time.Duration(g)}
			c.n++
			written++
		}
		for _, c := range chunks {
			from := len(r.refs)
			for i := range c.n {
				r.refs = append(r.refs, ref{c: c, i: i})
			}
			if len(r.refs) > from {
				r.runs = append(r.runs, run{from, len(r.refs)})
			}
		}
		whole := slices.Clone(r.refs)
		r.merge(r.runs)
		if len(r.refs) != written {
			t.Fatalf("%d entries after the merge, want %d", len(r.refs), written)
		}
		for _, ref := range whole {
			if !slices.Contains(r.refs, ref) {
				t.Fatal("an entry was lost")
			}
		}
		last := map[time.Duration]*record{}
		for i, ref := range r.refs {
			rec := ref.record()
			if i > 0 && len(r.runs) > 1 && r.refs[i-1].record().at > rec.at {
				t.Fatalf("at %d the time goes back to %v", i, rec.at)
			}
			// Entries of one goroutine at one moment in two inlets have no order but
			// that of the inlets.
			if prev := last[rec.duration]; prev != nil && prev.start > rec.start && prev.at != rec.at {
				t.Fatalf("goroutine %d: entry %d after %d", rec.duration, rec.start, prev.start)
			}
			last[rec.duration] = rec
		}
	})
}
