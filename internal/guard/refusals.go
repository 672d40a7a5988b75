package guard

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// logEvery is how often a refusal is logged at most: who is refused may come again at once.
const logEvery = time.Minute

// refusals are those of one guard.
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

	logger := l.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.WarnContext(r.Context(), "perfline: a request to a diagnostic page was refused",
		"path", r.URL.Path, "remote", r.RemoteAddr, "host", r.Host, "error", reason, "unlogged_before", unlogged)
}
