package live

import (
	"net/http"
	"time"
)

const (
	// flame graphs, files and searches at a time: each goes through all of a session or of the requests in memory
	maxWork  = 2
	workTime = 3 * time.Second // to wait for one's turn
)

// working takes a place among those that work until done is called. It answers if there
// is none in time; then ok is false.
func (h *handler) working(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	late := time.NewTimer(workTime)
	defer late.Stop()
	select {
	case h.work <- struct{}{}:
		return func() { <-h.work }, true
	case <-r.Context().Done():
	case <-late.C:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable,
			"other pages wait for flame graphs, files or searches: try again in some seconds")
	}
	return nil, false
}

// headOnly answers HEAD, for which no work is done, with the headers that are set.
func headOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodHead {
		return false
	}
	w.WriteHeader(http.StatusOK)
	return true
}
