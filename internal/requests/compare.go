package requests

import (
	"cmp"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// A Part is one of the two requests in a comparison.
type Part struct {
	Request Request
	Profile *profile.Trace // with samples of the request; may be nil
}

// A Comparison contains the differences between a slow and a usual request. Each difference is the
// slow request's time minus the usual request's time. Each list begins with the largest difference.
type Comparison struct {
	Slow, Usual Request
	Spans       []SpanDifference     // by Critical
	Waits       []WaitDifference     // empty if no execution trace covers either request
	Functions   []FunctionDifference // empty if the profiles contain no sample of the requests

	// The places in Spans of the rows of each request, in the order of Rows.
	SlowPlaces, UsualPlaces []int

	// For a request without waits, the times in Waits are zero. For a request without samples, the
	// times in Functions are zero.
	SlowWaits, UsualWaits     bool
	SlowSamples, UsualSamples int
	// OtherEngine reports that one profile measures CPU time and the other wall-clock time. Then
	// Functions is empty.
	OtherEngine bool
}

// A SpanSum contains the number and the total times of a request's spans with one path.
type SpanSum struct {
	Count    int
	Total    time.Duration // of the durations, also of concurrent spans
	Critical time.Duration // on the critical path, see CriticalPath
}

// A SpanDifference compares the spans of one path. The path of a span consists of the names from
// the root to the span.
type SpanDifference struct {
	Name        string // see Row.Name
	Depth       int    // 0 is the request itself
	Place       int    // in the order of the tree, from 0
	Parent      int    // the place of the path above; -1 for the request itself
	Slow, Usual SpanSum
}

// Critical returns the slow request's time on the critical path, minus the usual request's time.
func (d SpanDifference) Critical() time.Duration { return d.Slow.Critical - d.Usual.Critical }

// A WaitDifference compares the time that the requests spent in one kind of state.
type WaitDifference struct {
	Kind        waits.Kind
	Slow, Usual time.Duration
}

// Took returns the slow request's time minus the usual request's time.
func (d WaitDifference) Took() time.Duration { return d.Slow - d.Usual }

// A FunctionDifference compares the time of a function in the two requests. The time includes calls
// from the function to the runtime.
type FunctionDifference struct {
	Name        string // with the package's path
	File        string // empty if unknown
	Line        int    // where the function begins; 0 if unknown
	Waits       bool   // the samples are of waiting goroutines
	Slow, Usual time.Duration
}

// Took returns the slow request's time minus the usual request's time.
func (d FunctionDifference) Took() time.Duration { return d.Slow - d.Usual }

// Took returns the slow request's duration minus the usual request's duration.
func (c Comparison) Took() time.Duration { return c.Slow.Duration() - c.Usual.Duration() }

// Compare compares two requests by span, by state and by function. The requests may belong to
// different routes.
//
// Two spans correspond if the paths of the spans are equal. A path consists of the names from the
// root to the span. The roots always correspond, even if the names differ. Compare adds up the
// spans of one path.
//
// The differences on the critical path add up to [Comparison.Took]. Each moment of a request
// belongs to one span on the critical path: see [CriticalPath]. Only SpanSum.Total includes time
// off the critical path.
//
// Comparison.Waits compares the causes of the durations. For a request with an execution trace, the
// sum of the causes equals the duration.
func Compare(slow, usual Part) Comparison {
	c := Comparison{Slow: slow.Request, Usual: usual.Request}
	tree := &pathTree{children: map[pathKey]int{}}
	slowRows, usualRows := Rows(slow.Request), Rows(usual.Request)
	c.SlowPlaces, c.UsualPlaces = tree.add(slowRows), tree.add(usualRows)
	c.Spans = tree.order(c.SlowPlaces, c.UsualPlaces)
	sum(c.Spans, slow.Request, slowRows, c.SlowPlaces,
		func(d *SpanDifference) *SpanSum { return &d.Slow })
	sum(c.Spans, usual.Request, usualRows, c.UsualPlaces,
		func(d *SpanDifference) *SpanSum { return &d.Usual })
	slices.SortStableFunc(c.Spans, func(a, b SpanDifference) int {
		return cmp.Compare(b.Critical().Abs(), a.Critical().Abs())
	})
	c.compareWaits()
	c.compareFunctions(slow, usual)
	return c
}

// A pathTree is the tree of the paths of two requests.
type pathTree struct {
	nodes    []pathNode
	children map[pathKey]int
}

type pathNode struct {
	name          string
	parent, depth int
	below         []int
}

type pathKey struct {
	parent int
	name   string
}

// add adds the paths of rows and returns the node of each row.
func (t *pathTree) add(rows []Row) []int {
	var nodes, above []int
	for _, row := range rows {
		parent, name := -1, ""
		if row.Depth > 0 {
			parent, name = above[row.Depth-1], row.Name()
		}
		node, known := t.children[pathKey{parent, name}]
		if !known {
			node = len(t.nodes)
			t.children[pathKey{parent, name}] = node
			t.nodes = append(t.nodes, pathNode{name: row.Name(), parent: parent, depth: row.Depth})
			if parent >= 0 {
				t.nodes[parent].below = append(t.nodes[parent].below, node)
			}
		}
		above = append(above[:row.Depth], node)
		nodes = append(nodes, node)
	}
	return nodes
}

// order returns the paths in the order of the tree. It replaces the nodes in lists by places.
func (t *pathTree) order(lists ...[]int) []SpanDifference {
	all := make([]SpanDifference, 0, len(t.nodes))
	places := make([]int, len(t.nodes))
	var walk func(node, parent int)
	walk = func(node, parent int) {
		n := &t.nodes[node]
		place := len(all)
		places[node] = place
		all = append(all, SpanDifference{Name: n.name, Depth: n.depth, Place: place,
			Parent: parent})
		for _, below := range n.below {
			walk(below, place)
		}
	}
	walk(0, -1)
	for _, list := range lists {
		for i, node := range list {
			list[i] = places[node]
		}
	}
	return all
}

// sum adds the rows of a request to one side of the differences, which side returns.
func sum(all []SpanDifference, q Request, rows []Row, places []int,
	side func(*SpanDifference) *SpanSum) {
	of := map[*otlpenc.Span]*SpanSum{}
	for i, row := range rows {
		s := side(&all[places[i]])
		s.Count++
		s.Total += max(0, row.Span.Duration())
		of[row.Span] = s
	}
	for _, part := range CriticalPath(q) {
		of[part.Span].Critical += part.End - part.Start
	}
}

func (c *Comparison) compareWaits() {
	var slow, usual [waiting.Kinds]time.Duration
	c.SlowWaits, c.UsualWaits = addCauses(&slow, c.Slow), addCauses(&usual, c.Usual)
	for kind := range waiting.Kinds {
		if slow[kind] != 0 || usual[kind] != 0 {
			c.Waits = append(c.Waits, WaitDifference{kind, slow[kind], usual[kind]})
		}
	}
	size := func(d WaitDifference) time.Duration {
		if d.Kind == waits.Gap { // explains nothing, so it comes last
			return -1
		}
		return d.Took().Abs()
	}
	slices.SortStableFunc(c.Waits,
		func(a, b WaitDifference) int { return cmp.Compare(size(b), size(a)) })
}

// addCauses adds the causes of a request's duration. It returns false if the causes are unknown.
func addCauses(to *[waiting.Kinds]time.Duration, q Request) bool {
	if q.Waits == nil {
		return false
	}
	unknown := q.Waits.Duration
	for _, cause := range q.Waits.Causes {
		to[min(cause.Kind, waiting.Kinds-1)] += cause.Duration
		unknown -= cause.Duration
	}
	to[waits.Gap] += max(0, unknown)
	return len(q.Waits.Causes) > 0
}

func (c *Comparison) compareFunctions(slow, usual Part) {
	wall := func(t *profile.Trace) bool { return t.Engine == profile.EngineWall }
	if s, u := slow.Profile, usual.Profile; s != nil && u != nil && wall(s) != wall(u) {
		c.OtherEngine = true
		return
	}
	all := map[FunctionDifference]*FunctionDifference{} // by function, without times
	add := func(p Part, side func(*FunctionDifference) *time.Duration) (samples int) {
		for _, sample := range Samples(p.Request, p.Profile) {
			samples++
			call := profiles.Innermost(p.Profile, sample)
			key := FunctionDifference{Name: call.Name, File: call.File, Line: call.StartLine,
				Waits: sample.Marker == profile.Idle}
			if all[key] == nil {
				d := key
				all[key] = &d
			}
			*side(all[key]) += sample.Weight
		}
		return samples
	}
	c.SlowSamples = add(slow, func(d *FunctionDifference) *time.Duration { return &d.Slow })
	c.UsualSamples = add(usual, func(d *FunctionDifference) *time.Duration { return &d.Usual })
	for _, d := range all {
		c.Functions = append(c.Functions, *d)
	}
	slices.SortFunc(c.Functions, func(a, b FunctionDifference) int {
		return cmp.Or(cmp.Compare(b.Took().Abs(), a.Took().Abs()), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
