package continuous

import (
	"io"
	"runtime"
	"testing"
)

// An empty profile is not taken.
func TestEmptySnapshot(t *testing.T) {
	for records, want := range map[int]int{0: 0, 1: 1} {
		taken, given := 0, 0
		s := Snapshot{Take: unlessEmpty(
			func([]runtime.BlockProfileRecord) (int, bool) { return records, false },
			func(w io.Writer) error { taken++; _, err := io.WriteString(w, "x"); return err })}
		err := s.give(func([]byte) error { given++; return nil })
		if taken != want || given != want || err != nil {
			t.Errorf("with %d records it was taken %d times and given %d times, error %v, want %d", records, taken, given, err, want)
		}
	}
}
