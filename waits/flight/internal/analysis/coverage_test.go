package analysis_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// Each release of Go that we support has recorded each fixture, and there are no other files.
func TestFixtureFiles(t *testing.T) {
	var want []string
	for _, f := range fixtures {
		want = append(want, f.name+traceSuffix, f.name+goldenSuffix)
	}
	slices.Sort(want)
	if len(releases(t)) == 0 {
		t.Error("no release of Go has recorded fixtures")
	}
	for _, release := range releases(t) {
		entries, err := os.ReadDir(folder(release))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		slices.Sort(got)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s has no %s: see README.md there",
					folder(release), name)
			}
		}
		for _, name := range got {
			if !slices.Contains(want, name) {
				t.Errorf("%s has %s, which no fixture uses: delete it", folder(release), name)
			}
		}
	}
}

// Traces have no paths of the machine that recorded them.
func TestFixturesHaveNoMachinePaths(t *testing.T) {
	for _, release := range releases(t) {
		for _, f := range fixtures {
			if r := load(t, release, f.name); machinePath(t, r.data) != "" {
				t.Errorf("%s/%s has the path %s", release, f.name, machinePath(t, r.data))
			}
		}
	}
}

const noCgo = "tests cannot use cgo: see TestCodeInC"

// Kinds that are no cause, or no interval, with the reason.
var (
	noCause = map[waits.Kind]string{
		waits.CCode:    noCgo,
		waits.GCAssist: "it counts for GarbageCollection",
		waits.Gap:      "nothing is known",
	}
	noInterval = map[waits.Kind]string{
		waits.CCode:             noCgo,
		waits.GarbageCollection: "only of causes",
		waits.OtherPrograms:     "only of causes",
		waits.CPULimit:          "only of causes",
		waits.NotRun:            "only of causes",
	}
)

// Each kind of state is a cause and an interval of a fixture of each release.
func TestEveryKindHasFixture(t *testing.T) {
	for _, release := range releases(t) {
		causes, intervals := map[waits.Kind]bool{}, map[waits.Kind]bool{}
		for _, f := range fixtures {
			r := load(t, release, f.name)
			for _, got := range r.results(t) {
				for _, c := range got.Causes {
					causes[c.Kind] = true
				}
				for _, g := range got.Goroutines {
					for _, i := range g.Intervals {
						intervals[i.Kind] = true
					}
				}
			}
		}
		for kind := range waiting.Kinds {
			if causes[kind] == (noCause[kind] != "") {
				t.Errorf("%s: %v is a cause of a fixture: %v; the reason why it cannot be is %q",
					release, kind, causes[kind], noCause[kind])
			}
			if intervals[kind] == (noInterval[kind] != "") {
				t.Errorf("%s: %v is an interval of a fixture: %v; the reason why it cannot be is %q",
					release, kind, intervals[kind], noInterval[kind])
			}
		}
	}
}

// Waits that no scenario can bring about, with the reason.
var noWait = map[string]string{
	"GC weak to strong wait": "it takes a weak pointer in the microseconds in which a collection ends",
}

// Each reason of the runtime to block a goroutine that the analysis knows is in a fixture of each
// release.
func TestEveryReasonHasFixture(t *testing.T) {
	for _, release := range releases(t) {
		seen := map[string]bool{}
		for _, f := range fixtures {
			r := load(t, release, f.name)
			events(t, r.data, func(event *xtrace.Event) {
				if event.Kind() == xtrace.EventStateTransition {
					seen[event.StateTransition().Reason] = true
				}
			})
		}
		for _, reason := range analysis.Reasons() {
			if !seen[reason] && noWait[reason] == "" {
				t.Errorf("%s: no fixture has a goroutine that waits for %q", release, reason)
			}
		}
	}
}

// The statement of a fixture is a sentence for who looks at a golden result that has changed.
func TestFixturesHaveStatements(t *testing.T) {
	for _, f := range fixtures {
		if f.statement == "" || f.shows == nil && !strings.HasPrefix(f.name, "any-") {
			t.Errorf("fixture %s has the statement %q, and shows nothing", f.name, f.statement)
		}
	}
}
