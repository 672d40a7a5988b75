package view

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/observer"
)

// Bounds of a comparison's data.
const (
	maxComparedPaths     = 300
	maxComparedBars      = 1000 // of each side
	maxComparedFunctions = 60
)

// MaxChoices is the number of requests to compare with that a comparison lists.
const MaxChoices = 60

// A Comparison compares a request, A, with another one, B. A difference is A's amount minus B's.
type Comparison struct {
	A comparedRequest `json:"a"` // the request, usually a slow one
	// the other one, usually of usual duration
	B comparedRequest `json:"b"`
	// of the route since the start of the program, if B was found by it
	Median   float64 `json:"median,omitempty"`
	Chosen   bool    `json:"chosen"`   // the parameter b has selected B
	Sentence string  `json:"sentence"` // says where the difference is
	// a tree in this order: each path before the paths below it
	Spans []spanDifference `json:"spans"`
	// indices in spans, the largest difference on the critical path first
	Order []int `json:"order"`
	// paths with small differences that were left out
	SpansCut  int                `json:"spansCut"`
	BarsCut   int                `json:"barsCut"`   // spans whose bars were left out
	Waits     []waitDifference   `json:"waits"`     // the largest difference first
	Functions []comparedFunction `json:"functions"` // the largest difference first
	// functions with small differences that were left out
	FunctionsCut int `json:"functionsCut"`
	// samples are of CPU time and of wall-clock time: functions cannot be compared
	OtherEngine bool         `json:"otherEngine"`
	Choices     []requestRow `json:"choices"`    // requests of A's route in memory, at most 60
	ChoicesCut  int          `json:"choicesCut"` // further ones
}

// A comparedRequest is one side of a comparison.
type comparedRequest struct {
	requestRow
	Waits   bool `json:"waits"`   // an execution trace has it
	Samples int  `json:"samples"` // of it
}

// A spanDifference compares the spans with the same names from the request to them.
type spanDifference struct {
	Name   string  `json:"name"`   // name
	Parent int     `json:"parent"` // index of the path above; -1 of the request
	Depth  int     `json:"depth"`  // 0 of the request
	A      spanSum `json:"a"`      // its spans in A
	B      spanSum `json:"b"`      // its spans in B
}

// A spanSum sums up the spans of a path.
type spanSum struct {
	Count int     `json:"count"` // spans
	Total float64 `json:"total"` // sum of their durations
	// on the critical path: adds up to the duration of the request
	Critical float64    `json:"critical"`
	Bars     []barOfSum `json:"bars,omitempty"` // in the order of the request's rows
}

// A barOfSum is one span of a path.
type barOfSum struct {
	Start  float64 `json:"start"`            // since the start of the request
	Took   float64 `json:"took"`             // duration
	Failed bool    `json:"failed,omitempty"` // it ended with an error
}

// A waitDifference compares how much of the durations was spent in one state of goroutines.
type waitDifference struct {
	Kind  string  `json:"kind"`  // kind
	Class string  `json:"class"` // class of the kind
	A     float64 `json:"a"`     // time in A
	B     float64 `json:"b"`     // time in B
}

// A comparedFunction compares the samples of a function: in itself, and in the functions of the
// runtime that it called.
type comparedFunction struct {
	Name  string  `json:"name"`            // name
	File  string  `json:"file,omitempty"`  // file of the source
	Line  int     `json:"line,omitempty"`  // where the function begins
	Waits bool    `json:"waits,omitempty"` // the samples are of waiting goroutines
	A     float64 `json:"a"`               // time in A
	B     float64 `json:"b"`               // time in B
}

