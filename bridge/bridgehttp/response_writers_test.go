package bridgehttp

import (
	"net/http"
	"testing"
)

// A response has the optional interfaces that are asked for, and no others, in any combination.
func TestResponseWith(t *testing.T) {
	for has, wrapped := range with {
		w := wrapped(new(response))
		_, flushes := w.(http.Flusher)
		_, hijacks := w.(http.Hijacker)
		_, pushes := w.(http.Pusher)
		_, notifies := w.(http.CloseNotifier) //nolint:staticcheck // deprecated, and handlers still ask for it
		for bit, ok := range map[int]bool{flusher: flushes, hijacker: hijacks, pusher: pushes, closeNotifier: notifies} {
			if ok != (has&bit != 0) {
				t.Errorf("of %04b the writer is a %T, which has interface %04b: %v", has, w, bit, ok)
			}
		}
	}
}
