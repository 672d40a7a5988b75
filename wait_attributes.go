package perfline

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/profiling/states"
)

// An annotator gives spans of slow requests attributes for what they waited for. Such spans wait until a recorder knows that, for
// longestWait at most, and all others pass. A flush does not wait: it sends them as they are.
type annotator struct {
	next     bridge.Output
	recorder states.Recorder
	stop     func() // watching

	waiting atomic.Int32 // traces; so that spans of others pass without the lock

	mu     sync.Mutex // guards what follows
	traces map[trace.TraceID]*waitingTrace
	bytes  int // of all spans that wait
}

// A waitingTrace has the spans of a slow request.
type waitingTrace struct {
	roots []trace.SpanID // of requests whose results are to come
	spans []otlpenc.Spans
	timer *time.Timer // ends the waiting
}

// longestWait is how long spans wait for attributes. A recorder whose budget is used up may take minutes, and backends that
// sample whole traces do not wait so long.
const longestWait = 10 * time.Second

// Bounds of what waits. Spans over them pass as they are.
const (
	maxWaitingTraces = 512
	maxWaitingBytes  = 4 << 20
)

var _ bridge.Output = (*annotator)(nil)

// newAnnotator returns an output before next. The caller shuts it down.
func newAnnotator(next bridge.Output, recorder states.Recorder) *annotator {
	a := &annotator{next: next, recorder: recorder, traces: map[trace.TraceID]*waitingTrace{}}
	a.stop = recorder.Watch(a.known)
	return a
}

// slow makes the spans of a request wait if the recorder finds out about it. They have not been handed over yet.
func (a *annotator) slow(q bridge.SlowRequest) {
	a.await(q)
	root := rootOf(q)
	if !a.recorder.Slow(root) {
		a.known(root, nil)
	}
}

// await makes the spans of a request wait, unless too many do.
func (a *annotator) await(q bridge.SlowRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[q.TraceID]
	if t == nil {
		if len(a.traces) == maxWaitingTraces {
			return
		}
		t = &waitingTrace{timer: time.AfterFunc(longestWait, func() { a.expire(q.TraceID) })}
		a.traces[q.TraceID] = t
		a.waiting.Add(1)
	}
	t.roots = append(t.roots, q.SpanID)
}

// known ends the waiting for a request. The result is nil if there is none.
func (a *annotator) known(root states.Root, result *states.Request) {
	a.mu.Lock()
	t := a.traces[root.TraceID]
	if t == nil {
		a.mu.Unlock()
		return
	}
	t.roots = slices.DeleteFunc(t.roots, func(id trace.SpanID) bool { return id == root.RootID })
	if result != nil {
		for i := range t.spans {
			t.spans[i].Bytes = a.annotated(t.spans[i], result)
		}
	}
	var done []otlpenc.Spans
	if len(t.roots) == 0 {
		done = a.remove(root.TraceID, t)
	}
	a.mu.Unlock()
	a.pass(done)
}

// expire ends the waiting of a trace, whose spans pass as they are.
func (a *annotator) expire(id trace.TraceID) {
	a.mu.Lock()
	var all []otlpenc.Spans
	if t := a.traces[id]; t != nil {
		all = a.remove(id, t)
	}
	a.mu.Unlock()
	a.pass(all)
}

// annotated returns the bytes of spans with attributes for what they waited for. a.mu is held.
func (a *annotator) annotated(spans otlpenc.Spans, result *states.Request) []byte {
	b, err := spans.WithAttributes(make([]byte, 0, len(spans.Bytes)+512), func(id trace.SpanID) []attribute.KeyValue { return result.Attributes(id) })
	if err != nil { // the encoder made them
		return spans.Bytes
	}
	a.bytes += len(b) - len(spans.Bytes)
	return b
}

// remove returns the spans of a trace, which does not wait any more. a.mu is held.
func (a *annotator) remove(id trace.TraceID, t *waitingTrace) []otlpenc.Spans {
	t.timer.Stop()
	delete(a.traces, id)
	a.waiting.Add(-1)
	for _, s := range t.spans {
		a.bytes -= len(s.Bytes)
	}
	return t.spans
}

func (a *annotator) pass(all []otlpenc.Spans) {
	for _, s := range all {
		a.next.Accept(s)
	}
}

// Accept implements [bridge.Output].
func (a *annotator) Accept(s otlpenc.Spans) {
	if a.waiting.Load() == 0 || !a.hold(s) {
		a.next.Accept(s)
	}
}

// hold keeps a copy of spans whose trace waits, and reports whether it did.
func (a *annotator) hold(s otlpenc.Spans) bool {
	var h otlpenc.Header
	if _, err := s.First(&h); err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[h.TraceID]
	if t == nil || a.bytes+len(s.Bytes) > maxWaitingBytes {
		return false
	}
	s.Bytes = slices.Clone(s.Bytes)
	t.spans = append(t.spans, s)
	a.bytes += len(s.Bytes)
	return true
}

// release passes all spans that wait, as they are.
func (a *annotator) release() {
	a.mu.Lock()
	var all []otlpenc.Spans
	for id, t := range a.traces {
		all = append(all, a.remove(id, t)...)
	}
	a.mu.Unlock()
	a.pass(all)
}

// ForceFlush implements [bridge.Output].
func (a *annotator) ForceFlush(ctx context.Context) error {
	a.release()
	return a.next.ForceFlush(ctx)
}

// Shutdown implements [bridge.Output].
func (a *annotator) Shutdown(ctx context.Context) error {
	a.stop()
	a.release()
	return a.next.Shutdown(ctx)
}
