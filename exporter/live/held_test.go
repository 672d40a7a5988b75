package live

import (
	"testing"

	"github.com/perfline/perfline/exporter/requests"
)

func TestHeldIsBounded(t *testing.T) {
	h := newHeld(2)
	id := func(n byte) requestID { return requestID{trace: [16]byte{n}} }
	for _, n := range []byte{0, 1, 0, 2} { // the first one again: it is newer than the second
		h.add(id(n), requests.Request{})
	}
	for n, want := range []bool{true, false, true} {
		if _, got := h.get(id(byte(n))); got != want {
			t.Errorf("request %d is held: %v", n, got)
		}
	}
}
