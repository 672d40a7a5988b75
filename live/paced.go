package live

import (
	"context"
	"net/http"
	"time"
)

const (
	writeTime = 10 * time.Second // in which a client must have taken a part of an answer
	partSize  = 64 << 10         // bytes of it at most, which a slow line takes in that time
)

// paced has the connections of clients that take nothing closed, and has nothing written for those
// that are gone.
func paced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&pacedWriter{ResponseWriter: w, r: r}, r)
	})
}

type pacedWriter struct {
	http.ResponseWriter
	r *http.Request
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *pacedWriter) Write(p []byte) (n int, err error) {
	control := http.NewResponseController(w.ResponseWriter)
	for first := true; first || n < len(p); first = false {
		if err := context.Cause(w.r.Context()); err != nil {
			return n, err
		}
		// A ResponseWriter that knows no deadlines leaves it to the server's.
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		m, err := w.ResponseWriter.Write(p[n:min(len(p), n+partSize)])
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}
