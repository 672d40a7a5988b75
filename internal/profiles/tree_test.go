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

func treeOf(t *profile.Trace) *profiles.Node { return profiles.NewTree(t, slices.Values(t.Samples)) }

// outline writes a tree, each call in brackets behind its caller.
func outline(n *profiles.Node) string {
	text := fmt.Sprintf("%s %d/%d", n.Name, n.Self, n.Total)
	for _, c := range n.Calls {
		text = fmt.Sprintf("%s (%s)", text, outline(c))
	}
	return text
}

func TestTree(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	add := func(weight time.Duration, marker profile.Marker, names ...string) {
		b.Add(p.stack(names...), profile.Sample{ContextID: profile.None, Weight: weight, Marker: marker})
	}
	add(5, profile.Ordinary, "f", "main")
	add(7, profile.Ordinary, "f", "g", "f", "main")
	add(2, profile.Idle, "g", "main")
	add(1, profile.Ordinary)
	tree := treeOf(b.Trace(nil))
	if got, want := outline(tree), "all 0/15 (main 0/14 (f 5/12 (g 0/7 (f 7/7))) (g 0/2 ([waits] 2/2))) ([no stack] 1/1)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s, ok := tree.Sandwich("f")
	if got, want := outline(s.Callers), "f 0/12 (main 12/12)"; !ok || got != want {
		t.Errorf("the callers of f are %s, want %s", got, want)
	}
	if got, want := outline(s.Callees), "f 5/12 (g 0/7 (f 7/7))"; got != want {
		t.Errorf("the callees of f are %s, want %s", got, want)
	}
	s, _ = tree.Sandwich("g")
	if got, want := outline(s.Callers), "g 0/9 (f 0/7 (main 7/7)) (main 2/2)"; got != want {
		t.Errorf("the callers of g are %s, want %s", got, want)
	}
	if s, ok := tree.Sandwich("all"); ok {
		t.Errorf("the root of the tree is the function %s", outline(s.Callees))
	}
}

// A tree has the whole time, and a sandwich has the whole time of its function, above and below.
func TestTreeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrace(t)
		tree := treeOf(tr)
		if tree.Total != total(tr) {
			t.Fatalf("the tree has %v, want %v", tree.Total, total(tr))
		}
		checkNode(t, tree)
		for _, f := range whole(tr) {
			s, ok := tree.Sandwich(f.Name)
			if !ok || s.Callers.Name != f.Name || s.Callees.Name != f.Name {
				t.Fatalf("the sandwich of %s is of %v and %v, %t", f.Name, s.Callers, s.Callees, ok)
			}
			if s.Callers.Total != f.Total || s.Callees.Total != f.Total {
				t.Fatalf("%s has %v above and %v below, want %v", f.Name, s.Callers.Total, s.Callees.Total, f.Total)
			}
			checkNode(t, s.Callers)
			checkNode(t, s.Callees)
			if self := selfOf(s.Callees, f.Name); self != f.Self {
				t.Fatalf("%s has %v in itself, want %v", f.Name, self, f.Self)
			}
			if strings.Contains(outline(s.Callers)[len(f.Name):], " ("+f.Name+" ") {
				t.Fatalf("%s is among its callers: %s", f.Name, outline(s.Callers))
			}
		}
	})
}

func checkNode(t *rapid.T, n *profiles.Node) {
	sum := n.Self
	names := map[string]bool{}
	for i, c := range n.Calls {
		sum += c.Total
		if names[c.Name] || i > 0 && c.Total > n.Calls[i-1].Total {
			t.Fatalf("the calls are not in order, or twice: %s", outline(n))
		}
		names[c.Name] = true
		checkNode(t, c)
	}
	if sum != n.Total {
		t.Fatalf("it has %v with its calls, and says %v: %s", sum, n.Total, outline(n))
	}
}

// selfOf adds up the time of a function in itself.
func selfOf(n *profiles.Node, name string) (self time.Duration) {
	if n.Name == name {
		self = n.Self
	}
	for _, c := range n.Calls {
		self += selfOf(c, name)
	}
	return self
}
