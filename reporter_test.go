package perfline

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// A text that repeats is logged once in a while, another one at once.
func TestReporter(t *testing.T) {
	var out bytes.Buffer
	now := time.Time{}
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey {
			return slog.Attr{}
		}
		return a
	}}))
	r := &reporter{log: log, now: func() time.Time { return now }, vars: environ.NewReader(log)}
	away, other := errors.New("away"), errors.New("other")
	for _, err := range []error{away, away, other, away} {
		r.Handle(err)
	}
	for range 12 {
		now = now.Add(time.Minute)
		r.Handle(away)
	}
	const want = "error=away\nerror=other\nerror=away\nerror=away repeated=9\n"
	if out.String() != want {
		t.Errorf("logged\n%s\nwant\n%s", &out, want)
	}
}
