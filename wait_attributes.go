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
	"github.com/perfline/perfline/exporter/local"
	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/profiling/states"
)

// An annotator gives spans of slow requests attributes for what they waited for. Such spans wait until a recorder knows that, for
// longestWait at most, and all others pass. A flush does not wait: it sends them as they are.
type annotator struct {
	next     bridge.Output
	recorder states.Recorder
	stop     func() // watching

	waiting atomic.Int32 // traces; so that spans of others pass without the lock
	passing sync.RWMutex // held for reading while spans pass with attributes: a flush waits for that

	mu     sync.Mutex // guards what follows
	traces map[trace.TraceID]*waitingTrace
	bytes  int // of all spans that wait
}

// A waitingTrace has the spans of a slow request.
type waitingTrace struct {
	roots   []trace.SpanID // of requests whose results are to come
	results []*states.Request
	spans   []otlpenc.Spans
	timer   *time.Timer // ends the waiting
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
func (a *annotator) slow(root local.Root) {
	a.await(root.TraceID, root.SpanID)
	if !a.recorder.Slow(root) {
		a.pass(a.settle(root, nil))
	}
}

// await makes the spans of a request wait, unless too many do.
func (a *annotator) await(id trace.TraceID, root trace.SpanID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[id]
	if t == nil {
		if len(a.traces) == maxWaitingTraces {
			return
		}
		t = &waitingTrace{timer: time.AfterFunc(longestWait, func() { a.expire(id) })}
		a.traces[id] = t
		a.waiting.Add(1)
	}
	t.roots = append(t.roots, root)
}

// known ends the waiting for a request. The result is nil if there is none.
func (a *annotator) known(root local.Root, result *states.Request) {
	a.passing.RLock()
	defer a.passing.RUnlock()
	a.pass(a.settle(root, result))
}

// settle notes the answer for a request. It returns the trace if that does not wait any more, and else nil.
func (a *annotator) settle(root local.Root, result *states.Request) *waitingTrace {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[root.TraceID]
	if t == nil {
		return nil
	}
	t.roots = slices.DeleteFunc(t.roots, func(id trace.SpanID) bool { return id == root.SpanID })
	if result != nil {
		t.results = append(t.results, result)
	}
	if len(t.roots) > 0 {
		return nil
	}
	a.remove(root.TraceID, t)
	return t
}

// expire ends the waiting of a trace.
func (a *annotator) expire(id trace.TraceID) {
	a.passing.RLock()
	defer a.passing.RUnlock()
	a.mu.Lock()
	t := a.traces[id]
	if t != nil {
		a.remove(id, t)
	}
	a.mu.Unlock()
	a.pass(t)
}

// remove takes a trace out. a.mu is held.
func (a *annotator) remove(id trace.TraceID, t *waitingTrace) {
	t.timer.Stop()
	delete(a.traces, id)
	a.waiting.Add(-1)
	for _, s := range t.spans {
		a.bytes -= len(s.Bytes)
	}
}

// pass gives the spans of a trace that has been removed to the next output, with attributes as far as results are known. A nil trace
// has none. The caller holds no lock that requests need: this takes milliseconds.
func (a *annotator) pass(t *waitingTrace) {
	if t == nil || len(t.spans) == 0 {
		return
	}
	for i := range t.spans {
		s := &t.spans[i]
		for _, result := range t.results {
			b, err := s.WithAttributes(make([]byte, 0, len(s.Bytes)+512), func(id trace.SpanID) []attribute.KeyValue { return result.Attributes(id) })
			if err == nil { // it always is: the encoder made the spans
				s.Bytes = b
			}
		}
	}
	a.next.Accept(t.spans)
}

// Accept implements [bridge.Output].
func (a *annotator) Accept(all []otlpenc.Spans) {
	if a.waiting.Load() > 0 {
		all = a.hold(all)
	}
	if len(all) > 0 {
		a.next.Accept(all)
	}
}

// hold copies the spans whose traces wait, and returns the others. Slow requests are few: each one that retained its spans would keep a whole
// block of memory.
func (a *annotator) hold(all []otlpenc.Spans) (others []otlpenc.Spans) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range all {
		t := a.traces[s.TraceID]
		if t == nil || a.bytes+len(s.Bytes) > maxWaitingBytes {
			others = append(others, s)
			continue
		}
		t.spans = append(t.spans, s.Clone())
		a.bytes += len(s.Bytes)
	}
	return others
}

// release passes all spans that wait, and returns when others have passed theirs.
func (a *annotator) release() {
	a.mu.Lock()
	var all []*waitingTrace
	for id, t := range a.traces {
		a.remove(id, t)
		all = append(all, t)
	}
	a.mu.Unlock()
	for _, t := range all {
		a.pass(t)
	}
	a.passing.Lock()   // every trace that was removed earlier has passed now
	a.passing.Unlock() //nolint:staticcheck // waiting is all
}

// OnRead registers a function that readers of the next output call first.
func (a *annotator) OnRead(f func()) {
	if next, ok := a.next.(interface{ OnRead(f func()) }); ok {
		next.OnRead(f)
	}
}

// ForceFlush implements [bridge.Output].
func (a *annotator) ForceFlush(ctx context.Context) error {
	a.release()
	return a.next.ForceFlush(ctx)
}

// Shutdown implements [bridge.Output].
func (a *annotator) Shutdown(ctx context.Context) error {
	r := within.Begin(ctx, within.Grace)
	r.Do("the end of watching "+ofWaits, func(context.Context) error { // the program's code
		a.stop()
		return nil
	})
	stopped := r.End()
	a.release()
	return errors.Join(stopped, a.next.Shutdown(ctx))
}
