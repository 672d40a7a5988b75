package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	maxStreams = 16               // open at a time
	quietTime  = 15 * time.Second // after which a stream sends a comment, for proxies
)

// stream tells of changes by server-sent events: of each kind one at once, and another whenever its
// content is a different one. An event "runtime" has the new samples only. It ends with the client,
// with the server, and when the client takes nothing.
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
			fmt.Sprintf("%d pages are open, which is the most that are kept up to date",
				maxStreams))
		return
	}
	w.Header().Set("X-Accel-Buffering", "no") // for nginx
	ctx, done := h.servers.Context(r.Context())
	defer done()
	control := http.NewResponseController(w)
	tick := time.NewTicker(h.refresh)
	defer tick.Stop()
	sent := map[string][]byte{}
	var sampled time.Time // of the last sample that was sent
	last := time.Now()
	for out := bytes.NewBufferString("retry: 2000\n\n"); ; out.Reset() {
		for _, e := range h.events(sampled) {
			data, err := json.Marshal(e.data)
			if err != nil {
				return // no number of ours is infinite
			}
			if history, ok := e.data.(runtimeHistory); ok {
				sampled = history.last
			}
			if !bytes.Equal(data, sent[e.name]) {
				sent[e.name] = data
				fmt.Fprintf(out, "event: %s\ndata: %s\n\n", e.name, data)
			}
		}
		if out.Len() == 0 && time.Since(last) >= quietTime {
			out.WriteString(": still here\n\n")
		}
		if out.Len() > 0 {
			last = time.Now()
			if _, err := w.Write(out.Bytes()); err != nil {
				return
			}
			if err := control.Flush(); err != nil {
				return
			}
		}
		// A deadline that passes while nothing is written would reset an HTTP/2 stream.
		_ = control.SetWriteDeadline(time.Time{})
		select {
		case <-ctx.Done():
			_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // for the end of the response
			return
		case <-tick.C:
		}
	}
}
