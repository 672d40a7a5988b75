package pyroscope

import (
	"io"
	"runtime"
	"testing"

	pprofpb "github.com/google/pprof/profile"
)

// A large profile of the runtime's is sent in parts as well.
func TestLargeSnapshot(t *testing.T) {
	of := func(p *pprofpb.Profile) int {
		s := snapshot{kind: "heap", take: p.Write}
		all, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if small, large := of(flat(100, 0)), of(flat(2*maxSamples, 0)); small != 1 || large != 2 {
		t.Errorf("%d and %d parts, want 1 and 2", small, large)
	}
}

// An empty profile is not taken.
func TestEmptySnapshot(t *testing.T) {
	for records, want := range map[int]int{0: 0, 1: 1} {
		taken := 0
		s := snapshot{take: unlessEmpty(
			func([]runtime.BlockProfileRecord) (int, bool) { return records, false },
			func(w io.Writer) error { taken++; _, err := io.WriteString(w, "x"); return err })}
		all, err := s.encode()
		if taken != want || len(all) != want || err != nil {
			t.Errorf("with %d records it was taken %d times for %d profiles, error %v, want %d", records, taken, len(all), err, want)
		}
	}
}
