package bridgehttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
)

// Handlers use a response in many ways, over real connections. The client's response, the
// span and the navigation entry agree.
func TestResponses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	large := strings.Repeat("0123456789", 10_000)
	if err := os.WriteFile(file, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	serveFile := func(w http.ResponseWriter, _ *http.Request) {
		f, err := os.Open(file)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if n, err := io.Copy(w, f); err != nil || n != int64(len(large)) {
			t.Errorf("copied %d, %v", n, err)
		}
	}
	nothing := struct{ io.Reader }{strings.NewReader("")} // that cannot write itself
	for _, c := range []struct {
		name    string
		method  string
		handler http.HandlerFunc
		status  int    // that the client gets; 0: the connection breaks before
		body    string // that the client gets
		broken  bool   // the body
		span    string // http.response.status_code, http.response.body.size, error.type
		code    codes.Code
		detail  string // of the entry, from responseStatus on
	}{
		{"nothing is written", "GET", func(http.ResponseWriter, *http.Request) {}, 200, "", false, "200  ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"WriteHeader twice", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201); w.WriteHeader(500) }, 201, "", false, "201  ", codes.Unset,
			"responseStatus=201 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"Write and then WriteHeader", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello"); w.WriteHeader(500) }, 200, "hello", false, "200 5 ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=5"},
		{"a server error with a body", "GET", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) }, 503, "no\n", false, "503 3 503", codes.Error,
			"responseStatus=503 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=3 error=503"},
		{"100 and 103 precede", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(100)
			w.WriteHeader(103)
			w.WriteHeader(418)
		}, 418, "", false, "418  ", codes.Unset,
			"responseStatus=418 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"a file is copied", "GET", serveFile, 200, large, false, "200 100000 ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=100000"},
		{"nothing is copied", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, nothing) }, 200, "", false, "200  ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"nothing is copied, then a status", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, nothing)
			_, _ = io.Copy(w, nothing)
			w.WriteHeader(404)
			w.WriteHeader(500)
		}, 404, "", false, "404  ", codes.Unset,
			"responseStatus=404 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"nothing is copied, then something, then a status", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, nothing)
			_, _ = io.WriteString(w, "x")
			w.WriteHeader(500)
		}, 200, "x", false, "200 1 ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=1"},
		{"a copy that fails at once, then a status", "GET", func(w http.ResponseWriter, _ *http.Request) {
			if n, err := io.Copy(w, failing{}); n != 0 || !errors.Is(err, errFake) {
				t.Errorf("copied %d, %v", n, err)
			}
			w.WriteHeader(502)
		}, 502, "", false, "502  502", codes.Error,
			"responseStatus=502 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0 error=502"},
		{"no content", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("writing after 204: %v", err)
			}
		}, 204, "", false, "204  ", codes.Unset,
			"responseStatus=204 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"HEAD", "HEAD", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, 200, "", false, "200  ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"a panic before the first byte", "GET", func(http.ResponseWriter, *http.Request) { panic("boom") }, 0, "", false, "  panic", codes.Error,
			"requestStart=0s responseEnd=T requestBodySize=0 encodedBodySize=0 error=panic"},
		{"a panic after it", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic("boom")
		}, 200, "hello", true, "200 5 panic", codes.Error,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=5 error=panic"},
		{"aborted after it", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 200, "hello", true, "200 5 handler_aborted", codes.Error,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=5 error=handler_aborted"},
		{"aborted before it", "GET", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "", false, "  handler_aborted", codes.Error,
			"requestStart=0s responseEnd=T requestBodySize=0 encodedBodySize=0 error=handler_aborted"},
		{"the goroutine ends", "GET", func(http.ResponseWriter, *http.Request) { runtime.Goexit() }, 0, "", false, "  handler_exited", codes.Error,
			"requestStart=0s responseEnd=T requestBodySize=0 encodedBodySize=0 error=handler_exited"},
		{"shorter than declared", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, "hello")
		}, 200, "hello", true, "200 5 content_length_mismatch", codes.Error,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=5 error=content_length_mismatch"},
		{"longer than declared", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "hello")
		}, 200, "hello", true, "200 5 content_length_mismatch", codes.Error,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=5 error=content_length_mismatch"},
		{"as long as declared", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			_, _ = io.WriteString(w, "hello")
		}, 200, "hello", false, "200 5 ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=5"},
		{"HEAD with a length", "HEAD", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") }, 200, "", false, "200  ", codes.Unset,
			"responseStatus=200 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"a status that is none, then another", "GET", func(w http.ResponseWriter, _ *http.Request) {
			for _, none := range []int{-1, 0, 99, 1000, 1 << 30} {
				func() {
					defer func() { _ = recover() }()
					w.WriteHeader(none)
				}()
			}
			w.WriteHeader(418)
		}, 418, "", false, "418  ", codes.Unset,
			"responseStatus=418 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
	} {
		for _, protocol := range protocols {
			t.Run(c.name+" over "+protocol, func(t *testing.T) {
				r := withProcessor(t)
				s := r.open(t, protocol, r.wrap(c.handler))
				resp, body, err := s.do(t, newRequest(t, c.method, s.url+"/x/y?q=1", nil))
				if (resp == nil) != (c.status == 0) || (resp != nil && resp.StatusCode != c.status) {
					t.Fatalf("got %v, %v, want status %d", resp, err, c.status)
				}
				if body != c.body || (err != nil) != (c.broken || c.status == 0) {
					t.Errorf("got a body of %d bytes, %v; want %d, broken %v", len(body), err, len(c.body), c.broken)
				}
				r.flush(t)
				span := r.got.one(t, c.method)
				if got := tag(span, "http.response.status_code") + " " + tag(span, "http.response.body.size") + " " + tag(span, "error.type"); got != c.span || span.Status().Code != c.code {
					t.Errorf("span says %q, %v; want %q, %v", got, span.Status().Code, c.span, c.code)
				}
				e := only(t, s.entries())
				want := "initiatorType=http method=" + c.method + " nextHopProtocol=" + protocol + " " + c.detail
				if got := shape(e); e.Name() != "/x/y" || got != want {
					t.Errorf("entry %q\ngot  %s\nwant %s", e.Name(), got, want)
				}
			})
		}
	}
}

