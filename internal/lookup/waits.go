package lookup

import (
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/waits"
)

// Waits are the results of a flight recorder, as clients outside the program may see them. Its
// methods may be called concurrently.
type Waits struct {
	recorder waits.Recorder // nil without one
	policy   func(function string) bool

	mu    sync.Mutex // guards what follows
	names map[string]bool
	shown map[*waits.Request]*waits.Request
}

// The bounds of what Waits remembers.
const (
	maxNames = 16 << 10
	maxShown = 16
)

// NewWaits returns the results of a recorder, which may be nil. shows is [profiling.Policy.Shows]
// of the program's policy.
func NewWaits(recorder waits.Recorder, shows func(function string) bool) *Waits {
	return &Waits{recorder: recorder, policy: shows, names: map[string]bool{},
		shown: map[*waits.Request]*waits.Request{}}
}

// With returns q with its result. There may be none.
func (w *Waits) With(q requests.Request) requests.Request {
	if result, ok := w.Result(q.TraceID(), q.Root.SpanID); ok {
		q.Waits = result
	}
	return q
}

// Result returns the result for a request, as [waits.Recorder.Result] does.
func (w *Waits) Result(t trace.TraceID, root trace.SpanID) (*waits.Request, bool) {
	if w.recorder == nil {
		return nil, false
	}
	result, ok := w.recorder.Result(t, root)
	if !ok {
		return nil, false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	shown := w.shown[result]
	if shown == nil {
		shown = shownTo(result, w.shows)
		if len(w.shown) == maxShown {
			clear(w.shown)
		}
		w.shown[result] = shown
	}
	return shown, true
}

// shows asks the policy once about each function. w.mu is held.
func (w *Waits) shows(function string) bool {
	shows, known := w.names[function]
	if !known {
		shows = w.policy(function)
		if len(w.names) == maxNames {
			clear(w.names)
		}
		w.names[function] = shows
	}
	return shows
}
