package profiling

import (
	"context"
	"log/slog"
	"sync"

	"github.com/perfline/perfline/internal/record"
)

// maxReasons bounds the reasons that logOnce remembers. Further reasons are not logged.
const maxReasons = 8

// An engineLog writes lines to slog's default logger. The keeper does not wait for the handler.
type engineLog struct {
	mu      sync.Mutex // guards the fields below
	logger  *slog.Logger
	reasons map[string]bool // of logOnce
}

func (l *engineLog) log(level slog.Level, message string, attrs ...slog.Attr) {
	l.mu.Lock()
	if l.logger == nil {
		l.logger = record.Unwaited(record.SafeLogger(nil))
	}
	logger := l.logger
	l.mu.Unlock()
	logger.LogAttrs(context.Background(), level, message, attrs...)
}

// logOnce logs a message once for each reason.
func (l *engineLog) logOnce(level slog.Level, message, reason string, attrs ...slog.Attr) {
	key := message + "\x00" + reason
	l.mu.Lock()
	skip := l.reasons[key] || len(l.reasons) == maxReasons
	if l.reasons == nil {
		l.reasons = map[string]bool{}
	}
	if !skip {
		l.reasons[key] = true
	}
	l.mu.Unlock()
	if !skip {
		l.log(level, message, append([]slog.Attr{slog.String("reason", reason)}, attrs...)...)
	}
}