// failing is a reader that fails.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFake }

// A client sees what was flushed while the handler runs.
func TestResponseStreams(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			seen := make(chan struct{})
			s := r.open(t, protocol, r.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "first")
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				within(t, seen, "the client")
				_, _ = io.WriteString(w, " second")
			})))
			resp, err := s.client.Do(newRequest(t, http.MethodGet, s.url, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			first := make([]byte, len("first"))
			if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
				t.Errorf("read %q, %v", first, err)
			}
			if n := len(s.entries()); n != 0 {
				t.Errorf("%d entries while the handler runs", n)
			}
			close(seen)
			if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != " second" {
				t.Errorf("then read %q, %v", rest, err)
			}
		})
	}
}

// Informational responses reach the client.
func TestResponseInformational(t *testing.T) {
	for _, protocol := range protocols {
		r := withProcessor(t)
		s := r.open(t, protocol, r.traced(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
		})))
		var got []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			got = append(got, http.StatusText(code)+" "+h.Get("Link")+h.Get("Server-Timing"))
			return nil
		}})
		resp, _, err := s.do(t, newRequest(t, http.MethodGet, s.url, nil).WithContext(ctx))
		if err != nil || strings.Join(got, ",") != "Early Hints </x>; rel=preload" || resp.Header.Get("Server-Timing") == "" {
			t.Errorf("over %s: %v before %v, %v", protocol, got, resp, err)
		}
	}
}

// dial opens a connection and asks for an upgrade.
func (s *site) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// echo takes the connection and sends back a line.
func echo(t *testing.T, w http.ResponseWriter) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	line, err := buf.ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	_, _ = buf.WriteString("echo " + line)
	if err := buf.Flush(); err != nil {
		t.Error(err)
	}
}

// After a handler takes the connection, the span has only what was known before.
func TestResponseHijack(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler func(*testing.T, http.ResponseWriter)
		read    string // the first line
		span    string // status and error.type
		entry   string
	}{
		{"the handler writes the status itself", func(t *testing.T, w http.ResponseWriter) { echo(t, w) }, "echo hello\n", " ",
			"requestStart=0s responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"after WriteHeader(101)", func(t *testing.T, w http.ResponseWriter) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "echo")
			w.WriteHeader(http.StatusSwitchingProtocols)
			echo(t, w)
		}, "HTTP/1.1 101 Switching Protocols\r\n", "101 ",
			"responseStatus=101 requestStart=0s responseStart=T responseEnd=T requestBodySize=0 encodedBodySize=0"},
		{"then a panic", func(t *testing.T, w http.ResponseWriter) { echo(t, w); panic("boom") }, "echo hello\n", " panic",
			"requestStart=0s responseEnd=T requestBodySize=0 encodedBodySize=0 error=panic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			s := r.open(t, "http/1.1", r.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.handler(t, w) })))
			conn, in := s.dial(t)
			if _, err := io.WriteString(conn, "hello\n"); err != nil {
				t.Fatal(err)
			}
			line, err := in.ReadString('\n')
			if err != nil || line != c.read {
				t.Errorf("read %q, %v, want %q", line, err, c.read)
			}
			rest, err := io.ReadAll(in)
			if err != nil || (c.read[0] == 'H') != strings.HasSuffix(string(rest), "echo hello\n") {
				t.Errorf("then read %q, %v", rest, err)
			}
			s.handlers.Wait()
			r.flush(t)
			span := r.got.one(t, "GET")
			if got := tag(span, "http.response.status_code") + " " + tag(span, "error.type"); got != c.span {
				t.Errorf("span says %q, want %q", got, c.span)
			}
			if got, want := shape(only(t, s.entries())), "initiatorType=http method=GET nextHopProtocol=http/1.1 "+c.entry; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
