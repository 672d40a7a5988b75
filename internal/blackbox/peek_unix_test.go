//go:build linux || darwin

package blackbox

import (
	"testing"
	"time"
)

// The next start gets the file while a report reads the file.
func TestPeekDoesNotLock(t *testing.T) {
	name := writeBox(t, t.TempDir(), 1, Facts{PID: 7}, Status{Beat: 1, At: time.Now()})
	reading, err := openUnlocked(name)
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	f, err := Take(name)
	if err != nil || f == nil {
		t.Fatalf("the next start gets nothing: %v", err)
	}
	_ = f.Close()
}
