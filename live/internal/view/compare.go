package view

import (
	"slices"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/requests"
)

// Bounds of a Comparison.
const (
	maxComparedPaths     = 300
	maxComparedBars      = 1000 // on each side
	maxComparedFunctions = 60
)

// MaxChoices bounds Comparison.Choices.
const MaxChoices = 60

// A Comparison compares a request A with another request B. A difference is A's amount minus B's.
type Comparison struct {
	A        comparedRequest  `json:"a"`                // the request, usually a slow one
	B        comparedRequest  `json:"b"`                // the other request, usually a fast one
	Median   float64          `json:"median,omitempty"` // median of the route, which selected B
	Chosen   bool             `json:"chosen"`           // the parameter b selected B
	Sentence string           `json:"sentence"`         // names the main difference
	Spans    []spanDifference `json:"spans"`            // each path before the paths below it
	// indices in Spans, the largest difference on the critical path first
	Order    []int            `json:"order"`
	SpansCut int              `json:"spansCut"` // paths with small differences, left out
	BarsCut  int              `json:"barsCut"`  // spans without a bar, for lack of room
	Waits    []waitDifference `json:"waits"`    // the largest difference first

	Functions    []comparedFunction `json:"functions"`    // the largest difference first
	FunctionsCut int                `json:"functionsCut"` // functions left out: small differences
	OtherEngine  bool               `json:"otherEngine"`  // CPU against wall time: not comparable
	Choices      []requestRow       `json:"choices"`      // requests of A's route, at most 60
	ChoicesCut   int                `json:"choicesCut"`   // further requests of the route
}

// A comparedRequest is one side of a comparison.
type comparedRequest struct {
	requestRow
	Waits   bool   `json:"waits"`              // an execution trace recorded the waits
	NoWaits string `json:"no_waits,omitempty"` // the reason why there are none
	Samples int    `json:"samples"`            // samples of the request
}

func newComparedRequest(q requests.Request, waits bool, samples int) comparedRequest {
	return comparedRequest{newRequestRow(q.Root), waits, string(q.NoWaits), samples}
}

// A spanDifference compares the spans of a path: the names from the request down to the spans.
type spanDifference struct {
	Name   string  `json:"name"`   // name of the spans
	Parent int     `json:"parent"` // index of the path above; -1 for the request
	Depth  int     `json:"depth"`  // 0 for the request
	A      spanSum `json:"a"`      // the path's spans in A
	B      spanSum `json:"b"`      // the path's spans in B
}

// A spanSum sums up the spans of a path.
type spanSum struct {
	Count    int       `json:"count"`          // spans
	Total    float64   `json:"total"`          // sum of the durations
	Critical float64   `json:"critical"`       // on the critical path; all paths add up
	Bars     []spanBar `json:"bars,omitempty"` // in the order of the request's rows
}

// A spanBar is one span of a path.
type spanBar struct {
	Start  float64 `json:"start"`            // since the start of the request
	Took   float64 `json:"took"`             // duration
	Failed bool    `json:"failed,omitempty"` // the span ended with an error
}

// A waitDifference compares the time that goroutines spent in a state.
type waitDifference struct {
	stateKind
	A float64 `json:"a"` // time in A
	B float64 `json:"b"` // time in B
}

// A comparedFunction compares the samples of a function, including the runtime functions below.
type comparedFunction struct {
	Name  string  `json:"name"`            // name of the function
	File  string  `json:"file,omitempty"`  // source file
	Line  int     `json:"line,omitempty"`  // first line of the function
	Waits bool    `json:"waits,omitempty"` // the samples are of waiting goroutines
	A     float64 `json:"a"`               // time in A
	B     float64 `json:"b"`               // time in B
}

// NewComparison compares request a with request b. choices are further requests of a's route, the
// newest first. The comparison lists at most MaxChoices of the choices.
func NewComparison(a, b SampledRequest, choices []requests.Snapshot) Comparison {
	of := requests.Compare(requests.Part{Request: a.Request, Profile: a.trace()},
		requests.Part{Request: b.Request, Profile: b.trace()})
	cut := max(0, len(choices)-MaxChoices)
	c := Comparison{
		A:        newComparedRequest(of.Slow, of.SlowWaits, of.SlowSamples),
		B:        newComparedRequest(of.Usual, of.UsualWaits, of.UsualSamples),
		Sentence: block(of.Sentence()), OtherEngine: of.OtherEngine,
		Choices: newRequestRows(choices[:len(choices)-cut]), ChoicesCut: cut,
	}
	indices := c.fillSpans(of.Spans)
	c.fillBars(of.Slow, of.SlowPlaces, indices, func(d *spanDifference) *spanSum { return &d.A })
	c.fillBars(of.Usual, of.UsualPlaces, indices, func(d *spanDifference) *spanSum { return &d.B })
	c.Waits = make([]waitDifference, 0, len(of.Waits))
	for _, d := range of.Waits {
		c.Waits = append(c.Waits, waitDifference{newStateKind(d.Kind), ms(d.Slow), ms(d.Usual)})
	}
	n := min(len(of.Functions), maxComparedFunctions)
	c.Functions, c.FunctionsCut = make([]comparedFunction, 0, n), len(of.Functions)-n
	for _, d := range of.Functions[:n] {
		c.Functions = append(c.Functions, comparedFunction{
			Shown(d.Name), Shown(d.File), d.Line, d.Waits, ms(d.Slow), ms(d.Usual),
		})
	}
	return c
}

// fillSpans sets c.Spans to the paths with the largest differences, and the paths above them. The
// result maps a path's place to an index in c.Spans, or to -1 for a path left out.
func (c *Comparison) fillSpans(all []requests.SpanDifference) (indices []int) {
	byPlace := make([]*requests.SpanDifference, len(all))
	for i := range all {
		byPlace[all[i].Place] = &all[i]
	}
	indices = slices.Repeat([]int{-1}, len(all))
	var taken, path []int
	for i := range all {
		path = path[:0]
		for at := all[i].Place; at >= 0 && indices[at] < 0; at = byPlace[at].Parent {
			path = append(path, at)
		}
		if len(taken)+len(path) > maxComparedPaths {
			continue // a shorter path may still fit
		}
		for _, at := range path {
			indices[at] = 0
		}
		taken = append(taken, path...)
	}
	slices.Sort(taken)
	c.Spans, c.Order = make([]spanDifference, 0, len(taken)), make([]int, 0, len(taken))
	c.SpansCut = len(all) - len(taken)
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
	return spanSum{Count: s.Count, Total: ms(s.Total), Critical: ms(s.Critical)}
}

// fillBars adds the bars of one side, which side selects. places holds the place of each row.
func (c *Comparison) fillBars(
	q requests.Request, places, indices []int, side func(*spanDifference) *spanSum,
) {
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
		sum.Bars = append(sum.Bars, spanBar{
			ms(s.Start.Sub(q.Root.Start)), ms(max(0, s.Duration())), s.Status.Code == codes.Error,
		})
	}
}
