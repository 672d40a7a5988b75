package bridgehttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// A response notes a response while the handler writes it, and is the writer that the handler gets.
// [io.StringWriter] and [io.ReaderFrom] are only faster ways to write, so it always has them.
// response_writers.go adds other optional interfaces.
type response struct {
	http.ResponseWriter

	request *request
	arrival arrival
	// the first final one; 0 before it, when the handler took the connection and when it cannot be sent
	status   int
	written  int64 // bytes of the body
	begun    bool  // the header is on its way, or the connection the handler's
	hijacked bool  // the connection is the handler's

	asked atomic.Bool // the handler may have set fields of the header
}

var (
	_ io.StringWriter = (*response)(nil)
	_ io.ReaderFrom   = (*response)(nil)
)

// begin is called before the first byte is written, while headers can still be set.
func (res *response) begin(status int) {
	if res.begun {
		return
	}
	res.begun = true
	if res.arrival.lost(res.request) == "" {
		res.status = status
	}
	if values := res.fields()["Content-Length"]; len(values) > 0 {
		if n, err := strconv.ParseInt(values[0], 10, 64); err == nil {
			res.arrival.declared = n
		}
	}
	q := res.request
	_ = q.tl.SetTiming(record.ResponseStart, q.tl.Now())
	q.timing.header(q, res)
}

func (res *response) Header() http.Header {
	res.ask()
	return res.ResponseWriter.Header()
}

// ask notes that the handler gets the header. Handlers may read the header on several goroutines.
func (res *response) ask() {
	if !res.asked.Load() {
		res.asked.Store(true)
	}
}

// fields returns the header, and nil if the handler cannot have set fields of it. A server clones a
// header that somebody asked for, so the middleware must not be the first.
func (res *response) fields() http.Header {
	if !res.asked.Load() {
		return nil
	}
	return res.ResponseWriter.Header()
}

func (res *response) WriteHeader(code int) {
	// 1xx responses precede the one that counts, but for 101, which is final. Codes over 999 make
	// net/http panic.
	if code >= 200 && code <= 999 || code == http.StatusSwitchingProtocols {
		res.begin(code)
	}
	res.ResponseWriter.WriteHeader(code)
}

func (res *response) Write(b []byte) (int, error) {
	res.begin(http.StatusOK)
	n, err := res.ResponseWriter.Write(b)
	res.wrote(n, len(b), err)
	return n, err
}

func (res *response) WriteString(s string) (int, error) {
	res.begin(http.StatusOK)
	n, err := io.WriteString(res.ResponseWriter, s)
	res.wrote(n, len(s), err)
	return n, err
}

// wrote notes that n bytes of so many were written.
func (res *response) wrote(n, of int, err error) {
	a := &res.arrival
	if err != nil && a.failure == "" && a.declared >= 0 && res.written+int64(of) > a.declared {
		a.failure = wrongLength // HTTP/2 has an error of its own for it
	}
	res.written += int64(n)
	a.failed(res.request, err)
}

// ReadFrom copies src to the body. A writer's own ReadFrom writes no header if src is empty, so the
// first bytes go the usual way. net/http's servers take as many to tell the content's type.
func (res *response) ReadFrom(src io.Reader) (n int64, err error) {
	if !res.begun {
		const first = 512
		n, err = io.Copy(struct{ io.Writer }{res}, io.LimitReader(src, first))
		if err != nil || n < first {
			return n, err
		}
	}
	w, ok := res.ResponseWriter.(io.ReaderFrom)
	if !ok {
		more, err := io.Copy(struct{ io.Writer }{res}, src)
		return n + more, err
	}
	more, err := w.ReadFrom(src)
	res.written += more
	res.arrival.copied(err)
	return n + more, err
}

// FlushError is for [http.ResponseController], which would otherwise look for it behind us.
func (res *response) FlushError() error {
	if w := res.ResponseWriter; !reaches[http.Flusher](w) &&
		!reaches[interface{ FlushError() error }](w) {
		return http.ErrNotSupported
	}
	res.begin(http.StatusOK)
	err := http.NewResponseController(res.ResponseWriter).Flush()
	if err == nil {
		res.arrival.flushed = res.written
	}
	res.arrival.failed(res.request, err)
	return err
}

// SetWriteDeadline is for [http.ResponseController].
func (res *response) SetWriteDeadline(deadline time.Time) error {
	err := http.NewResponseController(res.ResponseWriter).SetWriteDeadline(deadline)
	if err == nil {
		res.arrival.until = 0
		if !deadline.IsZero() {
			res.arrival.until = max(1, time.Until(deadline)+res.request.tl.Now())
		}
	}
	return err
}

// hijack takes the connection. The middleware does not see what the handler writes there.
func (res *response) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(res.ResponseWriter).Hijack()
	if err == nil {
		res.begun, res.hijacked = true, true // and without a status, unless there was one before
	}
	return conn, buf, err
}

// isStream reports whether the answer lasts as long as the client stays: server-sent events, or
// another protocol.
func (res *response) isStream() bool {
	if res.hijacked || res.status == http.StatusSwitchingProtocols {
		return true
	}
	types := res.fields()["Content-Type"]
	return len(types) > 0 && strings.HasPrefix(types[0], "text/event-stream")
}

// Unwrap is for [http.ResponseController]. Others may set fields of the header of the writer that
// they get.
func (res *response) Unwrap() http.ResponseWriter {
	res.ask()
	if _, direct := res.ResponseWriter.(http.Hijacker); !direct &&
		reaches[http.Hijacker](res.ResponseWriter) {
		return hijackWriter{res}
	}
	return res.ResponseWriter
}

// A hijackWriter stands before a writer that cannot be hijacked itself, but has another behind it
// that can. So the response sees it when an http.ResponseController takes the connection.
type hijackWriter struct{ *response }

var _ http.Hijacker = hijackWriter{}

func (w hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }
func (w hijackWriter) Unwrap() http.ResponseWriter                  { return w.ResponseWriter }

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
