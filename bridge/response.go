package bridge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/felixge/httpsnoop"
)

// A response is what is noted of a response while the handler writes it, and the
// writer the handler gets.
type response struct {
	http.ResponseWriter

	onBegin func(*response) // before the first byte, while headers can still be set
	status  int             // the first final one; 0 before it and when the handler took the connection
	written int64           // bytes of the body
	begun   bool            // the header is on its way, or the connection the handler's
}

// begin is called before the first byte is written.
func (res *response) begin(status int) {
	if res.begun {
		return
	}
	res.begun = true
	res.status = status
	res.onBegin(res)
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

// readFrom copies src to the body with one of the writer's ways to do so. That
// writes no header if nothing is there to be copied, so the first bytes go the
// usual way; net/http's servers take as many to tell the content's type.
func (res *response) readFrom(src io.Reader, copyFrom func(io.Reader) (int64, error)) (n int64, err error) {
	if !res.begun {
		const first = 512
		n, err = io.Copy(struct{ io.Writer }{res}, io.LimitReader(src, first))
		if err != nil || n < first {
			return n, err
		}
	}
	more, err := copyFrom(src)
	res.written += more
	return n + more, err
}

// Unwrap is for [http.ResponseController].
func (res *response) Unwrap() http.ResponseWriter { return res.ResponseWriter }

// took is called after the handler took the connection: what it writes there is its own affair.
func (res *response) took() {
	res.begun = true // and where it had not, without a status
}

// wrap returns the writer for the handler, with the optional interfaces that w
// has and no others. Those of net/http's own servers, and of what wraps them
// faithfully, cost no allocation; httpsnoop knows all other combinations.
func (res *response) wrap(w http.ResponseWriter) http.ResponseWriter {
	res.ResponseWriter = w
	_, pushes := w.(http.Pusher)
	_, hijacks := w.(http.Hijacker)
	_, reads := w.(io.ReaderFrom)
	_, full := w.(fullWriter)
	switch {
	case full && hijacks && reads && !pushes:
		return http1Response{fullResponse{res}}
	case full && pushes && !hijacks && !reads:
		return http2Response{fullResponse{res}}
	case isPlain(w):
		return plainResponse{res}
	}
	return res.snoop(w)
}

// A fullWriter has what the writers of net/http's servers have for either protocol.
type fullWriter interface {
	http.ResponseWriter
	io.StringWriter
	http.Flusher
	http.CloseNotifier //nolint:staticcheck // deprecated, and handlers still ask for it
	FlushError() error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	EnableFullDuplex() error
}

// fullResponse is a response to a fullWriter. It is a pointer, and an interface of
// it needs no memory.
type fullResponse struct{ *response }

var _ fullWriter = fullResponse{}

func (w fullResponse) full() fullWriter { return w.ResponseWriter.(fullWriter) }

func (w fullResponse) Flush() {
	w.begin(http.StatusOK)
	w.full().Flush()
}

func (w fullResponse) FlushError() error {
	w.begin(http.StatusOK)
	return w.full().FlushError()
}

func (w fullResponse) CloseNotify() <-chan bool           { return w.full().CloseNotify() }
func (w fullResponse) SetReadDeadline(t time.Time) error  { return w.full().SetReadDeadline(t) }
func (w fullResponse) SetWriteDeadline(t time.Time) error { return w.full().SetWriteDeadline(t) }
func (w fullResponse) EnableFullDuplex() error            { return w.full().EnableFullDuplex() }

// http1Response is a response over HTTP/1.
type http1Response struct{ fullResponse }

var (
	_ http.Hijacker = http1Response{}
	_ io.ReaderFrom = http1Response{}
)

func (w http1Response) ReadFrom(src io.Reader) (int64, error) {
	return w.readFrom(src, w.ResponseWriter.(io.ReaderFrom).ReadFrom)
}

func (w http1Response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.hijack(w.ResponseWriter.(http.Hijacker).Hijack)
}

// hijack takes the connection with one of the writer's ways to do so.
func (res *response) hijack(take func() (net.Conn, *bufio.ReadWriter, error)) (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := take()
	if err == nil {
		res.took()
	}
	return conn, buf, err
}

// http2Response is a response over HTTP/2.
type http2Response struct{ fullResponse }

var _ http.Pusher = http2Response{}

func (w http2Response) Push(target string, o *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, o)
}

// snoop wraps a writer of any other combination of interfaces.
func (res *response) snoop(w http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc { return res.WriteHeader },
		Write:       func(httpsnoop.WriteFunc) httpsnoop.WriteFunc { return res.Write },
		WriteString: func(httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc { return res.WriteString },
		ReadFrom: func(readFrom httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { return res.readFrom(src, readFrom) }
		},
		Flush: func(flush httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				res.begin(http.StatusOK)
				flush()
			}
		},
		FlushError: func(flush httpsnoop.FlushErrorFunc) httpsnoop.FlushErrorFunc {
			return func() error {
				res.begin(http.StatusOK)
				return flush()
			}
		},
		Hijack: func(hijack httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) { return res.hijack(hijack) }
		},
	})
}
