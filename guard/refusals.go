package guard

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

const (
	logEvery  = time.Minute // at most one refusal is logged: a refused client may try again at once
	maxLogged = 1 << 10     // bytes of each text that the refused client chose
	maxQuoted = 200         // bytes of such a text in a reason
)

// refusals logs the refused requests of one guard.
type refusals struct {
	logger *slog.Logger

	mu       sync.Mutex // guards what follows
	last     time.Time  // logged
	unlogged int        // since then
}

func (l *refusals) add(r *http.Request, reason error) {
	l.mu.Lock()
	now := time.Now()
	if !l.last.IsZero() && now.Sub(l.last) < logEvery {
		l.unlogged++
		l.mu.Unlock()
		return
	}
	unlogged := l.unlogged
	l.last, l.unlogged = now, 0
	l.mu.Unlock()

	l.logger.WarnContext(r.Context(), "perfline: a request to a diagnostic page was refused",
		"path", text.Line(r.URL.Path, maxLogged), "remote", text.Line(r.RemoteAddr, maxLogged),
		"host", text.Line(r.Host, maxLogged),
		"error", text.Line(record.ErrorText(reason), maxLogged), "unlogged_before", unlogged)
}
