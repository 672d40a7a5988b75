package bridgehttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
)

// Measures that end after the first byte are in a trailer, if the protocol has trailers
// and the client asks for them.
func TestServerTimingTrailer(t *testing.T) {
	flush := func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	own := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Server-Timing")
		flush(w, r)
		w.Header().Add("Server-Timing", "own;dur=1")
	}
	for _, c := range []struct {
		name    string
		method  string
		te      string
		begin   http.HandlerFunc // between the two measures
		header  []string
		trailer []string
	}{
		{"flushed", "GET", "trailers", flush, []string{"before dur"}, []string{"after dur"}},
		{"written", "GET", "trailers", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }, []string{"before dur"}, []string{"after dur"}},
		{"with a status", "GET", "trailers", status(404), []string{"before dur"}, []string{"after dur"}},
		{"with some cleared", "GET", "trailers", func(w http.ResponseWriter, r *http.Request) {
			measure(r, "kept")
			flush(w, r)
			marks.ClearMeasures(r.Context(), "before")
		}, []string{"before dur", "kept dur"}, []string{"after dur"}},
		{"with one that is equal to an earlier", "GET", "trailers", func(w http.ResponseWriter, r *http.Request) {
			same := marks.MeasureOptions{Start: marks.At(0), End: marks.At(1)}
			_, first := marks.Measure(r.Context(), "same", same)
			flush(w, r)
			if _, second := marks.Measure(r.Context(), "same", same); first != nil || second != nil {
				t.Error(first, second)
			}
		}, []string{"same dur", "before dur"}, []string{"same dur", "after dur"}},
		{"among others, with parameters", "GET", "deflate;q=0.5, Trailers;q=1", flush, []string{"before dur"}, []string{"after dur"}},
		{"with the handler's own metric", "GET", "trailers", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Server-Timing", "own"); flush(w, r) },
			[]string{"before dur", "own"}, []string{"after dur"}},
		{"with a trailer of the handler's own", "GET", "trailers", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Own")
			flush(w, r)
			w.Header().Set("X-Own", "own")
		}, []string{"before dur"}, []string{"after dur", "own"}},
		{"with a Server-Timing trailer of the handler's own, a proxy's say", "GET", "trailers", own, []string{"before dur"}, []string{"own dur", "after dur"}},
		{"the same, not asked for", "GET", "", own, []string{"before dur"}, []string{"own dur"}},
		{"not asked for", "GET", "", flush, []string{"before dur"}, nil},
		{"nothing is written", "GET", "trailers", func(http.ResponseWriter, *http.Request) {}, []string{"before dur", "after dur"}, nil},
		{"nothing is copied", "GET", "trailers", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, struct{ io.Reader }{strings.NewReader("")})
		},
			[]string{"before dur", "after dur"}, nil},
		{"a length is set", "GET", "trailers", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			_, _ = io.WriteString(w, "x")
		}, []string{"before dur"}, nil},
		{"HEAD", "HEAD", "trailers", flush, []string{"before dur"}, nil},
		{"no content", "GET", "trailers", status(204), []string{"before dur"}, nil},
		{"not modified", "GET", "trailers", status(304), []string{"before dur"}, nil},
	} {
		for _, protocol := range protocols {
			if protocol == "h2" && strings.Contains(c.te, ",") {
				continue // where "trailers" alone is allowed (RFC 9113, section 8.2.2)
			}
			t.Run(c.name+" over "+protocol, func(t *testing.T) {
				r := withProcessor(t)
				s := r.open(t, protocol, r.timed(bridgehttp.ServerTiming{Names: []string{"*"}}, func(w http.ResponseWriter, req *http.Request) {
					measure(req, "before")
					c.begin(w, req)
					measure(req, "after")
				}))
				req := newRequest(t, c.method, s.url, nil)
				if c.te != "" {
					req.Header.Set("TE", c.te)
				}
				resp, _, err := s.do(t, req)
				if err != nil {
					t.Fatal(err)
				}
				if got := metrics(t, resp.Header.Values("Server-Timing")); !slices.Equal(got, c.header) {
					t.Errorf("the header tells %q, want %q", got, c.header)
				}
				trailer := append(metrics(t, resp.Trailer.Values("Server-Timing")), resp.Trailer.Values("X-Own")...)
				if !slices.Equal(trailer, c.trailer) {
					t.Errorf("the trailer tells %q, want %q; it is %v", trailer, c.trailer, resp.Trailer)
				}
				if _, announced := resp.Trailer["Server-Timing"]; announced && c.trailer == nil {
					t.Error("a trailer was announced for nothing")
				}
			})
		}
	}
}

