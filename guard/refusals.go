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
	logEvery  = time.Minute // time between two log lines: a refused client may retry all the time
	maxLogged = 1 << 10     // bytes of a client's text in a field of a log line
	maxQuoted = 200         // bytes of a client's text in an error
)

// A refusalLog logs the refused requests of one guard.
type refusalLog struct {
	logger *slog.Logger

	mu       sync.Mutex // guards the fields below
	last     time.Time  // time of the last log line
	unlogged int        // refusals since the last log line
}

func (l *refusalLog) add(r *http.Request, reason error) {
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
