package bridgehttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// A response observes a response while the handler writes it. It is the handler's ResponseWriter.
// It always implements [io.StringWriter] and [io.ReaderFrom], which are only faster ways to write.
// response_writers.go adds the other optional interfaces.
type response struct {
	http.ResponseWriter

	request *request
	arrival arrival
	// The first final status. 0: not written yet, not sendable, or the connection is hijacked.
	status     int
	written    int64       // bytes of the body
	headerSent bool        // or the connection is hijacked
	hijacked   bool        // the handler owns the connection
	headerRead atomic.Bool // the handler may have set fields of the header
}

var (
	_ io.StringWriter = (*response)(nil)
	_ io.ReaderFrom   = (*response)(nil)
)

// begin observes the final header before the first byte is written, while fields can still be set.
func (res *response) begin(status int) {
	if res.headerSent {
		return
	}
	res.headerSent = true
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
	if q.tl.Mirrored() {
		q.tl.Unit().LookForRoute()
	}
	q.timing.header(q, res)
}

func (res *response) Header() http.Header {
	res.headerRead.Store(true)
	return res.ResponseWriter.Header()
}

// fields returns the header, or nil if the handler cannot have set a field. net/http clones a
// header after the first access, so the middleware must not cause this access.
func (res *response) fields() http.Header {
	if !res.headerRead.Load() {
		return nil
	}
	return res.ResponseWriter.Header()
}

func (res *response) WriteHeader(code int) {
	// 1xx responses except 101 precede the final one. net/http panics on codes over 999.
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

// wrote records a write of len bytes, of which n were written.
func (res *response) wrote(n, length int, err error) {
	a := &res.arrival
	if err != nil && a.failure == "" && a.declared >= 0 && res.written+int64(length) > a.declared {
		a.failure = wrongLength // the error of HTTP/2 is unexported
	}
	res.written += int64(n)
	a.failed(res.request, err)
}

// ReadFrom copies src to the body. Write copies the first 512 bytes, because net/http detects the
// content's type from these bytes. The inner ReadFrom copies the rest. The inner ReadFrom alone
// would write no header for an empty src.
func (res *response) ReadFrom(src io.Reader) (n int64, err error) {
	if !res.headerSent {
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

// FlushError implements Flush for [http.ResponseController]. Without FlushError, the
// ResponseController would call the inner writers.
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

// SetWriteDeadline implements SetWriteDeadline of [http.ResponseController].
func (res *response) SetWriteDeadline(deadline time.Time) error {
	err := http.NewResponseController(res.ResponseWriter).SetWriteDeadline(deadline)
	if err == nil {
		res.arrival.deadline = 0
		if !deadline.IsZero() {
			res.arrival.deadline = max(1, time.Until(deadline)+res.request.tl.Now())
		}
	}
	return err
}

// hijack gives the connection to the handler. The middleware does not see further bytes.
func (res *response) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(res.ResponseWriter).Hijack()
	if err == nil {
		res.headerSent, res.hijacked = true, true
	}
	return conn, buf, err
}

// Unwrap returns the inner writer for [http.ResponseController]. The caller may set fields of the
// inner writer's header.
func (res *response) Unwrap() http.ResponseWriter {
	res.headerRead.Store(true)
	if _, direct := res.ResponseWriter.(http.Hijacker); !direct &&
		reaches[http.Hijacker](res.ResponseWriter) {
		return hijackWriter{res}
	}
	return res.ResponseWriter
}

// A hijackWriter wraps a writer that cannot be hijacked but contains a writer that can. Through it,
// the response sees a hijack by an http.ResponseController.
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
