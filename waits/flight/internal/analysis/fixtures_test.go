package analysis_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/waits"
)

// long is how long a cause of a scenario lasts. Nothing else in a scenario takes so long.
const long = 20 * time.Millisecond

// A fixture is a scenario that was recorded with each release of Go. Its statement holds for each
// recording: the recorder makes another attempt until it does. The golden result has the rest.
type fixture struct {
	name      string
	statement string
	shows     func(j judge, r *recording, got []waits.Request)
}

// fixtures are all fixtures.
var fixtures = slices.Concat(ofCauses, ofWaits, ofLocks, ofOwners, ofEnds, ofInnerSpans, ofCalls, ofTraces, ofAny)

var update = flag.Bool("update", false, "write the golden results of the recorded traces again")

// Read gives the golden result of each fixture, and its statement holds.
func TestFixtures(t *testing.T) {
	for _, release := range releases(t) {
		for _, f := range fixtures {
			t.Run(release+"/"+f.name, func(t *testing.T) {
				r, want := read(t, release, f.name)
				got := r.read(t, r.wanted()...)
				if f.shows != nil {
					f.shows(t, r, got)
				}
				if *update {
					writeGolden(t, release, f.name, r, got)
					return
				}
				same(t, goldenText(got), want)
			})
		}
	}
}

// same fails unless the texts are equal. It shows the first line that differs.
func same(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for n := range min(len(g), len(w)) {
		if g[n] != w[n] {
			t.Errorf("line %d of the result is\n%s\nwant\n%s", n+1, g[n], w[n])
			return
		}
	}
	t.Errorf("the result has %d lines, want %d", len(g), len(w))
}