// A trailer that was announced and has nothing to say does not repeat the header;
// where there are no measures to tell, none is announced.
func TestServerTimingTrailerIsEmpty(t *testing.T) {
	for _, names := range [][]string{{"*"}, nil} {
		for _, protocol := range protocols {
			r := withProcessor(t)
			s := r.open(t, protocol, r.timed(bridgehttp.ServerTiming{Trace: true, Names: names}, func(w http.ResponseWriter, req *http.Request) {
				measure(req, "before")
				w.(http.Flusher).Flush()
			}))
			req := newRequest(t, http.MethodGet, s.url, nil)
			req.Header.Set("TE", "trailers")
			resp, _, err := s.do(t, req)
			if err != nil || len(resp.Trailer.Values("Server-Timing")) != 0 || resp.Header.Get("Server-Timing") == "" || (len(resp.Trailer) > 0) != (names != nil) {
				t.Errorf("%q over %s: header %v, trailer %v, %v", names, protocol, resp.Header, resp.Trailer, err)
			}
		}
	}
}

// A handler that panics before the first byte leaves the header to the handler that
// answers in its place.
func TestServerTimingOfAPanic(t *testing.T) {
	r := withProcessor(t)
	w := newPlainWriter()
	req := newRequest(t, http.MethodGet, "/", nil)
	req.Header.Set("TE", "trailers")
	func() {
		defer func() { _ = recover() }()
		r.timed(bridgehttp.ServerTiming{Names: []string{"*"}}, func(_ http.ResponseWriter, req *http.Request) {
			measure(req, "before")
			panic("boom")
		}).ServeHTTP(newHTTP1(w), req)
	}()
	if len(w.header) != 0 {
		t.Errorf("the header is %v", w.header)
	}
}

// HTTP/1.0 has no trailers, and a connection that was taken is left alone.
func TestServerTimingWithoutTrailer(t *testing.T) {
	for _, c := range []struct {
		name, version string
		handler       func(*testing.T, http.ResponseWriter, *http.Request)
		want          string // the response's end
	}{
		{"HTTP/1.0", "1.0", func(_ *testing.T, w http.ResponseWriter, req *http.Request) {
			_, _ = io.WriteString(w, "body")
			w.(http.Flusher).Flush()
			measure(req, "after")
		}, "\r\n\r\nbody"},
		{"hijacked", "1.1", func(t *testing.T, w http.ResponseWriter, req *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			measure(req, "after")
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nmine")
		}, "HTTP/1.1 200 OK\r\n\r\nmine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			s := r.open(t, "http/1.1", r.timed(bridgehttp.ServerTiming{Names: []string{"*"}}, func(w http.ResponseWriter, req *http.Request) { c.handler(t, w, req) }))
			conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET / HTTP/"+c.version+"\r\nHost: x\r\nTE: trailers\r\nConnection: close\r\n\r\n")
			all, err := io.ReadAll(bufio.NewReader(conn))
			if err != nil || !strings.HasSuffix(string(all), c.want) || strings.Contains(string(all), "after") || strings.Contains(string(all), "Trailer") {
				t.Errorf("got %q, %v", all, err)
			}
			s.handlers.Wait()
		})
	}
}