// NewComparison compares a with b. Choices are further requests of the route of a to compare with,
// the newest first.
func NewComparison(a, b SampledRequest, choices []requests.Snapshot) Comparison {
	of := requests.Compare(requests.Part{Request: a.Request, Profile: a.trace()},
		requests.Part{Request: b.Request, Profile: b.trace()})
	cut := max(0, len(choices)-MaxChoices)
	c := Comparison{
		A:        comparedRequest{newRequestRow(of.Slow.Root), of.SlowWaits, of.SlowSamples},
		B:        comparedRequest{newRequestRow(of.Usual.Root), of.UsualWaits, of.UsualSamples},
		Sentence: block(of.Sentence()), OtherEngine: of.OtherEngine,
		Choices: newRequestRows(choices[:len(choices)-cut]), ChoicesCut: cut,
	}
	indices := c.fillSpans(of.Spans)
	c.fillBars(of.Slow, of.SlowPlaces, indices, func(d *spanDifference) *spanSum { return &d.A })
	c.fillBars(of.Usual, of.UsualPlaces, indices, func(d *spanDifference) *spanSum { return &d.B })
	c.Waits = make([]waitDifference, 0, len(of.Waits))
	for _, d := range of.Waits {
		c.Waits = append(c.Waits, waitDifference{
			d.Kind.String(), waiting.ClassOf(d.Kind).String(),
			observer.Milliseconds(d.Slow), observer.Milliseconds(d.Usual),
		})
	}
	n := min(len(of.Functions), maxComparedFunctions)
	c.Functions, c.FunctionsCut = make([]comparedFunction, 0, n), len(of.Functions)-n
	for _, d := range of.Functions[:n] {
		c.Functions = append(c.Functions,
			comparedFunction{Shown(d.Name), Shown(d.File), d.Line, d.Waits,
				observer.Milliseconds(d.Slow), observer.Milliseconds(d.Usual)})
	}
	return c
}

// fillSpans takes the paths with the largest differences, and the paths above them. It returns the
// index of each by its place; -1 is left out.
func (c *Comparison) fillSpans(all []requests.SpanDifference) (indices []int) {
	byPlace := make([]*requests.SpanDifference, len(all))
	for i := range all {
		byPlace[all[i].Place] = &all[i]
	}
	indices = slices.Repeat([]int{-1}, len(all))
	var taken []int
	var path []int
	for i := range all {
		path = path[:0]
		for at := all[i].Place; at >= 0 && indices[at] < 0; at = byPlace[at].Parent {
			path = append(path, at)
		}
		if len(taken)+len(path) > maxComparedPaths {
			continue // one with a shorter path may have room
		}
		for _, at := range path {
			indices[at] = 0
		}
		taken = append(taken, path...)
	}
	slices.Sort(taken)
	c.Spans, c.SpansCut, c.Order = make([]spanDifference, 0, len(taken)), len(all)-len(taken),
		make([]int, 0, len(taken))
	for i, place := range taken {
		d := byPlace[place]
		indices[place] = i
		row := spanDifference{Name: Shown(d.Name), Parent: -1, Depth: d.Depth,
			A: newSpanSum(d.Slow), B: newSpanSum(d.Usual)}
		if d.Parent >= 0 {
			row.Parent = indices[d.Parent]
		}
		c.Spans = append(c.Spans, row)
	}
	for i := range all {
		if index := indices[all[i].Place]; index >= 0 {
			c.Order = append(c.Order, index)
		}
	}
	return indices
}

func newSpanSum(s requests.SpanSum) spanSum {
	return spanSum{Count: s.Count, Total: observer.Milliseconds(s.Total),
		Critical: observer.Milliseconds(s.Critical)}
}

// fillBars adds the spans of one side: side returns it. places has the place of each row.
func (c *Comparison) fillBars(q requests.Request, places, indices []int,
	side func(*spanDifference) *spanSum) {
	for i, row := range requests.Rows(q) {
		index := indices[places[i]]
		if index < 0 {
			continue
		}
		if i >= maxComparedBars {
			c.BarsCut++
			continue
		}
		s := row.Span
		sum := side(&c.Spans[index])
		sum.Bars = append(sum.Bars,
			barOfSum{observer.Milliseconds(s.Start.Sub(q.Root.Start)),
				observer.Milliseconds(max(time.Duration(0), s.Duration())),
				s.Status.Code == codes.Error})
	}
}
