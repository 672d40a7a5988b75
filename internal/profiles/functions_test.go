package profiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/profiling/profile"
)

// whole lists the functions of all samples.
func whole(t *profile.Trace) []profiles.Function {
	return profiles.Functions(t, slices.Values(t.Samples))
}

func TestFunctions(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	add := func(weight time.Duration, marker profile.Marker, stack ...*profile.Call) {
		b.Add(stack, profile.Sample{ContextID: profile.None, Weight: weight, Marker: marker})
	}
	f := func(line int) *profile.Call {
		return p.call(profile.Call{Name: "github.com/perfline/perfline/marks.f", File: "f.go", StartLine: 3, Line: line})
	}
	add(5, profile.Ordinary, f(4), p.line("main.main", 11))
	add(7, profile.Ordinary, f(5), f(9), p.line("strings.Map", 11), f(9), p.line("main.main", 11)) // f once in its total
	add(3, profile.Ordinary, p.line("strings.Map", 11), p.line("main.main", 11))
	add(1, profile.GC, p.line("main.main", 12))
	add(100, profile.Ordinary)
	add(40, profile.Idle, p.line("main.main", 11))
	add(2, profile.Ordinary, p.call(profile.Call{Name: "github.com/perfline/perfline/marks.f", File: "other.go", StartLine: 8}), p.line("main.main", 11))
	var got []string
	for _, f := range whole(b.Trace(nil)) {
		got = append(got, fmt.Sprintf("%s of %s in %s:%d:%d %d/%d by %d", f.Name, f.Module, f.File, f.Line, f.HotLine, f.Self, f.Total, f.Samples))
	}
	want := []string{
		"[no stack] of  in :0:0 100/100 by 1",
		"[waits] of  in :0:0 40/40 by 1",
		"github.com/perfline/perfline/marks.f of github.com/perfline/perfline in f.go:3:5 14/14 by 3",
		"strings.Map of std in /src/shop.go:10:11 3/10 by 1",
		"main.main of github.com/perfline/perfline in /src/shop.go:10:12 1/58 by 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := profiles.Functions(b.Trace(nil), slices.Values([]profile.Sample(nil))); len(got) != 0 {
		t.Errorf("no samples have the functions %v", got)
	}
}

// The times of functions in themselves are the whole time, and each total is the time of the
// samples that have the function.
func TestFunctionsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		self, samples := time.Duration(0), 0
		for _, f := range whole(tr) {
			self += f.Self
			samples += f.Samples
			want := time.Duration(0)
			for _, s := range tr.Samples {
				if slices.Contains(namesOf(tr, s), f.Name) {
					want += s.Weight
				}
			}
			if f.Total != want {
				t.Fatalf("%s has a total of %v, want %v", f.Name, f.Total, want)
			}
		}
		if self != total(tr) || samples != len(tr.Samples) {
			t.Fatalf("the functions have %v of %d samples, want %v of %d", self, samples, total(tr), len(tr.Samples))
		}
	})
}

// namesOf returns the functions of a sample, innermost first.
func namesOf(t *profile.Trace, s profile.Sample) (names []string) {
	if s.StackID == profile.None {
		return []string{profile.NoStack}
	}
	if s.Marker == profile.Idle {
		names = append(names, profiles.Waits)
	}
	for c := range t.Calls(s) {
		names = append(names, c.Name)
	}
	return names
}
