package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/perfline/perfline/live/internal/view"
)

const (
	maxStreams = 16               // open at a time
	quietTime  = 15 * time.Second // silence after which a stream sends a comment, for proxies
)

// stream sends server-sent events: first an event of each kind, and then an event after each change
// of its data. An event "runtime" contains only new samples. The stream ends when the client leaves
// or stops reading, and when the server shuts down.
func (h *handler) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if headOnly(w, r) {
		return
	}
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable,
			fmt.Sprintf("%d pages are open: close one to keep this page up to date", maxStreams))
		return
	}
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	ctx, done := h.servers.Context(r.Context())
	defer done()
	control := http.NewResponseController(w)
	tick := time.NewTicker(h.refresh)
	defer tick.Stop()
	sent := map[string][]byte{}
	var sampled time.Time // time of the last runtime sample in the stream
	last := time.Now()
	for out := bytes.NewBufferString("retry: 2000\n\n"); ; out.Reset() {
		for _, e := range h.events(sampled) {
			data, err := json.Marshal(e.data)
			if err != nil {
				return // unreachable: no number is infinite
			}
			if history, ok := e.data.(view.RuntimeHistory); ok {
				sampled = history.Last
			}
			known := data
			if state, ok := e.data.(view.WaitsState); ok {
				state.Armed = 0 // grows all the time while armed, which is no change
				known, _ = json.Marshal(state)
			}
			if !bytes.Equal(known, sent[e.name]) {
				sent[e.name] = known
				fmt.Fprintf(out, "event: %s\ndata: %s\n\n", e.name, data)
			}
		}
		if out.Len() == 0 && time.Since(last) >= quietTime {
			out.WriteString(": still here\n\n")
		}
		if out.Len() > 0 {
			last = time.Now()
			if _, err := w.Write(out.Bytes()); err != nil || control.Flush() != nil {
				return
			}
		}
		// A deadline that passes between two events would reset an HTTP/2 stream.
		_ = control.SetWriteDeadline(time.Time{})
		select {
		case <-ctx.Done():
			_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // for the end of the response
			return
		case <-tick.C:
		}
	}
}
