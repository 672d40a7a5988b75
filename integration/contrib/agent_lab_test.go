//go:build lab

package contrib_test

import (
	"testing"
	"time"
)

// The agent's profiles have most of the CPU time that the process used, and most of it with spans.
func TestLabBesideTheAgent(t *testing.T) {
	for _, order := range orders {
		t.Run(order, func(t *testing.T) {
			used, all, ofSpans := besideTheAgent(t, order, 3*time.Second, time.Second)
			if all < used*8/10 || ofSpans < all*8/10 {
				t.Errorf("the agent's profiles have %v, %v of spans, of %v that the process used, want most of both", all, ofSpans, used)
			}
		})
	}
}
