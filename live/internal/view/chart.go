package view

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
)

// Bounds of a SampleChart.
const (
	maxChartSamples = 20_000
	maxChartStacks  = 8000
	maxChartDepth   = 128 // frames of a stack; the innermost frames of deeper stacks are left out
)

// A SampleChart lists the samples of a request in the order of time.
type SampleChart struct {
	Session  uint32       `json:"session"`            // id of the session with the samples
	Engine   string       `json:"engine"`             // engine of the sampler: cpu, window or wall
	Interval float64      `json:"interval"`           // between samples of a goroutine or thread
	Filtered bool         `json:"filtered,omitempty"` // the policy hides some functions
	Frames   []chartFrame `json:"frames"`             // functions of the stacks
	// pairs of a frame's index and the index of the caller's stack, which comes before, or -1
	Stacks [][2]int    `json:"stacks"`
	Spans  []chartSpan `json:"spans"` // spans with samples, in the order of their rows
	Cut    int         `json:"cut"`   // samples left out
}

type chartFrame struct {
	Name string `json:"name"` // name of the function
	Kind string `json:"kind"` // owner of the code: see functionRow
}

type chartSpan struct {
	ID string `json:"id"` // id of the span, 16 hex digits
	// by time: milliseconds since the request's start, weight in milliseconds, index of the stack
	Samples [][3]float64 `json:"samples"`
}

// NewSampleChart returns the samples of a request. q.Session must not be nil. If ctx ends first,
// NewSampleChart returns the cause of ctx as an error.
func NewSampleChart(ctx context.Context, q SampledRequest) (SampleChart, error) {
	t := q.Session.Trace()
	b := chartBuilder{
		trace: t, limits: limits{bytes: maxDetail}, frames: map[string]int{},
		stacks: map[[2]int]int{}, known: map[int]chartStack{}, spans: map[trace.SpanID]*chartSpan{},
		chart: SampleChart{
			Session: uint32(q.Session.ID()), Engine: Shown(string(t.Engine)),
			Interval: ms(t.Interval), Filtered: t.Stats.Filtered > 0,
			Frames: []chartFrame{}, Stacks: [][2]int{}, Spans: []chartSpan{},
		},
	}
	n := 0
	for span, sample := range requests.Samples(q.Request, t) {
		if n++; n%checkEvery == 1 && ctx.Err() != nil {
			return SampleChart{}, context.Cause(ctx)
		}
		of := b.spans[span.SpanID]
		if of == nil {
			of = &chartSpan{ID: span.SpanID.String()}
			b.spans[span.SpanID] = of
		}
		stack, ok := b.stack(sample)
		at := t.Origin.Add(sample.Timestamp).Sub(q.Root.Start)
		row := [3]float64{ms(at), ms(sample.Weight), float64(stack)}
		if !ok || n-b.chart.Cut > maxChartSamples || !b.limits.take(row) {
			b.chart.Cut++
			continue
		}
		of.Samples = append(of.Samples, row)
	}
	for _, r := range requests.Rows(q.Request) {
		if of := b.spans[r.Span.SpanID]; of != nil && len(of.Samples) > 0 {
			b.chart.Spans = append(b.chart.Spans, *of)
		}
	}
	return b.chart, nil
}

// A chartBuilder collects the frames and the stacks of a chart, without duplicates.
type chartBuilder struct {
	trace  *profile.Trace
	limits limits
	chart  SampleChart
	frames map[string]int     // indices in chart.Frames by name
	stacks map[[2]int]int     // indices in chart.Stacks
	known  map[int]chartStack // by the ids of the trace's stacks
	spans  map[trace.SpanID]*chartSpan
}

type chartStack struct{ at, depth int }

// stack returns the index of a sample's stack. ok is false if the chart has no room for the stack.
func (b *chartBuilder) stack(s profile.Sample) (at int, ok bool) {
	if s.StackID == profile.None {
		return b.add(profile.NoStack, profile.None)
	}
	leaf, ok := b.traceStack(s.StackID)
	if ok && s.Marker == profile.Idle {
		return b.add("[waits]", leaf.at)
	}
	return leaf.at, ok
}

func (b *chartBuilder) traceStack(id int) (chartStack, bool) {
	leaf := chartStack{at: profile.None}
	var missing []int // ids of unknown stacks, the innermost first
	for ; id != profile.None; id = b.trace.Stacks[id].ParentID {
		if known, ok := b.known[id]; ok {
			leaf = known
			break
		}
		missing = append(missing, id)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if leaf.depth < maxChartDepth {
			name := b.trace.Frames[b.trace.Stacks[missing[i]].FrameID].Name
			at, ok := b.add(name, leaf.at)
			if !ok {
				return leaf, false
			}
			leaf = chartStack{at, leaf.depth + 1}
		}
		b.known[missing[i]] = leaf
	}
	return leaf, true
}

// add returns the index of a function's stack with the caller's stack parent.
func (b *chartBuilder) add(name string, parent int) (at int, ok bool) {
	frame, known := b.frames[name]
	if !known {
		f := chartFrame{Shown(name), kind(name)}
		if len(b.chart.Stacks) == maxChartStacks || !b.limits.take(f) {
			return 0, false
		}
		frame = len(b.chart.Frames)
		b.frames[name] = frame
		b.chart.Frames = append(b.chart.Frames, f)
	}
	key := [2]int{frame, parent}
	if at, known = b.stacks[key]; known {
		return at, true
	}
	if len(b.chart.Stacks) == maxChartStacks || !b.limits.take(key) {
		return 0, false
	}
	at = len(b.chart.Stacks)
	b.stacks[key] = at
	b.chart.Stacks = append(b.chart.Stacks, key)
	return at, true
}
