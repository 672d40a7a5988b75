package live

import (
	"context"
	"net/http"
	"time"
)

const (
	writeTime = 10 * time.Second // limit for the writing of a part of an answer
	partSize  = 64 << 10         // bytes of a part: even a slow line carries them in writeTime
)

// limitWrites closes the connections of clients that stop reading, and ends the answers of clients
// that have left.
func limitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&limitedWriter{ResponseWriter: w, r: r}, r)
	})
}

// A limitedWriter sets a deadline for each part of an answer.
type limitedWriter struct {
	http.ResponseWriter
	r *http.Request
}

// Unwrap returns the inner writer for http.ResponseController.
func (w *limitedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *limitedWriter) Write(p []byte) (n int, err error) {
	control := http.NewResponseController(w.ResponseWriter)
	for first := true; first || n < len(p); first = false {
		if err := context.Cause(w.r.Context()); err != nil {
			return n, err
		}
		// A ResponseWriter without deadlines still has the server's timeouts.
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		m, err := w.ResponseWriter.Write(p[n:min(len(p), n+partSize)])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}
