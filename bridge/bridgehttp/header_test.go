package bridgehttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// A countingWriter counts how often its header is asked for.
type countingWriter struct {
	http.ResponseWriter
	asked int
}

func (w *countingWriter) Header() http.Header {
	w.asked++
	return w.ResponseWriter.Header()
}

func (w *countingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A server clones a header that somebody asks for. The middleware asks for a header only if it sets a field, or if the handler may
// have set one.
func TestHeaderIsLeftAlone(t *testing.T) {
	deadline := func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	for _, c := range []struct {
		name   string
		timing bridgehttp.ServerTiming
		serve  http.HandlerFunc
		asks   bool
	}{
		{"nothing", bridgehttp.ServerTiming{}, func(http.ResponseWriter, *http.Request) {}, false},
		{"a body", bridgehttp.ServerTiming{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, false},
		{"a copy", bridgehttp.ServerTiming{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, strings.NewReader(strings.Repeat("hello", 1000)))
		}, false},
		{"a status", bridgehttp.ServerTiming{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, false},
		{"a flush", bridgehttp.ServerTiming{}, func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }, false},
		{"a deadline", bridgehttp.ServerTiming{}, deadline, false},
		{"a panic", bridgehttp.ServerTiming{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		{"measures, none of which is told", bridgehttp.ServerTiming{Names: []string{"db"}}, func(w http.ResponseWriter, r *http.Request) {
			measure(r, "render")
			_, _ = io.WriteString(w, "hello")
		}, false},
		{"a measure that is told", bridgehttp.ServerTiming{Names: []string{"db"}}, func(_ http.ResponseWriter, r *http.Request) { measure(r, "db") }, true},
		{"the trace", bridgehttp.ServerTiming{Trace: true}, func(http.ResponseWriter, *http.Request) {}, true},
		{"the handler's field", bridgehttp.ServerTiming{}, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", "y") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			w := &countingWriter{ResponseWriter: httptest.NewRecorder()}
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			req.Header.Set("Te", "gzip")
			func() {
				defer func() { _ = recover() }()
				r.timed(c.timing, c.serve).ServeHTTP(w, req)
			}()
			if (w.asked > 0) != c.asks {
				t.Errorf("the header was asked for %d times", w.asked)
			}
		})
	}
}

// What the handler declares counts, whichever way the handler gets at the header.
func TestDeclaredLength(t *testing.T) {
	const mismatch = "content_length_mismatch"
	for _, c := range []struct {
		name  string
		serve func(w http.ResponseWriter, declare func(http.ResponseWriter))
		want  string // error.type
	}{
		{"nothing", func(w http.ResponseWriter, _ func(http.ResponseWriter)) { _, _ = io.WriteString(w, "hello") }, ""},
		{"more than is written", func(w http.ResponseWriter, declare func(http.ResponseWriter)) {
			declare(w)
			_, _ = io.WriteString(w, "hello")
		}, mismatch},
		{"more than nothing", func(w http.ResponseWriter, declare func(http.ResponseWriter)) { declare(w) }, mismatch},
		{"by the writer behind the middleware", func(w http.ResponseWriter, declare func(http.ResponseWriter)) {
			declare(w.(interface{ Unwrap() http.ResponseWriter }).Unwrap())
			_, _ = io.WriteString(w, "hello")
		}, mismatch},
		{"in http.TimeoutHandler", func(w http.ResponseWriter, declare func(http.ResponseWriter)) {
			http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				declare(w)
				_, _ = io.WriteString(w, "hello")
			}), time.Hour, "").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		}, mismatch},
		{"after the first byte", func(w http.ResponseWriter, declare func(http.ResponseWriter)) {
			_, _ = io.WriteString(w, "hello")
			declare(w)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hasErrorType(t, httptest.NewRecorder(), http.NoBody, c.want, func(w http.ResponseWriter, _ *http.Request) {
				c.serve(w, func(w http.ResponseWriter) { w.Header().Set("Content-Length", "10") })
			})
		})
	}
}
