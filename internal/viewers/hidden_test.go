package viewers_test

import (
	"bytes"
	"strings"
	"testing"
)

// Files state what the origin policy hides, and nothing if it hides nothing.
func TestFilesStateWhatIsHidden(t *testing.T) {
	const note = "Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules: 2 of 6 samples have no stack."
	for name, write := range writers {
		for _, filtered := range []uint64{0, 2} {
			h := aSession()
			h.trace.Stats.Samples, h.trace.Stats.Filtered = 6, filtered
			var file bytes.Buffer
			if err := write(&file, h); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(file.String(), note); got != (filtered > 0) {
				t.Errorf("%s: with %d samples hidden, the note is in the file: %t", name, filtered, got)
			}
		}
	}
}
