package bridge

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// An unwrapper is what [http.ResponseController] looks behind.
type unwrapper interface{ Unwrap() http.ResponseWriter }

// isPlain reports whether w has no optional interface but lets look behind it, as
// many a middleware's recorder of the status.
func isPlain(w http.ResponseWriter) bool {
	if _, ok := w.(unwrapper); !ok {
		return false
	}
	switch w.(type) {
	case io.StringWriter, io.ReaderFrom, http.Flusher, http.Hijacker, http.Pusher,
		http.CloseNotifier, //nolint:staticcheck // deprecated, and handlers still ask for it
		interface{ FlushError() error }, interface{ EnableFullDuplex() error }:
		return false
	}
	return true
}

// plainResponse is a response to a writer that is plain, and so is it itself. An
// http.ResponseController gets behind both: by way of us, who must see it pass.
type plainResponse struct{ res *response }

var _ http.ResponseWriter = plainResponse{}

func (w plainResponse) Header() http.Header         { return w.res.Header() }
func (w plainResponse) WriteHeader(code int)        { w.res.WriteHeader(code) }
func (w plainResponse) Write(b []byte) (int, error) { return w.res.Write(b) }
func (w plainResponse) Unwrap() http.ResponseWriter { return behind{w} }

// behind is what is found behind a plainResponse: what its writer can do for an
// http.ResponseController, and then that writer.
type behind struct{ plainResponse }

func (w behind) Unwrap() http.ResponseWriter { return w.res.ResponseWriter }

func (w behind) FlushError() error {
	if !flushes(w.res.ResponseWriter) {
		return http.ErrNotSupported
	}
	w.res.begin(http.StatusOK)
	return http.NewResponseController(w.res.ResponseWriter).Flush()
}

// flushes reports whether a writer can flush, or what is behind it.
func flushes(w http.ResponseWriter) bool {
	switch inner := w.(type) {
	case interface{ FlushError() error }, http.Flusher:
		return true
	case unwrapper:
		return flushes(inner.Unwrap())
	}
	return false
}

func (w behind) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.res.hijack(http.NewResponseController(w.res.ResponseWriter).Hijack)
}
