package faulttest

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for a line of the log that does not come.
const patience = 2 * time.Minute

// A log has the lines of a delivery's logger.
type log struct {
	lines chan line
	what  string
}

type line struct {
	text string
	at   time.Time
}

func newLog(s Signal) *log { return &log{lines: make(chan line, 100), what: s.What} }

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write stores the log line p and the current time. Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.lines <- line{string(p), time.Now()}
	return len(p), nil
}

// wants waits for the next line, which must match a pattern, and returns its time. An empty pattern
// wants no line.
func (l *log) wants(t *testing.T, pattern string) (at time.Time) {
	t.Helper()
	if pattern == "" {
		return at
	}
	pattern = strings.ReplaceAll(pattern, "ITEMS", regexp.QuoteMeta(l.what))
	select {
	case got := <-l.lines:
		if !regexp.MustCompile(pattern).MatchString(got.text) {
			t.Errorf("the log says %s\nwant %s", got.text, pattern)
		}
		return got.at
	case <-time.After(patience):
		t.Fatalf("the log says nothing, want %s", pattern)
		return at
	}
}

// isOver fails the test if there are further lines.
func (l *log) isOver(t *testing.T) {
	t.Helper()
	if len(l.lines) > 0 {
		t.Errorf("one line too many: %s", (<-l.lines).text)
	}
}
