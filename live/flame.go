package live

import (
	"context"
	"net/url"
	"slices"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/observer"
)

// Bounds of a flame graph.
const (
	maxFlameNodes = 3000
	maxFlameDepth = 256
	leastShare    = 1.0 / 2000 // of the whole; narrower than a pixel
)

// A flameGraph is what ran, by the functions that called it.
type flameGraph struct {
	profileHead
	flameNodes
	Functions []functionRow `json:"functions"` // of the nodes
}

// flameNodes are the calls of a tree that there is room for. Each is after its parent. Siblings
// come by descending time. The first is the whole.
type flameNodes struct {
	Nodes   []flameNode `json:"nodes"`   // each before its calls
	Cut     int         `json:"cut"`     // calls left out
	CutTime float64     `json:"cutTime"` // of them, in their callers' time only
}

type flameNode struct {
	Parent   int     `json:"parent"`   // index; -1 of the first
	Function int     `json:"function"` // index
	Total    float64 `json:"total"`
	Self     float64 `json:"self"`
}

// flame is the view of a profile as a flame graph.
func flame(_ context.Context, _ *handler, p *profiled, _ url.Values) (any, error) {
	functions := newFunctionIndex(profiles.Functions(p.trace, p.samples))
	g := flameGraph{profileHead: p.head(),
		flameNodes: newFlameNodes(profiles.NewTree(p.trace, p.samples), functions)}
	g.Functions = functions.rows
	return g, nil
}

func newFlameNodes(root *profiles.Node, functions *functionIndex) (g flameNodes) {
	cut := largest(root,
		func(n *profiles.Node) []*profiles.Node { return n.Calls },
		func(n *profiles.Node) float64 { return observer.Milliseconds(n.Total) },
		func(n *profiles.Node, parent int) {
			g.Nodes = append(g.Nodes,
				flameNode{parent, functions.of(n.Name), observer.Milliseconds(n.Total),
					observer.Milliseconds(n.Self)})
		})
	g.Cut, g.CutTime = cut.nodes, cut.size
	return g
}

// cutNodes counts what largest leaves out.
type cutNodes struct {
	nodes int
	size  float64 // of the outermost of them
}

// largest gives the largest nodes of a tree to take, each after its parent, with the index of that.
// It takes none that is smaller than one that it leaves out, except nodes at a depth of more than
// maxFlameDepth. No node may be larger than its parent.
func largest[N any](root N, children func(N) []N, size func(N) float64,
	take func(n N, parent int)) (cut cutNodes) {
	var sizes []float64
	var measure func(n N)
	measure = func(n N) {
		sizes = append(sizes, size(n))
		for _, c := range children(n) {
			measure(c)
		}
	}
	measure(root)
	all := len(sizes)
	least := size(root) * leastShare
	over := false // nodes of the size least are left out
	if all > maxFlameNodes {
		slices.Sort(sizes)
		if bound := sizes[all-maxFlameNodes-1]; bound >= least {
			least, over = bound, true
		}
	}
	taken := 0
	var walk func(n N, parent, depth int)
	walk = func(n N, parent, depth int) {
		index := taken
		taken++
		take(n, parent)
		for _, c := range children(n) {
			if s := size(c); s <= 0 || s < least || over && s == least || depth == maxFlameDepth {
				cut.size += s
				continue
			}
			walk(c, index, depth+1)
		}
	}
	walk(root, -1, 0)
	cut.nodes = all - taken
	return cut
}
