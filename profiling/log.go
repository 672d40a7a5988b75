package profiling

import (
	"context"
	"log/slog"
	"sync"

	"github.com/perfline/perfline/internal/record"
)

// maxReasons is how many reasons are logged.
const maxReasons = 8

// A engineLog writes lines to slog's default logger. The keeper does not wait for it.
type engineLog struct {
	mu      sync.Mutex // guards what follows
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

// logOnce logs a message once for each reason, of which it remembers maxReasons.
func (l *engineLog) logOnce(level slog.Level, message, reason string, attrs ...slog.Attr) {
	if l.first(message + "\x00" + reason) {
		l.log(level, message, append([]slog.Attr{slog.String("reason", reason)}, attrs...)...)
	}
}

func (l *engineLog) first(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reasons[key] || len(l.reasons) == maxReasons {
		return false
	}
	if l.reasons == nil {
		l.reasons = map[string]bool{}
	}
	l.reasons[key] = true
	return true
}
