package live

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// sessionList is how all sessions are doing.
type sessionList struct {
	// why there are none to be seen, and what to do
	Refused  string       `json:"refused,omitempty"`
	Sessions []sessionRow `json:"sessions"`          // the newest first
	Leaks    bool         `json:"leaks"`             // the runtime can look for leaked goroutines
	Modules  []string     `json:"modules,omitempty"` // whose functions sessions from outside name
	// the length at which a session without one stops by itself
	Longest float64 `json:"longest,omitempty"`
}

type sessionRow struct {
	ID       uint32  `json:"id"`
	State    string  `json:"state"`
	Route    string  `json:"route,omitempty"`
	Start    float64 `json:"start"`
	Length   float64 `json:"length"`
	Progress float64 `json:"progress"`
	Sampler  string  `json:"sampler,omitempty"`
	Entries  uint64  `json:"entries"`
	Samples  uint64  `json:"samples"`
	Dropped  uint64  `json:"dropped,omitempty"`
	Limit    float64 `json:"limit"` // the length at which it stops by itself
	Cost     float64 `json:"cost"`  // estimate of the time that recording took
}

var errNoSessions = errors.New("this program has no recorder of sessions")

// refused returns the reason why remote clients may not see sessions, and the remedy.
func (h *handler) refused() error {
	if h.recorder == nil {
		return errNoSessions
	}
	return h.policy.CheckRemote()
}

func (h *handler) sessions() sessionList {
	l := sessionList{Sessions: []sessionRow{}, Leaks: leakProfile() != nil}
	if err := h.refused(); err != nil {
		l.Refused = err.Error()
		return l
	}
	l.Longest = observer.Milliseconds(h.recorder.Config().MaxLength)
	for _, m := range h.policy.Visible() {
		l.Modules = append(l.Modules, shown(m))
	}
	for _, s := range slices.Backward(h.recorder.Statuses()) {
		l.Sessions = append(l.Sessions, newSessionRow(s))
	}
	return l
}

func newSessionRow(s sessions.Status) sessionRow {
	return sessionRow{ID: uint32(s.ID), State: string(s.State), Route: shown(s.Route),
		Start:  sinceEpoch(s.Started),
		Length: observer.Milliseconds(s.Length), Progress: s.Progress, Sampler: shown(s.Sampler),
		Entries: s.Entries, Samples: s.Samples, Dropped: s.Dropped,
		Limit: observer.Milliseconds(s.MaxLength), Cost: observer.Milliseconds(s.Cost)}
}

// finishedSession returns the session that the client asks for. It answers itself if the client may
// see none.
func (h *handler) finishedSession(w http.ResponseWriter, id string) *sessions.Session {
	if err := h.refused(); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return nil
	}
	s, err := h.session(id)
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return nil
	}
	return s
}

// session returns the finished session of an id.
func (h *handler) session(id string) (*sessions.Session, error) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("session %s: must be a number", shown(id))
	}
	return h.recorder.RemoteSession(sessions.SessionID(n))
}
