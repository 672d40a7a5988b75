package bridgehttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A plainWriter is a ResponseWriter that can nothing else and notes its calls.
// The types below each add one thing that a ResponseWriter may be able to.
type plainWriter struct {
	header http.Header
	calls  []string
	sent   int
}

func newPlainWriter() *plainWriter { return &plainWriter{header: http.Header{}} }

func (p *plainWriter) note(format string, args ...any) {
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
}

func (p *plainWriter) Header() http.Header  { return p.header }
func (p *plainWriter) WriteHeader(code int) { p.note("WriteHeader %d", code) }
func (p *plainWriter) Write(b []byte) (int, error) {
	p.sent += len(b)
	p.note("Write %s", b)
	return len(b), nil
}

type (
	flushes      struct{ p *plainWriter }
	flushesError struct{ p *plainWriter }
	hijacks      struct{ p *plainWriter }
	readsFrom    struct{ p *plainWriter }
	pushes       struct{ p *plainWriter }
	notifies     struct{ p *plainWriter }
	writesString struct{ p *plainWriter }
	hasDeadlines struct{ p *plainWriter }
	fullDuplex   struct{ p *plainWriter }
)

var errFake = errors.New("fake")

func (f flushes) Flush() { f.p.note("Flush") }
func (f flushesError) FlushError() error {
	f.p.note("FlushError")
	return errFake
}
func (f hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	f.p.note("Hijack")
	return nil, nil, nil
}
func (f readsFrom) ReadFrom(src io.Reader) (int64, error) {
	b, err := io.ReadAll(src)
	f.p.sent += len(b)
	f.p.note("ReadFrom %s", b)
	return int64(len(b)), err
}
func (f pushes) Push(target string, _ *http.PushOptions) error {
	f.p.note("Push %s", target)
	return errFake
}
func (f notifies) CloseNotify() <-chan bool {
	f.p.note("CloseNotify")
	return nil
}
func (f writesString) WriteString(s string) (int, error) {
	f.p.sent += len(s)
	f.p.note("WriteString %s", s)
	return len(s), nil
}
func (f hasDeadlines) SetReadDeadline(at time.Time) error {
	f.p.note("SetReadDeadline %d", at.Unix())
	return errFake
}
func (f hasDeadlines) SetWriteDeadline(at time.Time) error {
	f.p.note("SetWriteDeadline %d", at.Unix())
	return errFake
}
func (f fullDuplex) EnableFullDuplex() error {
	f.p.note("EnableFullDuplex")
	return errFake
}

// everyCall calls w and a ResponseController of w in every way that handlers do. It returns
// the results.
func everyCall(w http.ResponseWriter) (out []string) {
	report := func(what string, result any) { out = append(out, fmt.Sprintf("%s: %v", what, result)) }
	w.Header().Set("X", "y")
	w.WriteHeader(http.StatusAccepted)
	n, err := w.Write([]byte("0123456789"))
	report("Write "+strconv.Itoa(n), err)
	n, err = io.WriteString(w, "01234")
	report("WriteString "+strconv.Itoa(n), err)
	copied, err := io.Copy(w, struct{ io.Reader }{strings.NewReader("0123456")})
	report(fmt.Sprintf("Copy %d", copied), err)
	if x, ok := w.(http.Flusher); ok {
		x.Flush()
		report("Flush", nil)
	}
	if x, ok := w.(http.CloseNotifier); ok { //nolint:staticcheck // deprecated, and handlers still ask for it
		report("CloseNotify", x.CloseNotify() == nil)
	}
	if x, ok := w.(http.Pusher); ok {
		report("Push", x.Push("/p", nil))
	}
	c := http.NewResponseController(w)
	report("controller's Flush", c.Flush())
	report("controller's SetReadDeadline", c.SetReadDeadline(time.Unix(3, 0)))
	report("controller's SetWriteDeadline", c.SetWriteDeadline(time.Unix(4, 0)))
	report("controller's EnableFullDuplex", c.EnableFullDuplex())
	if x, ok := w.(http.Hijacker); ok {
		_, _, err := x.Hijack()
		report("Hijack", err)
	}
	_, _, err = c.Hijack()
	report("controller's Hijack", err)
	return out
}

