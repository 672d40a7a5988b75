package view

import (
	"slices"

	"github.com/perfline/perfline/internal/profiles"
)

// Bounds of a flame graph.
const (
	maxFlameNodes = 3000
	maxFlameDepth = 256
	leastShare    = 1.0 / 2000 // of the whole; a smaller node is narrower than a pixel
)

// A FlameGraph shows the time of functions by their callers.
type FlameGraph struct {
	profileHead
	flameNodes
	Functions []functionRow `json:"functions"` // functions of the nodes
}

// flameNodes are the largest calls of a tree. The first node is the whole, and siblings come by
// descending time.
type flameNodes struct {
	Nodes   []flameNode `json:"nodes"`   // each before its calls
	Cut     int         `json:"cut"`     // calls left out
	CutTime float64     `json:"cutTime"` // time of the calls left out, counted in their callers
}

type flameNode struct {
	Parent   int     `json:"parent"`   // index of the caller; -1 for the first node
	Function int     `json:"function"` // index in the list of functions
	Total    float64 `json:"total"`    // time in the function and its callees
	Self     float64 `json:"self"`     // time in the function itself
}

// NewFlameGraph returns the flame graph of a profile.
func NewFlameGraph(p *Profile) FlameGraph {
	functions := newFunctionIndex(profiles.Functions(p.trace, p.samples))
	nodes := newFlameNodes(profiles.NewTree(p.trace, p.samples), functions)
	return FlameGraph{profileHead: p.head(), flameNodes: nodes, Functions: functions.rows}
}

func newFlameNodes(root *profiles.Node, functions *functionIndex) (g flameNodes) {
	cut := largest(root,
		func(n *profiles.Node) []*profiles.Node { return n.Calls },
		func(n *profiles.Node) float64 { return ms(n.Total) },
		func(n *profiles.Node, parent int) {
			function := functions.index(n.Name)
			g.Nodes = append(g.Nodes, flameNode{parent, function, ms(n.Total), ms(n.Self)})
		})
	g.Cut, g.CutTime = cut.nodes, cut.size
	return g
}

// cutNodes counts the nodes that largest leaves out.
type cutNodes struct {
	nodes int
	size  float64 // sum of the outermost nodes
}

// largest calls take for the largest nodes of a tree, each after its parent, with the parent's
// index. No node left out is larger than a taken node, except below maxFlameDepth. No node may be
// larger than its parent.
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
	over := false // leave out nodes of exactly the size least, too
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

// A Sandwich is a function with its callers and its callees.
type Sandwich struct {
	profileHead
	Function  int           `json:"function"`  // index in Functions
	Callers   flameNodes    `json:"callers"`   // inverted: a node's parent is the callee
	Callees   flameNodes    `json:"callees"`   // the function is the first node
	Functions []functionRow `json:"functions"` // functions of the nodes
}

// NewSandwich returns the callers and the callees of a function. The parameter function is the name
// in the form that [Shown] returns. If the profile contains no such function, NewSandwich returns
// an error.
func NewSandwich(p *Profile, function string) (Sandwich, error) {
	all := profiles.Functions(p.trace, p.samples)
	name, err := functionNamed(all, function)
	if err != nil {
		return Sandwich{}, err
	}
	between, _ := profiles.NewTree(p.trace, p.samples).Sandwich(name)
	functions := newFunctionIndex(all)
	s := Sandwich{
		profileHead: p.head(), Function: functions.index(name),
		Callers: newFlameNodes(between.Callers, functions),
		Callees: newFlameNodes(between.Callees, functions),
	}
	s.Functions = functions.rows
	return s, nil
}
