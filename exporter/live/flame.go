package live

import (
	"cmp"
	"context"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
)

// Bounds of a flame graph.
const (
	maxFlameNodes = 3000
	maxFlameDepth = 256
	leastShare    = 1.0 / 2000 // of the whole; narrower than a pixel
)

// A flameGraph is what ran, by the functions that called it. Of Nodes each is after its
// parent and siblings come by descending time; the first is the whole.
type flameGraph struct {
	Title    string      `json:"title"`
	Engine   string      `json:"engine"`
	Interval float64     `json:"interval"`
	Samples  int         `json:"samples"`
	Filtered bool        `json:"filtered,omitempty"` // some functions are of modules that the policy does not show
	Nodes    []flameNode `json:"nodes"`
	Cut      int         `json:"cut"`     // functions left out
	CutTime  float64     `json:"cutTime"` // that is in their callers' time only
}

type flameNode struct {
	Parent int     `json:"parent"` // index; -1 of the first
	Name   string  `json:"name"`
	Kind   string  `json:"kind"` // whose code: "own", "std", "runtime", "dep", or "" if there is none
	Total  float64 `json:"total"`
	Self   float64 `json:"self"`
}

// A call is a function called by a certain stack of others.
type call struct {
	name        string
	depth       int
	self, total time.Duration
	children    map[string]*call
}

func (c *call) child(name string) *call {
	next := c.children[name]
	if next == nil {
		next = &call{name: name, depth: c.depth + 1}
		if c.children == nil {
			c.children = map[string]*call{}
		}
		c.children[name] = next
	}
	return next
}

// sum sets and returns the total of a call, whose callees are few levels deep.
func (c *call) sum() time.Duration {
	c.total = c.self
	for _, callee := range c.children {
		c.total += callee.sum()
	}
	return c.total
}

// lookEvery is the number of samples after which the making of a flame graph checks that its client still waits.
const lookEvery = 4096

// newFlameGraph merges samples of t by the names of functions. All but the titles are its. The error
// is ctx's cause.
func newFlameGraph(ctx context.Context, t *profile.Trace, samples iter.Seq[profile.Sample]) (flameGraph, error) {
	g := flameGraph{Engine: shown(string(t.Engine)), Interval: observer.Milliseconds(t.Interval), Filtered: t.Stats.Filtered > 0}
	root := &call{name: "all"}
	stacks := make([]*call, len(t.Stacks))
	var at func(id int) *call
	at = func(id int) *call {
		if id == profile.None {
			return root
		}
		if stacks[id] == nil {
			parent := at(t.Stacks[id].ParentID)
			if parent.depth >= maxFlameDepth {
				stacks[id] = parent
			} else {
				stacks[id] = parent.child(t.Frames[t.Stacks[id].FrameID].Name)
			}
		}
		return stacks[id]
	}
	for s := range samples {
		if g.Samples++; g.Samples%lookEvery == 1 && ctx.Err() != nil {
			return flameGraph{}, context.Cause(ctx)
		}
		leaf := at(s.StackID)
		switch {
		case s.StackID == profile.None:
			leaf = root.child(profile.NoStack)
		case s.Marker == profile.Idle:
			leaf = leaf.child("[waits]")
		}
		leaf.self += s.Weight
	}
	root.sum()
	g.list(root)
	return g, nil
}

// list takes the calls that there is room for: none that takes less time than one that is
// left out, so that each one's caller is among them.
func (g *flameGraph) list(root *call) {
	level, all := []*call{root}, 0
	var totals []time.Duration
	for len(level) > 0 {
		var next []*call
		for _, c := range level {
			all++
			totals = append(totals, c.total)
			for _, child := range c.children {
				next = append(next, child)
			}
		}
		level = next
	}
	least := max(1, time.Duration(float64(root.total)*leastShare))
	if all > maxFlameNodes {
		slices.SortFunc(totals, func(a, b time.Duration) int { return cmp.Compare(b, a) })
		least = max(least, totals[maxFlameNodes]+1)
	}
	var walk func(c *call, parent int)
	walk = func(c *call, parent int) {
		i := len(g.Nodes)
		g.Nodes = append(g.Nodes, flameNode{Parent: parent, Name: shown(c.name), Kind: kind(c.name),
			Total: observer.Milliseconds(c.total), Self: observer.Milliseconds(c.self)})
		var largest []*call
		for _, child := range c.children {
			if child.total >= least {
				largest = append(largest, child)
			} else {
				g.CutTime += observer.Milliseconds(child.total)
			}
		}
		slices.SortFunc(largest, func(a, b *call) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name)) })
		for _, child := range largest {
			walk(child, i)
		}
	}
	walk(root, -1)
	g.Cut = all - len(g.Nodes)
}

// own is the path of the program's main module.
var own = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	return info.Main.Path
})

// kind tells whose code a function is, as far as its name does.
func kind(name string) string {
	pkg := name
	slash := strings.LastIndexByte(pkg, '/') + 1
	if dot := strings.IndexByte(pkg[slash:], '.'); dot >= 0 {
		pkg = pkg[:slash+dot]
	}
	first, _, nested := strings.Cut(pkg, "/")
	switch {
	case strings.HasPrefix(name, "["), name == "all":
		return ""
	case pkg == "main", own() != "" && strings.HasPrefix(pkg+"/", own()+"/"):
		return "own"
	case pkg == "runtime", first == "internal" && nested:
		return "runtime"
	case !strings.Contains(first, "."):
		return "std"
	}
	return "dep"
}
