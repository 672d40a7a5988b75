package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/sessions"
)

var errNoSessions = errors.New("this program has no recorder of sessions")

// checkSessions returns an error with the remedy unless remote clients may see sessions.
func (h *handler) checkSessions() error {
	err := errNoSessions
	if h.recorder != nil {
		err = h.policy.Check()
	}
	if err != nil {
		return &refusal{error: err, status: http.StatusForbidden}
	}
	return nil
}

func (h *handler) sessions() view.SessionList {
	return view.NewSessionList(h.recorder, h.checkSessions(), leakProfile() != nil)
}

func (h *handler) contents(r *http.Request) (builder[view.SessionContents], error) {
	s, err := h.session(r.PathValue("id"))
	return func(context.Context) (view.SessionContents, error) {
		return view.NewSessionContents(s), nil
	}, err
}

// session returns the finished session with an id, if remote clients may see sessions.
func (h *handler) session(id string) (*sessions.Session, error) {
	if err := h.checkSessions(); err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("session %s: must be a number", view.Shown(id))
	}
	return h.recorder.RemoteSession(sessions.SessionID(n))
}
