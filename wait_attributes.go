package perfline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/counts"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/waits"
)

// An annotator adds attributes about waits to the spans of slow requests. An annotator delays these
// spans until the recorder has a result, for longestWait at most. All other spans pass at once. A
// flush sends delayed spans without attributes.
type annotator struct {
	next     bridge.Output
	recorder waits.Recorder
	box      *spoolOutput // keeps the delayed spans; may be nil
	stop     func()       // ends the recorder's calls of receive

	pending atomic.Int32 // the number of traces: without any, spans pass without a lock
	// passing is locked for reading while annotated spans pass. A flush locks passing for writing.
	passing sync.RWMutex

	mu     sync.Mutex // guards the following fields
	traces map[trace.TraceID]*waitingTrace
	bytes  int // of all delayed spans
	counts counts.AnnotationStats
}

// A waitingTrace holds the delayed spans of a trace with slow requests.
type waitingTrace struct {
	roots    []waitingRoot
	results  []*waits.Request
	spans    []bridge.Spans
	receipts []uint64    // of spans in the black box
	timer    *time.Timer // ends the delay
}

// A waitingRoot is the local root of a slow request. Its spans arrive before the result or after.
type waitingRoot struct {
	id                  trace.SpanID
	hasResult, hasSpans bool
	tooLarge            bool // the spans passed without attributes, over maxWaitingBytes
}

// complete reports whether all results and all spans of the trace's requests have arrived.
func (t *waitingTrace) complete() bool {
	return !slices.ContainsFunc(t.roots,
		func(r waitingRoot) bool { return !r.hasResult || !r.hasSpans })
}

// root returns the root with an id, or nil.
func (t *waitingTrace) root(id trace.SpanID) *waitingRoot {
	i := slices.IndexFunc(t.roots, func(r waitingRoot) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	return &t.roots[i]
}

// longestWait bounds the delay of spans. A recorder without budget may need minutes. Backends that
// sample whole traces decide earlier.
const longestWait = 20 * time.Second

// Bounds of delayed traces and spans. Further spans pass without attributes.
const (
	maxWaitingTraces = 512
	maxWaitingBytes  = 4 << 20
)

var _ bridge.Output = (*annotator)(nil)

// newAnnotator returns an output before next. The caller shuts it down.
func newAnnotator(next bridge.Output, recorder waits.Recorder, box *spoolOutput) *annotator {
	a := &annotator{next: next, recorder: recorder, box: box,
		traces: map[trace.TraceID]*waitingTrace{}}
	a.stop = recorder.Watch(a.receive)
	return a
}

// onSlow delays the spans of a slow request if the recorder analyses the request and the spans are
// exported. It is called before the hand-over of the spans.
func (a *annotator) onSlow(root bridge.Root, exported bool) {
	if exported {
		a.await(root.TraceID, root.SpanID)
	}
	if !a.recorder.Slow(root) {
		a.forget(root)
	}
}

// forget ends the delay of a request without a result. A timer's goroutine passes the spans of the
// trace's other requests.
func (a *annotator) forget(root bridge.Root) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[root.TraceID]
	if t == nil || t.root(root.SpanID) == nil {
		return
	}
	t.roots = slices.DeleteFunc(t.roots, func(r waitingRoot) bool { return r.id == root.SpanID })
	a.counts.NoResult++
	switch {
	case !t.complete():
	case len(t.spans) == 0:
		a.remove(root.TraceID, t, &a.counts.Late)
	default:
		t.timer.Reset(0)
	}
}

// await delays the spans of a request, unless too many traces wait.
func (a *annotator) await(id trace.TraceID, root trace.SpanID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Exported++
	t := a.traces[id]
	if t == nil {
		if len(a.traces) == maxWaitingTraces {
			a.counts.TooMany++
			return
		}
		t = &waitingTrace{timer: time.AfterFunc(longestWait, func() { a.expire(id) })}
		a.traces[id] = t
		a.pending.Add(1)
	}
	t.roots = append(t.roots, waitingRoot{id: root})
}

// receive adds the result of a request. A nil result ends the delay.
func (a *annotator) receive(root bridge.Root, result *waits.Request) {
	if result == nil {
		a.forget(root)
		return
	}
	a.passing.RLock()
	defer a.passing.RUnlock()
	a.pass(a.settle(root, result))
}

// settle adds the result of a request. settle returns the trace if the trace is complete, or nil.
func (a *annotator) settle(root bridge.Root, result *waits.Request) *waitingTrace {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[root.TraceID]
	if t == nil {
		return nil
	}
	if r := t.root(root.SpanID); r != nil {
		r.hasResult = true
	}
	t.results = append(t.results, result)
	if !t.complete() {
		return nil
	}
	a.remove(root.TraceID, t, &a.counts.Late)
	return t
}