// Whatever a writer can do, the wrapped one can do and nothing more; each call gets
// there, and its result comes back.
func TestResponseCanWhatItsWriterCan(t *testing.T) {
	type p = plainWriter
	for _, c := range []struct {
		name string
		make func(*p) http.ResponseWriter
	}{
		{"nothing", func(p *p) http.ResponseWriter { return p }},
		{"Flush", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				flushes
			}{p, flushes{p}}
		}},
		{"FlushError", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				flushesError
			}{p, flushesError{p}}
		}},
		{"Hijack", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				hijacks
			}{p, hijacks{p}}
		}},
		{"ReadFrom", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				readsFrom
			}{p, readsFrom{p}}
		}},
		{"Push", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				pushes
			}{p, pushes{p}}
		}},
		{"CloseNotify", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				notifies
			}{p, notifies{p}}
		}},
		{"WriteString", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				writesString
			}{p, writesString{p}}
		}},
		{"deadlines", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				hasDeadlines
			}{p, hasDeadlines{p}}
		}},
		{"EnableFullDuplex", func(p *p) http.ResponseWriter {
			return struct {
				*plainWriter
				fullDuplex
			}{p, fullDuplex{p}}
		}},
		{"HTTP/1", func(p *p) http.ResponseWriter { return newHTTP1(p) }},
		{"HTTP/2", func(p *p) http.ResponseWriter { return newHTTP2(p) }},
		{"HTTP/1 and Push", func(p *p) http.ResponseWriter {
			return struct {
				http1Fake
				pushes
			}{newHTTP1(p), pushes{p}}
		}},
		{"HTTP/2 and Hijack", func(p *p) http.ResponseWriter {
			return struct {
				http2Fake
				hijacks
			}{newHTTP2(p), hijacks{p}}
		}},
		{"HTTP/2 and ReadFrom", func(p *p) http.ResponseWriter {
			return struct {
				http2Fake
				readsFrom
			}{newHTTP2(p), readsFrom{p}}
		}},
		{"what both have", func(p *p) http.ResponseWriter { return newBoth(p) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			bare, wrapped := newPlainWriter(), newPlainWriter()
			want := everyCall(c.make(bare))
			var got []string
			req := newRequest(t, http.MethodGet, "/", nil)
			r.traced(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = everyCall(w) })).ServeHTTP(c.make(wrapped), req)
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if !slices.Equal(wrapped.calls, bare.calls) {
				t.Errorf("the writer was called %q\nwant %q", wrapped.calls, bare.calls)
			}
			if wrapped.header.Get("X") != "y" || wrapped.header.Get("Server-Timing") == "" {
				t.Errorf("the header is %v", wrapped.header)
			}
			r.flush(t)
			s := r.got.one(t, "GET")
			if size := tag(s, "http.response.body.size"); size != strconv.Itoa(bare.sent) || tag(s, "http.response.status_code") != "202" {
				t.Errorf("size %s, status %s, want %d, 202", size, tag(s, "http.response.status_code"), bare.sent)
			}
		})
	}
}

// A ResponseController finds what only the writer itself has.
func TestResponseUnwraps(t *testing.T) {
	p := newPlainWriter()
	for _, w := range []http.ResponseWriter{p, newHTTP1(p), newHTTP2(p)} {
		r := withProcessor(t)
		r.wrap(http.HandlerFunc(func(wrapped http.ResponseWriter, _ *http.Request) {
			u, ok := wrapped.(interface{ Unwrap() http.ResponseWriter })
			if !ok || u.Unwrap() != w {
				t.Errorf("a %T does not unwrap to the %T", wrapped, w)
			}
		})).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
	}
}

// A copy of nothing reaches no writer: what would begin the response is not known
// to have come yet.
func TestResponseOfNothingCopied(t *testing.T) {
	r := withProcessor(t)
	w := newPlainWriter()
	r.traced(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		n, err := to.(io.ReaderFrom).ReadFrom(strings.NewReader(""))
		if n != 0 || err != nil || len(w.calls) != 0 || w.header.Get("Server-Timing") != "" {
			t.Errorf("copied %d, %v; the writer was called %q", n, err, w.calls)
		}
	})).ServeHTTP(newHTTP1(w), newRequest(t, http.MethodGet, "/", nil))
}

type bothFake struct {
	*plainWriter
	flushes
	flushesError
	notifies
	writesString
	hasDeadlines
	fullDuplex
}

func newBoth(p *plainWriter) bothFake {
	return bothFake{p, flushes{p}, flushesError{p}, notifies{p}, writesString{p}, hasDeadlines{p}, fullDuplex{p}}
}

type http1Fake struct {
	bothFake
	hijacks
	readsFrom
}

func newHTTP1(p *plainWriter) http1Fake { return http1Fake{newBoth(p), hijacks{p}, readsFrom{p}} }

type http2Fake struct {
	bothFake
	pushes
}

func newHTTP2(p *plainWriter) http2Fake { return http2Fake{newBoth(p), pushes{p}} }

// Whichever way the first byte takes, the header is added before it and the
// moment noted.
func TestResponseBeginsOnce(t *testing.T) {
	type p = plainWriter
	full := func(p *p) http.ResponseWriter { return newHTTP1(p) }
	all := func(p *p) http.ResponseWriter {
		return struct {
			http1Fake
			pushes
		}{newHTTP1(p), pushes{p}}
	}
	for _, c := range []struct {
		name string
		call func(http.ResponseWriter) error
	}{
		{"WriteHeader", func(w http.ResponseWriter) error { w.WriteHeader(http.StatusOK); return nil }},
		{"Write", func(w http.ResponseWriter) error { _, err := w.Write(nil); return err }},
		{"WriteString", func(w http.ResponseWriter) error { _, err := io.WriteString(w, ""); return err }},
		{"ReadFrom", func(w http.ResponseWriter) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("x"))
			return err
		}},
		{"Flush", func(w http.ResponseWriter) error { w.(http.Flusher).Flush(); return nil }},
		{"FlushError", func(w http.ResponseWriter) error {
			if err := w.(interface{ FlushError() error }).FlushError(); !errors.Is(err, errFake) {
				return fmt.Errorf("got %w, want %w", err, errFake)
			}
			return nil
		}},
	} {
		for name, of := range map[string]func(*p) http.ResponseWriter{"": full, ", with all interfaces": all} {
			t.Run(c.name+name, func(t *testing.T) {
				r := withProcessor(t)
				w := newPlainWriter()
				r.traced(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
					for range 2 {
						if err := c.call(to); err != nil {
							t.Error(err)
						}
						if got := w.header.Values("Server-Timing"); len(got) != 1 {
							t.Errorf("after the call, Server-Timing is %q, want one value", got)
						}
					}
				})).ServeHTTP(of(w), newRequest(t, http.MethodGet, "/", nil))
			})
		}
	}
}
