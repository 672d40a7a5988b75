package profiles_test

import (
	"bytes"
	"slices"
	"testing"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/profiling/profile"
)

// A trace with samples whose functions are all hidden says how many there are, also in its pprof
// file.
func TestHiddenNote(t *testing.T) {
	for _, c := range []struct {
		name              string
		samples, filtered uint64
		modules           []string
		want              string
	}{
		{"nothing hidden", 10, 0, nil, ""},
		{"parts of stacks", 10, 0, []string{"main", "std"}, "Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules. It shows functions of main, std. The time of other functions counts for their callers."},
		{"one", 10, 1, nil, "Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules: 1 of 10 samples has no stack."},
		{"some", 10, 4, nil, "Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules: 4 of 10 samples have no stack."},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := &profile.Trace{Modules: c.modules, Stats: profile.Stats{Samples: c.samples, Filtered: c.filtered}}
			if got := profiles.HiddenNote(tr); got != c.want {
				t.Errorf("the note is %q, want %q", got, c.want)
			}
			var file bytes.Buffer
			if err := tr.WritePprof(&file); err != nil {
				t.Fatal(err)
			}
			p, err := pprofpb.Parse(&file)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(p.Comments, c.want) != (c.want != "") {
				t.Errorf("the comments are %q, want %q", p.Comments, c.want)
			}
		})
	}
}
