package profiles

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// A Side is one of the two profiles that a [Difference] compares.
type Side struct {
	Trace    *profile.Trace
	Samples  iter.Seq[profile.Sample] // samples of Trace; NewDifference reads the samples twice
	Requests int                      // number of requests in the samples; 0 if unknown
}

// A Difference compares two profiles, A and B. The profiles may differ in length and load.
// Therefore, the unit of an amount depends on [Side].Requests:
//
//   - If both sides set Requests, an amount is milliseconds of one request.
//   - Otherwise, an amount is a share of the side's whole time, from 0 to 1.
//
// The difference includes functions and calls that only one side contains. NewDifference(b, a)
// returns the difference of NewDifference(a, b) with exchanged sides.
type Difference struct {
	PerRequest bool
	A, B       time.Duration // whole time of each side
	Functions  []FunctionDifference
	Tree       *NodeDifference // the root is named "all"
}

// An Amount is the time of a function on one side, in the unit of the [Difference].
type Amount struct{ Self, Total float64 }

// A FunctionDifference compares the times of a function on both sides. [Difference] sorts functions
// by the change of Self, then by the change of Total. The largest change is first.
type FunctionDifference struct {
	Function // of the side with the larger Total; the times and Samples are 0
	A, B     Amount
}

// A NodeDifference compares the times of a [Node] on both sides. The callers are the same on both
// sides.
type NodeDifference struct {
	Name  string
	A, B  Amount
	Calls []*NodeDifference // the largest sum of both sides first, then by name
}

// NewDifference returns the difference between side a and side b.
func NewDifference(a, b Side) Difference {
	treeA, treeB := NewTree(a.Trace, a.Samples), NewTree(b.Trace, b.Samples)
	d := Difference{PerRequest: a.Requests > 0 && b.Requests > 0, A: treeA.Total, B: treeB.Total}
	unitA, unitB := float64(max(1, d.A)), float64(max(1, d.B)) // nanoseconds of an amount of 1
	if d.PerRequest {
		unitA = float64(a.Requests) * float64(time.Millisecond)
		unitB = float64(b.Requests) * float64(time.Millisecond)
	}
	functionsA, functionsB := Functions(a.Trace, a.Samples), Functions(b.Trace, b.Samples)
	d.Functions = differFunctions(functionsA, functionsB, unitA, unitB)
	d.Tree = differ(treeA, treeB, unitA, unitB)
	return d
}

func differFunctions(a, b []Function, unitA, unitB float64) []FunctionDifference {
	type pair struct{ a, b *Function }
	pairs := map[string]pair{}
	for i := range a {
		pairs[a[i].Name] = pair{a: &a[i]}
	}
	for i := range b {
		pairs[b[i].Name] = pair{pairs[b[i].Name].a, &b[i]}
	}
	all := make([]FunctionDifference, 0, len(pairs))
	for _, p := range pairs {
		var d FunctionDifference
		if p.a != nil {
			d.Function, d.A = *p.a, Amount{float64(p.a.Self) / unitA, float64(p.a.Total) / unitA}
		}
		if p.b != nil {
			d.B = Amount{float64(p.b.Self) / unitB, float64(p.b.Total) / unitB}
			if p.a == nil || isLonger(d.B, d.A) || d.A == d.B && lessPlace(p.b, p.a) {
				d.Function = *p.b
			}
		}
		d.Self, d.Total, d.Samples = 0, 0, 0
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y FunctionDifference) int {
		return cmp.Or(cmp.Compare(math.Abs(y.A.Self-y.B.Self), math.Abs(x.A.Self-x.B.Self)),
			cmp.Compare(math.Abs(y.A.Total-y.B.Total), math.Abs(x.A.Total-x.B.Total)),
			cmp.Compare(x.Name, y.Name))
	})
	return all
}

func isLonger(a, b Amount) bool {
	return cmp.Or(cmp.Compare(a.Total, b.Total), cmp.Compare(a.Self, b.Self)) > 0
}

// lessPlace orders functions of one name, so that exchanged sides give the same result.
func lessPlace(a, b *Function) bool {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.HotLine, b.HotLine)) < 0
}

// differ returns the difference of two nodes. One may be nil.
func differ(a, b *Node, unitA, unitB float64) *NodeDifference {
	d := &NodeDifference{}
	names := map[string]*Node{} // calls that only b has
	var calls []*Node
	if b != nil {
		d.Name, d.B = b.Name, Amount{float64(b.Self) / unitB, float64(b.Total) / unitB}
		for _, c := range b.Calls {
			names[c.Name] = c
		}
		calls = b.Calls
	}
	if a != nil {
		d.Name, d.A = a.Name, Amount{float64(a.Self) / unitA, float64(a.Total) / unitA}
		for _, c := range a.Calls {
			d.Calls = append(d.Calls, differ(c, names[c.Name], unitA, unitB))
			delete(names, c.Name)
		}
	}
	for _, c := range calls {
		if names[c.Name] != nil {
			d.Calls = append(d.Calls, differ(nil, c, unitA, unitB))
		}
	}
	slices.SortFunc(d.Calls, func(x, y *NodeDifference) int {
		return cmp.Or(cmp.Compare(y.Both(), x.Both()), cmp.Compare(x.Name, y.Name))
	})
	return d
}

// Both returns the sum of A.Total and B.Total.
func (d *NodeDifference) Both() float64 { return d.A.Total + d.B.Total }
