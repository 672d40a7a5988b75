package bridgehttp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// A recording writer is the status recorder of many a middleware: it has Unwrap for
// [http.ResponseController]. The types below have one method more each.
type recording struct{ http.ResponseWriter }

func (w recording) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type (
	recordingFlush       struct{ recording }
	recordingFlushError  struct{ recording }
	recordingHijack      struct{ recording }
	recordingFlushHijack struct{ recordingFlush }
	recordingReadFrom    struct{ recording }
	recordingString      struct{ recording }
	recordingPush        struct{ recording }
	recordingNotify      struct{ recording }
	recordingDeadlines   struct{ recording }
)

func (w recordingFlush) Flush() { w.ResponseWriter.(http.Flusher).Flush() }
func (w recordingFlushError) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}
func (w recordingHijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}
func (w recordingFlushHijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}
func (w recordingReadFrom) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(w.ResponseWriter, src)
}
func (w recordingString) WriteString(s string) (int, error) {
	return io.WriteString(w.ResponseWriter, s)
}
func (w recordingPush) Push(string, *http.PushOptions) error { return http.ErrNotSupported }
func (w recordingNotify) CloseNotify() <-chan bool           { return nil }
func (w recordingDeadlines) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(at)
}
func (w recordingDeadlines) SetWriteDeadline(at time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(at)
}

// The middleware sees what an http.ResponseController does behind the writer of an outer
// middleware, whatever else that writer can.
func TestResponseControllerBehindAnotherWriter(t *testing.T) {
	for _, outer := range []struct {
		name string
		wrap func(http.ResponseWriter) http.ResponseWriter
	}{
		{"Unwrap", func(w http.ResponseWriter) http.ResponseWriter { return recording{w} }},
		{"Flush", func(w http.ResponseWriter) http.ResponseWriter { return recordingFlush{recording{w}} }},
		{"FlushError", func(w http.ResponseWriter) http.ResponseWriter { return recordingFlushError{recording{w}} }},
		{"Hijack", func(w http.ResponseWriter) http.ResponseWriter { return recordingHijack{recording{w}} }},
		{"Flush and Hijack", func(w http.ResponseWriter) http.ResponseWriter {
			return recordingFlushHijack{recordingFlush{recording{w}}}
		}},
		{"ReadFrom", func(w http.ResponseWriter) http.ResponseWriter { return recordingReadFrom{recording{w}} }},
		{"WriteString", func(w http.ResponseWriter) http.ResponseWriter { return recordingString{recording{w}} }},
		{"Push", func(w http.ResponseWriter) http.ResponseWriter { return recordingPush{recording{w}} }},
		{"CloseNotify", func(w http.ResponseWriter) http.ResponseWriter { return recordingNotify{recording{w}} }},
		{"deadlines", func(w http.ResponseWriter) http.ResponseWriter { return recordingDeadlines{recording{w}} }},
	} {
		for _, c := range []struct {
			name    string
			do      func(*http.ResponseController) error
			status  string
			timings int
		}{
			{"Flush", (*http.ResponseController).Flush, "200", 1},
			{"Hijack", func(c *http.ResponseController) error {
				conn, _, err := c.Hijack()
				if err != nil {
					return err
				}
				_, err = conn.Write([]byte("HTTP/1.1 418 I'm a teapot\r\nContent-Length: 0\r\n\r\n"))
				return errors.Join(err, conn.Close())
			}, "", 0},
		} {
			t.Run(c.name+" behind "+outer.name, func(t *testing.T) {
				r := withProcessor(t)
				inner := r.traced(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if err := c.do(http.NewResponseController(w)); err != nil {
						t.Error(err)
					}
					if _, ok := (*record.Timeline)(observer.FromContext(req.Context())).Timing(record.ResponseStart); ok != (c.timings > 0) {
						t.Errorf("responseStart has come: %v", ok)
					}
				}))
				s := r.open(t, "http/1.1", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { inner.ServeHTTP(outer.wrap(w), req) }))
				resp, _, err := s.do(t, newRequest(t, http.MethodGet, s.url, nil))
				if err != nil {
					t.Fatal(err)
				}
				if n := len(resp.Header.Values("Server-Timing")); n != c.timings {
					t.Errorf("%d Server-Timing fields, want %d", n, c.timings)
				}
				r.flush(t)
				if got := tag(r.got.one(t, "GET"), "http.response.status_code"); got != c.status {
					t.Errorf("status %q, want %q", got, c.status)
				}
			})
		}
	}
}

// Where no writer can flush, asking for it is an error and does not begin the response.
func TestResponseControllerFindsNothing(t *testing.T) {
	for name, w := range map[string]http.ResponseWriter{
		"a writer":        newPlainWriter(),
		"one behind it":   recording{newPlainWriter()},
		"one more method": recordingString{recording{newPlainWriter()}},
	} {
		t.Run(name, func(t *testing.T) {
			r := withProcessor(t)
			h := r.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
					t.Errorf("Flush: %v", err)
				}
				if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, http.ErrNotSupported) {
					t.Errorf("Hijack: %v", err)
				}
				w.WriteHeader(http.StatusTeapot)
			}))
			h.ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
			r.flush(t)
			if got := tag(r.got.one(t, "GET"), "http.response.status_code"); got != "418" {
				t.Errorf("status %s", got)
			}
		})
	}
}
