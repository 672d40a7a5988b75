package live

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/observer"
)

// Bounds of a comparison's data.
const (
	maxComparedPaths     = 300
	maxComparedBars      = 1000 // of each side
	maxComparedFunctions = 60
	maxChoices           = 60
)

// A comparison compares a request, A, with another one, B. A difference is A's amount minus B's.
type comparison struct {
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
	States    []stateDifference  `json:"states"`    // the largest difference first
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
	States  bool `json:"states"`  // an execution trace has it
	Samples int  `json:"samples"` // of it
}

// A spanDifference compares the spans with the same names from the request to them.
type spanDifference struct {
	Name   string  `json:"name"`
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
	Start  float64 `json:"start"` // since the start of the request
	Took   float64 `json:"took"`
	Failed bool    `json:"failed,omitempty"`
}

// A stateDifference compares the parts of the durations that were spent in a kind of state.
type stateDifference struct {
	Kind  string  `json:"kind"`
	Class string  `json:"class"`
	A     float64 `json:"a"` // time in A
	B     float64 `json:"b"` // time in B
}

// A comparedFunction compares the samples of a function: in itself, and in the functions of the
// runtime that it called.
type comparedFunction struct {
	Name  string  `json:"name"`
	File  string  `json:"file,omitempty"`
	Line  int     `json:"line,omitempty"`  // where the function begins
	Waits bool    `json:"waits,omitempty"` // the samples are of waiting goroutines
	A     float64 `json:"a"`               // time in A
	B     float64 `json:"b"`               // time in B
}

// compare answers with the comparison of the requests in the parameters a and b. Without b it takes
// a usual request of a's route.
func (h *handler) compare(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	a, err := h.named(query.Get("a"))
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	c := comparison{Chosen: query.Has("b")}
	var b requests.Snapshot
	if c.Chosen {
		b, err = h.named(query.Get("b"))
	} else {
		b, c.Median, err = h.usual(a)
	}
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	if r.Method != http.MethodHead {
		done, ok := h.working(w, r)
		if !ok {
			return
		}
		defer done()
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	h.opened.Add(b)
	h.opened.Add(a)
	c.Choices, c.ChoicesCut = h.choices(a.Name, a, b)
	c.fill(requests.Compare(h.part(a), h.part(b)))
	answer(w, c)
}

// named returns the request with the ids of its trace and its root span, with a slash between them.
func (h *handler) named(ids string) (requests.Snapshot, error) {
	traceID, spanID, _ := strings.Cut(ids, "/")
	if _, err := lookup.ParseID(traceID, spanID); err != nil {
		return requests.Snapshot{},
			fmt.Errorf("request %s: must be the ids of a trace and of its root span, such as 0102030405060708090a0b0c0d0e0f10/0102030405060708", quoted(ids))
	}
	s, ok := h.snapshot(traceID, spanID)
	if !ok {
		return s, errNoRequest
	}
	return s, nil
}

func quoted(s string) string { return `"` + shown(s) + `"` }

// usual returns another request of a's route, and the median of the route since the start, or 0.
func (h *handler) usual(a requests.Snapshot) (requests.Snapshot, float64, error) {
	b, median, ok := lookup.Usual(h.recent(), a)
	if !ok {
		return b, 0, errors.New("no other request " + shown(a.Name) +
			" without an error is in memory: send one, and compare again")
	}
	return b, observer.Milliseconds(median), nil
}

// choices returns the requests of a route in memory without the compared ones, the newest first.
// They can be opened later, too.
func (h *handler) choices(route string, compared ...requests.Snapshot) (rows []requestRow,
	cut int) {
	all := slices.DeleteFunc(requests.OfRoute(h.recent().All(), route),
		func(s requests.Snapshot) bool {
			return slices.ContainsFunc(compared,
				func(c requests.Snapshot) bool { return c.ID() == s.ID() })
		})
	cut = max(0, len(all)-maxChoices)
	all = all[:len(all)-cut]
	h.listed.AddNew(all)
	rows = make([]requestRow, 0, len(all))
	for _, s := range all {
		root := s.RootSpan()
		rows = append(rows, newRequestRow(&root))
	}
	return rows, cut
}

func (h *handler) part(s requests.Snapshot) requests.Part {
	q := h.waits.With(s.Request())
	session, hottest := h.sampled(q)
	return requests.Part{Request: q, Profile: newSampledRequest(q, session, hottest).trace}
}

func (c *comparison) fill(of requests.Comparison) {
	c.A = comparedRequest{newRequestRow(of.Slow.Root), of.SlowWaits, of.SlowSamples}
	c.B = comparedRequest{newRequestRow(of.Usual.Root), of.UsualWaits, of.UsualSamples}
	c.Sentence, c.OtherEngine = block(of.Sentence()), of.OtherEngine
	indices := c.fillSpans(of.Spans)
	c.fillBars(of.Slow, of.SlowPlaces, indices, func(d *spanDifference) *spanSum { return &d.A })
	c.fillBars(of.Usual, of.UsualPlaces, indices, func(d *spanDifference) *spanSum { return &d.B })
	c.States = make([]stateDifference, 0, len(of.Waits))
	for _, d := range of.Waits {
		c.States = append(c.States,
			stateDifference{d.Kind.String(), waiting.ClassOf(d.Kind).String(),
				observer.Milliseconds(d.Slow), observer.Milliseconds(d.Usual)})
	}
	n := min(len(of.Functions), maxComparedFunctions)
	c.Functions, c.FunctionsCut = make([]comparedFunction, 0, n), len(of.Functions)-n
	for _, d := range of.Functions[:n] {
		c.Functions = append(c.Functions,
			comparedFunction{shown(d.Name), shown(d.File), d.Line, d.Waits,
				observer.Milliseconds(d.Slow), observer.Milliseconds(d.Usual)})
	}
}

// fillSpans takes the paths with the largest differences, and the paths above them. It returns the
// index of each by its place; -1 is left out.
func (c *comparison) fillSpans(all []requests.SpanDifference) (indices []int) {
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
		row := spanDifference{Name: shown(d.Name), Parent: -1, Depth: d.Depth,
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
func (c *comparison) fillBars(q requests.Request, places, indices []int,
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
