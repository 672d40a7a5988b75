package live

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// Bounds of the samples of a request on the page.
const (
	maxChartSamples = 20_000
	maxChartStacks  = 8000
	maxChartDepth   = 128 // frames of a stack, from the outermost
)

// A sampleChart is the samples of a request, on the request's time.
type sampleChart struct {
	Session uint32 `json:"session"` // id of the recording with the samples
	Engine  string `json:"engine"`
	// between two samples of a goroutine or a thread
	Interval float64 `json:"interval"`
	// some functions are of modules that the policy does not show
	Filtered bool         `json:"filtered,omitempty"`
	Frames   []chartFrame `json:"frames"` // functions of the stacks
	// the index of a frame, and of the stack that it was called from, or -1; each is after that one
	Stacks [][2]int    `json:"stacks"`
	Spans  []chartSpan `json:"spans"` // that have samples, by their rows
	Cut    int         `json:"cut"`   // samples left out
}

type chartFrame struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // see flameNode
}

type chartSpan struct {
	ID string `json:"id"` // of the span, 16 hex digits
	// by time: milliseconds since the request's start, the milliseconds that it stands for, and its stack
	Samples [][3]float64 `json:"samples"`
}

// requestSamples answers with the samples that the newest session has of a request.
func (h *handler) requestSamples(w http.ResponseWriter, r *http.Request) {
	q, ok := h.find(r.PathValue("trace"), r.PathValue("span"))
	if !ok {
		refuseRequest(w)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	done, ok := h.working(w, r)
	if !ok {
		return
	}
	defer done()
	session, _ := h.sampled(q)
	if session == nil {
		refuse(w, http.StatusNotFound, "no session in memory has samples of this request")
		return
	}
	chart, err := newSampleChart(r.Context(), q, session)
	if err != nil {
		return // the client is gone
	}
	answer(w, chart)
}

// newSampleChart lists the samples of a request. The error is ctx's cause.
func newSampleChart(ctx context.Context, q requests.Request, s *sessions.Session) (sampleChart,
	error) {
	t := s.Trace()
	b := chartBuilder{
		t: t, l: limits{bytes: maxDetail}, frames: map[string]int{}, stacks: map[[2]int]int{},
		known: map[int]chartStack{}, spans: map[trace.SpanID]*chartSpan{},
		chart: sampleChart{
			Session: uint32(s.ID()), Engine: shown(string(t.Engine)),
			Interval: observer.Milliseconds(t.Interval), Filtered: t.Stats.Filtered > 0,
			Frames: []chartFrame{}, Stacks: [][2]int{}, Spans: []chartSpan{},
		},
	}
	n := 0
	for span, sample := range requests.Samples(q, t) {
		if n++; n%lookEvery == 1 && ctx.Err() != nil {
			return sampleChart{}, context.Cause(ctx)
		}
		of := b.spans[span.SpanID]
		if of == nil {
			of = &chartSpan{ID: span.SpanID.String()}
			b.spans[span.SpanID] = of
		}
		stack, ok := b.stack(sample)
		row := [3]float64{observer.Milliseconds(t.Origin.Add(sample.Timestamp).Sub(q.Root.Start)),
			observer.Milliseconds(sample.Weight), float64(stack)}
		if !ok || n-b.chart.Cut > maxChartSamples || !b.l.take(row) {
			b.chart.Cut++
			continue
		}
		of.Samples = append(of.Samples, row)
	}
	for _, r := range requests.Rows(q) {
		if of := b.spans[r.Span.SpanID]; of != nil && len(of.Samples) > 0 {
			b.chart.Spans = append(b.chart.Spans, *of)
		}
	}
	return b.chart, nil
}

// A chartBuilder collects the stacks of samples.
type chartBuilder struct {
	t      *profile.Trace
	l      limits
	chart  sampleChart
	frames map[string]int
	stacks map[[2]int]int
	known  map[int]chartStack // by the trace's stacks
	spans  map[trace.SpanID]*chartSpan
}

type chartStack struct{ at, depth int }

// stack returns the index of a sample's stack. ok is false if there is no room for it.
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

// traceStack returns what stands for a stack of the trace.
func (b *chartBuilder) traceStack(id int) (chartStack, bool) {
	var missing []int // of the stacks from id outwards
	leaf, found := chartStack{at: profile.None}, false
	for ; id != profile.None; id = b.t.Stacks[id].ParentID {
		if leaf, found = b.known[id]; found {
			break
		}
		missing = append(missing, id)
	}
	if !found {
		leaf = chartStack{at: profile.None}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if leaf.depth < maxChartDepth {
			at, ok := b.add(b.t.Frames[b.t.Stacks[missing[i]].FrameID].Name, leaf.at)
			if !ok {
				return leaf, false
			}
			leaf = chartStack{at, leaf.depth + 1}
		}
		b.known[missing[i]] = leaf
	}
	return leaf, true
}

// add returns the index of the stack of a function and its caller.
func (b *chartBuilder) add(name string, parent int) (at int, ok bool) {
	frame, known := b.frames[name]
	if !known {
		f := chartFrame{shown(name), kind(name)}
		if len(b.chart.Stacks) == maxChartStacks || !b.l.take(f) {
			return 0, false
		}
		frame = len(b.chart.Frames)
		b.frames[name] = frame
		b.chart.Frames = append(b.chart.Frames, f)
	}
	key := [2]int{frame, parent}
	at, known = b.stacks[key]
	if known {
		return at, true
	}
	if len(b.chart.Stacks) == maxChartStacks || !b.l.take(key) {
		return 0, false
	}
	at = len(b.chart.Stacks)
	b.stacks[key] = at
	b.chart.Stacks = append(b.chart.Stacks, key)
	return at, true
}
