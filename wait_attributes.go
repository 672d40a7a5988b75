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
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/waits"
)

// An annotator gives spans of slow requests attributes for what they waited for. Such spans wait
// until a recorder knows that, for longestWait at most, and all others pass. A flush does not wait:
// it sends them as they are.
type annotator struct {
	next     bridge.Output
	recorder waits.Recorder
	stop     func() // watching

	waiting atomic.Int32 // traces; so that spans of others pass without the lock
	// held for reading while spans pass with attributes: a flush waits for that
	passing sync.RWMutex

	mu     sync.Mutex // guards what follows
	traces map[trace.TraceID]*waitingTrace
	bytes  int // of all spans that wait
}

// A waitingTrace has the spans of slow requests.
type waitingTrace struct {
	roots   []waitingRoot
	results []*waits.Request
	spans   []bridge.Spans
	timer   *time.Timer // ends the waiting
}

// A waitingRoot is the local root of a slow request. Its spans may be handed over before the result
// is known, or after.
type waitingRoot struct {
	id             trace.SpanID
	known, arrived bool // the result, and the spans
}

// complete reports whether all results and all spans of the trace's requests are there.
func (t *waitingTrace) complete() bool {
	return !slices.ContainsFunc(t.roots, func(r waitingRoot) bool { return !r.known || !r.arrived })
}

// root returns the root with an id, and nil if the trace does not wait for it.
func (t *waitingTrace) root(id trace.SpanID) *waitingRoot {
	i := slices.IndexFunc(t.roots, func(r waitingRoot) bool { return r.id == id })
	if i < 0 {
		return nil
	}
	return &t.roots[i]
}

const (
	// longestWait is how long spans wait for attributes. A recorder whose budget is used up may
	// take minutes, and backends that sample whole traces do not wait so long.
	longestWait = 10 * time.Second

	// handOverTime is how long results wait for spans. A hand-over takes about 100 ms. The spans of
	// a request that is kept in memory only never come.
	handOverTime = time.Second
)

// Bounds of what waits. Spans over them pass as they are.
const (
	maxWaitingTraces = 512
	maxWaitingBytes  = 4 << 20
)

var _ bridge.Output = (*annotator)(nil)

// newAnnotator returns an output before next. The caller shuts it down.
func newAnnotator(next bridge.Output, recorder waits.Recorder) *annotator {
	a := &annotator{next: next, recorder: recorder, traces: map[trace.TraceID]*waitingTrace{}}
	a.stop = recorder.Watch(a.known)
	return a
}

// slow makes the spans of a request wait if the recorder finds out about it. They have not been
// handed over yet.
func (a *annotator) slow(root bridge.Root) {
	a.await(root.TraceID, root.SpanID)
	if !a.recorder.Slow(root) {
		a.forget(root)
	}
}

// forget stops waiting for a request that has no result. A timer's goroutine passes the spans of
// other requests of the trace.
func (a *annotator) forget(root bridge.Root) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[root.TraceID]
	if t == nil {
		return
	}
	t.roots = slices.DeleteFunc(t.roots, func(r waitingRoot) bool { return r.id == root.SpanID })
	switch {
	case !t.complete():
	case len(t.spans) == 0:
		a.remove(root.TraceID, t)
	default:
		t.timer.Reset(0)
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
	t.roots = append(t.roots, waitingRoot{id: root})
}

// known takes the result of a request. The result is nil if there is none.
func (a *annotator) known(root bridge.Root, result *waits.Request) {
	if result == nil {
		a.forget(root)
		return
	}
	a.passing.RLock()
	defer a.passing.RUnlock()
	a.pass(a.settle(root, result))
}

// settle notes the result of a request. It returns the trace if that does not wait any more, and
// else nil.
func (a *annotator) settle(root bridge.Root, result *waits.Request) *waitingTrace {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.traces[root.TraceID]
	if t == nil {
		return nil
	}
	if r := t.root(root.SpanID); r != nil {
		r.known = true
	}
	t.results = append(t.results, result)
	switch {
	case t.complete():
		a.remove(root.TraceID, t)
		return t
	case !slices.ContainsFunc(t.roots, func(r waitingRoot) bool { return !r.known }):
		t.timer.Reset(handOverTime)
	}
	return nil
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

// pass gives the spans of a trace that has been removed to the next output, with attributes as far
// as results are known. A nil trace has none. The caller holds no lock that requests need: this
// takes milliseconds.
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
			b, err := otlpenc.Spans(*s).WithAttributes(make([]byte, 0, len(s.Bytes)+512),
				attributes)
			if err == nil { // it always is: the encoder made the spans
				s.Bytes = b
			}
		}
	}
	a.next.Accept(t.spans)
}

// Accept implements [bridge.Output].
func (a *annotator) Accept(all []bridge.Spans) {
	if a.waiting.Load() > 0 {
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

// hold copies the spans whose traces wait, and returns the others. It takes out the traces that do
// not wait any more, because their results came before their spans. Slow requests are few: each one
// that retained its spans would keep a whole block of memory.
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
		if root := (*otlpenc.Spans)(&s).Root(); root != nil {
			if r := t.root(root.SpanID); r != nil {
				r.arrived = true
				arrived = append(arrived, s.TraceID)
			}
		}
		if a.bytes+len(s.Bytes) > maxWaitingBytes {
			others = append(others, s)
			continue
		}
		t.spans = append(t.spans, s.Clone())
		a.bytes += len(s.Bytes)
	}
	for _, id := range arrived {
		if t := a.traces[id]; t != nil && t.complete() {
			a.remove(id, t)
			complete = append(complete, t)
		}
	}
	return others, complete
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
