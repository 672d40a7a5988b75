package profiles_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/profiling/profile"
)

func side(t *profile.Trace, requests int) profiles.Side {
	return profiles.Side{Trace: t, Samples: slices.Values(t.Samples), Requests: requests}
}

// changes writes a tree of differences, each call in brackets behind its caller.
func changes(d *profiles.NodeDifference) string {
	text := fmt.Sprintf("%s %g>%g", d.Name, d.A.Total, d.B.Total)
	for _, c := range d.Calls {
		text = fmt.Sprintf("%s (%s)", text, changes(c))
	}
	return text
}

func TestDifference(t *testing.T) {
	p := newProgram()
	traceOf := func(times map[string]time.Duration) *profile.Trace {
		b := profile.NewBuilder(nil)
		for stack, time := range times {
			b.Add(p.stack(strings.Fields(stack)...), profile.Sample{ContextID: profile.None, Weight: time})
		}
		return b.Trace(nil)
	}
	slow := traceOf(map[string]time.Duration{"f main": 60 * time.Millisecond, "g main": 20 * time.Millisecond})
	usual := traceOf(map[string]time.Duration{"f main": 20 * time.Millisecond, "h main": 20 * time.Millisecond})
	for _, c := range []struct {
		name      string
		a, b      profiles.Side
		functions string
		tree      string
	}{
		{"of requests", side(slow, 2), side(usual, 4), "f 30>5 g 10>0 h 0>5 main 0>0", "all 40>10 (main 40>10 (f 30>5) (g 10>0) (h 0>5))"},
		{"of an unknown number of requests", side(slow, 2), side(usual, 0), "h 0>0.5 f 0.75>0.5 g 0.25>0 main 0>0", "all 1>1 (main 1>1 (f 0.75>0.5) (h 0>0.5) (g 0.25>0))"},
		{"with nothing", side(slow, 2), side(traceOf(nil), 0), "f 0.75>0 g 0.25>0 main 0>0", "all 1>0 (main 1>0 (f 0.75>0) (g 0.25>0))"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := profiles.NewDifference(c.a, c.b)
			var functions []string
			for _, f := range d.Functions {
				functions = append(functions, fmt.Sprintf("%s %g>%g", f.Name, f.A.Self, f.B.Self))
			}
			if got := strings.Join(functions, " "); got != c.functions {
				t.Errorf("functions are %s, want %s", got, c.functions)
			}
			if got := changes(d.Tree); got != c.tree {
				t.Errorf("the tree is %s, want %s", got, c.tree)
			}
			if want := c.name == "of requests"; d.PerRequest != want {
				t.Errorf("per request is %t, want %t", d.PerRequest, want)
			}
			if f := d.Functions[0]; f.File != "/src/shop.go" || f.Line != 10 || f.Module == "" && f.Name == "main.main" {
				t.Errorf("the first function is %+v", f)
			}
		})
	}
}

// A difference has all of both sides. With the sides exchanged it is the same, and of a profile
// with itself it is nothing.
func TestDifferenceIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := side(drawTrace(t), rapid.IntRange(0, 2).Draw(t, "requests of a"))
		b := side(drawTrace(t), rapid.IntRange(0, 2).Draw(t, "requests of b"))
		there, back := profiles.NewDifference(a, b), profiles.NewDifference(b, a)
		if there.A != back.B || there.B != back.A || there.PerRequest != back.PerRequest || there.A != total(a.Trace) {
			t.Fatalf("there are %v and %v, and back %v and %v", there.A, there.B, back.A, back.B)
		}
		var selfA, selfB float64
		for i := range there.Functions {
			f, g := there.Functions[i], back.Functions[i]
			if f.Function != g.Function || f.A != g.B || f.B != g.A {
				t.Fatalf("function %d is %+v there, and %+v back", i, f, g)
			}
			selfA += f.A.Self
			selfB += f.B.Self
		}
		if math.Abs(selfA-there.Tree.A.Total) > 1e-9 || math.Abs(selfB-there.Tree.B.Total) > 1e-9 {
			t.Fatalf("the functions have %g and %g in themselves, and the trees %+v and %+v", selfA, selfB, there.Tree.A, there.Tree.B)
		}
		same(t, there.Tree, back.Tree)
		for _, f := range profiles.NewDifference(a, a).Functions {
			if f.A != f.B {
				t.Fatalf("a profile differs from itself by %+v", f)
			}
		}
	})
}

func same(t *rapid.T, there, back *profiles.NodeDifference) {
	if there.Name != back.Name || there.A != back.B || there.B != back.A || len(there.Calls) != len(back.Calls) {
		t.Fatalf("a node is %s there, and %s back", changes(there), changes(back))
	}
	for i, c := range there.Calls {
		if c.Both() > there.Both()+1e-9 {
			t.Fatalf("a call is longer than its caller: %s", changes(there))
		}
		same(t, c, back.Calls[i])
	}
}
