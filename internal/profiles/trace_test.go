package profiles_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/profile"
)

// A program is a table of calls to make samples of.
type program map[profile.Call]*profile.Call

func newProgram() program { return program{} }

// call returns the pointer of a call.
func (p program) call(c profile.Call) *profile.Call {
	if p[c] == nil {
		p[c] = &c
	}
	return p[c]
}

// line is a line of a function in shop.go, which begins at 10.
func (p program) line(name string, line int) *profile.Call {
	return p.call(profile.Call{Name: name, File: "/src/shop.go", StartLine: 10, Line: line})
}

// stack makes calls of names, innermost first; each is at line 11.
func (p program) stack(names ...string) []*profile.Call {
	var s []*profile.Call
	for _, n := range names {
		s = append(s, p.line(n, 11))
	}
	return s
}

// drawTrace draws a trace of few functions, so that stacks are often recursive, alike or missing.
func drawTrace(t *rapid.T) *profile.Trace {
	p, b := newProgram(), profile.NewBuilder(nil)
	for i := range rapid.IntRange(0, 12).Draw(t, "samples") {
		var stack []*profile.Call
		for range rapid.IntRange(0, 6).Draw(t, "depth") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			stack = append(stack, p.call(profile.Call{Name: name, File: rapid.SampledFrom([]string{"", name + ".go", "other.go"}).Draw(t, "file"),
				StartLine: 10, Line: rapid.IntRange(0, 3).Draw(t, "line")}))
		}
		b.Add(stack, profile.Sample{Timestamp: time.Duration(i), ContextID: profile.None, Weight: time.Duration(rapid.IntRange(0, 9).Draw(t, "weight")),
			Marker: rapid.SampledFrom([]profile.Marker{profile.Ordinary, profile.Idle, profile.GC}).Draw(t, "marker")})
	}
	return b.Trace(nil)
}

func total(t *profile.Trace) (sum time.Duration) {
	for _, s := range t.Samples {
		sum += s.Weight
	}
	return sum
}