func (a *annotator) expire(id trace.TraceID) {
	a.passing.RLock()
	defer a.passing.RUnlock()
	a.mu.Lock()
	t := a.traces[id]
	if t != nil {
		a.remove(id, t, &a.counts.Late)
	}
	a.mu.Unlock()
	a.pass(t)
}

// remove removes a trace, and counts its roots: incomplete is the count of the roots that lack
// their result or their spans. a.mu is locked.
func (a *annotator) remove(id trace.TraceID, t *waitingTrace, incomplete *uint64) {
	for _, r := range t.roots {
		switch {
		case r.tooLarge:
			a.counts.TooLarge++
		case r.hasResult && r.hasSpans:
			a.counts.Annotated++
		default:
			*incomplete++
		}
	}
	t.timer.Stop()
	delete(a.traces, id)
	a.pending.Add(-1)
	for _, s := range t.spans {
		a.bytes -= len(s.Bytes)
	}
}

// pass sends the spans of a removed trace to the next output, with the attributes of all results.
// pass ignores a nil trace. The caller must not hold a.mu: pass takes milliseconds.
func (a *annotator) pass(t *waitingTrace) {
	if t == nil || len(t.spans) == 0 {
		return
	}
	for i := range t.spans {
		s := &t.spans[i]
		for _, result := range t.results {
			attributes := func(id trace.SpanID) []attribute.KeyValue {
				return waiting.Attributes(result, id)
			}
			b := make([]byte, 0, len(s.Bytes)+512)
			b, err := otlpenc.Spans(*s).WithAttributes(b, attributes)
			if err == nil { // always, because the encoder made the spans
				s.Bytes = b
			}
		}
	}
	a.next.Accept(t.spans)
	a.box.done(t.receipts)
}

func (a *annotator) Accept(all []bridge.Spans) {
	if a.pending.Load() > 0 {
		a.passing.RLock()
		defer a.passing.RUnlock()
		var complete []*waitingTrace
		all, complete = a.hold(all)
		for _, t := range complete {
			a.pass(t)
		}
	}
	if len(all) > 0 {
		a.next.Accept(all)
	}
}

// hold delays copies of the spans of waiting traces, and returns the other spans. hold removes and
// returns the traces that are complete now. Retained spans would occupy a whole block of memory for
// each request: slow requests are few.
func (a *annotator) hold(all []bridge.Spans) (others []bridge.Spans, complete []*waitingTrace) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var arrived []trace.TraceID
	for _, s := range all {
		t := a.traces[s.TraceID]
		if t == nil {
			others = append(others, s)
			continue
		}
		tooLarge := a.bytes+len(s.Bytes) > maxWaitingBytes
		if root := (*otlpenc.Spans)(&s).Root(); root != nil {
			if r := t.root(root.SpanID); r != nil {
				r.hasSpans, r.tooLarge = true, tooLarge
				arrived = append(arrived, s.TraceID)
			}
		}
		if tooLarge {
			others = append(others, s)
			continue
		}
		t.spans = append(t.spans, s.Clone())
		t.receipts = append(t.receipts, a.box.hold(&s))
		a.bytes += len(s.Bytes)
	}
	for _, id := range arrived {
		if t := a.traces[id]; t != nil && t.complete() {
			a.remove(id, t, &a.counts.Late)
			complete = append(complete, t)
		}
	}
	return others, complete
}

// passAll passes all delayed spans. passAll waits for concurrent calls of pass.
func (a *annotator) passAll() {
	a.mu.Lock()
	var all []*waitingTrace
	for id, t := range a.traces {
		a.remove(id, t, &a.counts.Flushed)
		all = append(all, t)
	}
	a.mu.Unlock()
	for _, t := range all {
		a.pass(t)
	}
	a.passing.Lock()   // waits until all traces that were removed earlier have passed
	a.passing.Unlock() //nolint:staticcheck // the critical section is empty
}

// stats returns the counts of exported roots.
func (a *annotator) stats() counts.AnnotationStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.counts
	for _, t := range a.traces {
		s.Pending += uint64(len(t.roots))
	}
	return s
}

// OnRead registers f. The next output calls f before each read of the output's data.
func (a *annotator) OnRead(f func()) {
	if next, ok := a.next.(interface{ OnRead(f func()) }); ok {
		next.OnRead(f)
	}
}

func (a *annotator) ForceFlush(ctx context.Context) error {
	a.passAll()
	return a.next.ForceFlush(ctx)
}

func (a *annotator) Shutdown(ctx context.Context) error {
	r := within.Begin(ctx, within.Grace)
	r.Do("the end of watching "+ofWaits, func(context.Context) error { // the program's code
		a.stop()
		return nil
	})
	err := r.End()
	a.passAll()
	return errors.Join(err, a.next.Shutdown(ctx))
}
