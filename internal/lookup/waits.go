package lookup

import (
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A Waits provides the results of a waits recorder to clients outside the program. The results omit
// the functions that the program's policy hides. All methods may be called concurrently.
type Waits struct {
	recorder waits.Recorder // nil without a recorder
	policy   func(function string) bool

	mu      sync.Mutex      // guards the caches below
	names   map[string]bool // the policy's answers
	visible map[*waits.Request]*waits.Request
}

// Bounds of the caches, which are cleared when they are full.
const (
	maxNames   = 16 << 10
	maxVisible = 16
)

// NewWaits returns a Waits for a recorder. recorder may be nil. The parameter shows is the method
// [remote.Policy.Shows] of the program's policy.
func NewWaits(recorder waits.Recorder, shows func(function string) bool) *Waits {
	return &Waits{recorder: recorder, policy: shows, names: map[string]bool{},
		visible: map[*waits.Request]*waits.Request{}}
}

// With decodes a request, and adds the recorder's result or the reason why there is none. For a
// request inside another one, the reason names the other request.
func (w *Waits) With(s requests.Snapshot) requests.Request {
	q := s.Request()
	if result, ok := w.Result(s.TraceID, s.SpanID); ok {
		q.Waits = result
	} else {
		q.NoWaits = w.Missing(s)
		if s.Class == local.Inner {
			q.NoWaits = inside(q, q.NoWaits)
		}
	}
	return q
}

// inside returns the reason for a request inside another one. Without an export of the spans, the
// recorder looks for the causes of slow outer requests only. So the recorder's own reason holds for
// no inner request that the recorder does not remember.
func inside(q requests.Request, own waiting.Reason) waiting.Reason {
	switch own {
	case waiting.NotSlow, waiting.NotArmed, waiting.Forgotten:
	default:
		return own
	}
	if !q.Inside.IsValid() {
		return "the request is inside another request: see the causes of that request"
	}
	return waiting.Reason("the request is inside request " + q.Inside.String() +
		": see the causes of that request")
}

// Missing returns the reason why a request has no result.
func (w *Waits) Missing(s requests.Snapshot) waiting.Reason {
	return waiting.Missing(w.recorder, s.ID(), s.End)
}

// Result returns the recorder's result for a request, without hidden functions. Result returns
// false if [waits.Recorder.Result] returns false, or if the recorder is nil.
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
	visible := w.visible[result]
	if visible == nil {
		visible = visibleCopy(result, w.shows)
		if len(w.visible) == maxVisible {
			clear(w.visible)
		}
		w.visible[result] = visible
	}
	return visible, true
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
