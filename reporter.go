package perfline

import (
	"log/slog"
	"sync"
	"time"
)

// A reporter logs the errors that OpenTelemetry has nobody to return to. Some come
// again with every export while a backend is away: a text that repeats is logged
// once in repeatInterval, with how often it came.
type reporter struct {
	log *slog.Logger
	now func() time.Time

	mu       sync.Mutex // guards what follows
	last     string
	logged   time.Time // when last was
	repeated int       // times since
}

const repeatInterval = 10 * time.Minute

// Handle implements OpenTelemetry's ErrorHandler.
func (r *reporter) Handle(err error) {
	text := err.Error()
	r.mu.Lock()
	now := r.now()
	same := text == r.last
	if same && now.Sub(r.logged) < repeatInterval {
		r.repeated++
		r.mu.Unlock()
		return
	}
	attrs := []any{"error", err}
	if same && r.repeated > 0 {
		attrs = append(attrs, "repeated", r.repeated)
	}
	r.last, r.logged, r.repeated = text, now, 0
	r.mu.Unlock()
	r.log.Warn("perfline: OpenTelemetry reports", attrs...)
}
