package profiles

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// A Node is a function in a flame graph. The nodes above the node are the function's callers.
type Node struct {
	Name  string
	Self  time.Duration // time in the function itself
	Total time.Duration // Self and the Total of all Calls
	Calls []*Node       // callees of the function: the longest first, then by name
}

const rootName = "all"

// NewTree returns a tree of the functions that ran. The parent of a function is the caller. samples
// must be samples of t. The root is named "all", and contains the whole time of the samples.
// NewTree joins calls with the same name and the same callers. [profile.NoStack] and [Waits] appear
// in the same way as in [Functions].
func NewTree(t *profile.Trace, samples iter.Seq[profile.Sample]) *Node {
	b := treeBuilder{root: &Node{Name: rootName}, calls: map[callKey]*Node{}}
	stacks := make([]*Node, len(t.Stacks))
	for l, w := range leaves(t, samples) {
		var at *Node
		if l.stack == profile.None {
			at = b.call(b.root, profile.NoStack)
		} else {
			at = b.stack(t, stacks, l.stack)
		}
		if l.waits {
			at = b.call(at, Waits)
		}
		at.Self += w.time
	}
	b.root.sum()
	return b.root
}

type callKey struct {
	caller *Node
	name   string
}

// A treeBuilder finds calls by their callers.
type treeBuilder struct {
	root  *Node
	calls map[callKey]*Node
}

func (b *treeBuilder) call(caller *Node, name string) *Node {
	key := callKey{caller, name}
	n := b.calls[key]
	if n == nil {
		n = &Node{Name: name}
		b.calls[key] = n
		caller.Calls = append(caller.Calls, n)
	}
	return n
}

// stack returns the node of a stack, and makes it and its callers first.
func (b *treeBuilder) stack(t *profile.Trace, known []*Node, id int) *Node {
	if id == profile.None {
		return b.root
	}
	if known[id] == nil {
		stack := t.Stacks[id]
		known[id] = b.call(b.stack(t, known, stack.ParentID), t.Frames[stack.FrameID].Name)
	}
	return known[id]
}

// sum sets the totals, and sorts the calls.
func (n *Node) sum() {
	n.Total = n.Self
	for _, c := range n.Calls {
		c.sum()
		n.Total += c.Total
	}
	slices.SortFunc(n.Calls, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
}

// A Sandwich consists of the tree of a function's callers and the tree of the function's callees.
// The function is the root of both trees. Both trees contain the whole time of the function.
type Sandwich struct {
	// Callers is an inverted tree: the Calls of a node are the node's callers. Self is the time of
	// stacks that begin at the node.
	Callers *Node
	Callees *Node // the Calls of a node are the node's callees
}

// Sandwich returns the callers and the callees of the function with the given name. n must be the
// root of a tree of [NewTree]. Sandwich merges all calls of the function in the tree. If the tree
// contains no such function, ok is false.
//
// A recursive function counts once. Callers contains the callers of the outermost call. Callees
// contains the inner calls.
func (n *Node) Sandwich(name string) (s Sandwich, ok bool) {
	callers := treeBuilder{root: &Node{Name: name}, calls: map[callKey]*Node{}}
	callees := treeBuilder{root: &Node{Name: name}, calls: map[callKey]*Node{}}
	var path []*Node // from below the root of the tree
	var walk func(at *Node)
	walk = func(at *Node) {
		if at.Name == name && len(path) > 0 {
			ok = true
			up := callers.root
			for _, caller := range slices.Backward(path[:len(path)-1]) {
				up = callers.call(up, caller.Name)
			}
			up.Self += at.Total
			callees.merge(callees.root, at)
			return
		}
		for _, c := range at.Calls {
			path = append(path, c)
			walk(c)
			path = path[:len(path)-1]
		}
	}
	walk(n)
	if !ok {
		return Sandwich{}, false
	}
	callers.root.sum()
	callees.root.sum()
	return Sandwich{callers.root, callees.root}, true
}

// merge adds a node and its calls.
func (b *treeBuilder) merge(to, from *Node) {
	to.Self += from.Self
	for _, c := range from.Calls {
		b.merge(b.call(to, c.Name), c)
	}
}
