package bridgehttp

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
)

// A response notes a response while the handler writes it, and is the writer that the handler
// gets. [io.StringWriter] and [io.ReaderFrom] are only faster ways to write, so it always has
// them.
type response struct {
	http.ResponseWriter

	request *request // its begun is called before the first byte, while headers can still be set
	status  int      // the first final one; 0 before it and when the handler took the connection
	written int64    // bytes of the body
	begun   bool     // the header is on its way, or the connection the handler's
}

var (
	_ io.StringWriter = (*response)(nil)
	_ io.ReaderFrom   = (*response)(nil)
)

// begin is called before the first byte is written.
func (res *response) begin(status int) {
	if res.begun {
		return
	}
	res.begun = true
	res.status = status
	res.request.begun()
}

func (res *response) WriteHeader(code int) {
	// 1xx responses precede the one that counts, but for 101, which is final.
	if code >= 200 || code == http.StatusSwitchingProtocols {
		res.begin(code)
	}
	res.ResponseWriter.WriteHeader(code)
}

func (res *response) Write(b []byte) (int, error) {
	res.begin(http.StatusOK)
	n, err := res.ResponseWriter.Write(b)
	res.written += int64(n)
	return n, err
}

func (res *response) WriteString(s string) (int, error) {
	res.begin(http.StatusOK)
	n, err := io.WriteString(res.ResponseWriter, s)
	res.written += int64(n)
	return n, err
}

// ReadFrom copies src to the body. A writer's own ReadFrom writes no header if src is
// empty, so the first bytes go the usual way; net/http's servers take as many to tell
// the content's type.
func (res *response) ReadFrom(src io.Reader) (n int64, err error) {
	if !res.begun {
		const first = 512
		n, err = io.Copy(struct{ io.Writer }{res}, io.LimitReader(src, first))
		if err != nil || n < first {
			return n, err
		}
	}
	var more int64
	if w, ok := res.ResponseWriter.(io.ReaderFrom); ok {
		more, err = w.ReadFrom(src)
	} else {
		more, err = io.Copy(struct{ io.Writer }{res.ResponseWriter}, src)
	}
	res.written += more
	return n + more, err
}

// Unwrap is for [http.ResponseController].
func (res *response) Unwrap() http.ResponseWriter { return res.ResponseWriter }

// CloseNotify is for handlers and frameworks that still ask for http.CloseNotifier, such as gin's Stream. The channel gets
// a value when the request's context ends.
func (res *response) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	context.AfterFunc(res.request.ctx, func() { gone <- true })
	return gone
}

// A response with optional interfaces: F is [http.Flusher], H is [http.Hijacker]. Each is a single pointer, so an interface
// of it needs no memory.
type (
	withF  struct{ *response }
	withH  struct{ *response }
	withFH struct{ withF }
)

func (w withF) Flush() { _ = w.FlushError() }

// FlushError is for [http.ResponseController], which would otherwise look for it behind us.
func (w withF) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w withH) Hijack() (net.Conn, *bufio.ReadWriter, error)  { return w.hijack() }
func (w withFH) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// hijack takes the connection. What the handler writes there is not seen.
func (res *response) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(res.ResponseWriter).Hijack()
	if err == nil {
		res.begun = true // and without a status, unless there was one before
	}
	return conn, buf, err
}

// wrap returns the writer for the handler. It can flush and hijack if an [http.ResponseController] of w can.
func (res *response) wrap(w http.ResponseWriter) http.ResponseWriter {
	res.ResponseWriter = w
	flushes := reaches[http.Flusher](w) || reaches[interface{ FlushError() error }](w)
	hijacks := reaches[http.Hijacker](w)
	switch {
	case flushes && hijacks:
		return withFH{withF{res}}
	case flushes:
		return withF{res}
	case hijacks:
		return withH{res}
	default:
		return res
	}
}

// reaches reports whether an http.ResponseController finds an interface I in w.
func reaches[I any](w http.ResponseWriter) bool {
	for {
		if _, ok := w.(I); ok {
			return true
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = outer.Unwrap()
	}
}
