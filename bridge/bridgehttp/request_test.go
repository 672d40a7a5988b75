package bridgehttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// net/http removes a form's temporary files by the request it made itself.
func TestRequestUploadIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := withProcessor(t)
	uploaded := 0
	s := r.open(t, "http/1.1", r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if err := req.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		files, err := os.ReadDir(os.TempDir())
		if err != nil {
			t.Error(err)
		}
		uploaded = len(files)
	})))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "name")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(make([]byte, 11<<20)); err != nil { // 10 MiB stay in memory whatever the handler asks for
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	size := int64(body.Len())
	req := newRequest(t, http.MethodPost, s.url, &body)
	req.Header.Set("Content-Type", form.FormDataContentType())
	if _, _, err := s.do(t, req); err != nil {
		t.Fatal(err)
	}
	s.stop() // the server removes them after the response
	if files, err := os.ReadDir(os.TempDir()); err != nil || uploaded != 1 || len(files) != 0 {
		t.Errorf("%d files while the handler ran, %d afterwards, %v; want 1, 0", uploaded, len(files), err)
	}
	if got := attr(&s.entries()[0], "requestBodySize"); got != size {
		t.Errorf("requestBodySize is %v, want %d", got, size)
	}
}

// A handler around the middleware sees the pattern that matched.
func TestRequestPatternIsSeenOutside(t *testing.T) {
	r := withProcessor(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /x/{id}", func(http.ResponseWriter, *http.Request) { panic("boom") })
	inner := r.wrap(mux)
	req := newRequest(t, http.MethodGet, "/x/7", nil)
	func() {
		defer func() { _ = recover() }()
		inner.ServeHTTP(httptest.NewRecorder(), req)
	}()
	if req.Pattern != "GET /x/{id}" {
		t.Errorf("the pattern is %q", req.Pattern)
	}
}

func TestServerSettings(t *testing.T) {
	const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []struct {
		name string
		set  func(*bridgehttp.Server)
		span string // its name; empty: none
		test func(*testing.T, *rig)
	}{
		{"Filter lets it pass", func(s *bridgehttp.Server) { s.Filter = func(r *http.Request) bool { return r.URL.Path != "/x/7" } }, "", nil},
		{"Filter takes it", func(s *bridgehttp.Server) { s.Filter = func(*http.Request) bool { return true } }, "GET /x/{id}", nil},
		{"PublicEndpoint", func(s *bridgehttp.Server) { s.PublicEndpoint = func(*http.Request) bool { return true } }, "GET /x/{id}", func(t *testing.T, r *rig) {
			span := r.got.one(t, "GET /x/{id}")
			if span.Parent().IsValid() || len(span.Links()) != 1 || span.Links()[0].SpanContext.SpanID().String() != caller[36:52] ||
				span.SpanContext().TraceID().String() == caller[3:35] {
				t.Errorf("parent %v, links %v, want none and one to the caller", span.Parent(), span.Links())
			}
		}},
		{"not a PublicEndpoint", func(s *bridgehttp.Server) { s.PublicEndpoint = func(*http.Request) bool { return false } }, "GET /x/{id}", func(t *testing.T, r *rig) {
			if span := r.got.one(t, "GET /x/{id}"); span.Parent().SpanID().String() != caller[36:52] || len(span.Links()) != 0 {
				t.Errorf("parent %v, links %v, want the caller and none", span.Parent(), span.Links())
			}
		}},
		{"SpanName", func(s *bridgehttp.Server) {
			s.SpanName = func(r *http.Request, route string) string { return r.Method + "-" + route }
		}, "GET-/x/{id}", nil},
		{"none", func(*bridgehttp.Server) {}, "GET /x/{id}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			entries := watch(t, r.tl, observer.Navigation)
			mux := http.NewServeMux()
			mux.HandleFunc("/x/{id}", func(w http.ResponseWriter, req *http.Request) {
				if own := (*record.Timeline)(observer.FromContext(req.Context())).Parent() == (*record.Timeline)(r.tl); own != (c.span != "") {
					t.Errorf("a timeline of its own: %v", own)
				}
				w.WriteHeader(http.StatusAccepted)
			})
			server := r.server()
			c.set(&server)
			req := newRequest(t, http.MethodGet, "/x/7", nil)
			req.Header.Set("traceparent", caller)
			w := httptest.NewRecorder()
			server.Middleware(mux).ServeHTTP(w, req)
			r.flush(t)
			if w.Code != http.StatusAccepted {
				t.Errorf("status %d", w.Code)
			}
			want := 0
			if c.span != "" {
				want = 1
				r.got.one(t, c.span)
			}
			if len(entries()) != want || len(r.got.all()) != want {
				t.Errorf("%d entries, spans %v, want %d", len(entries()), r.got.names(), want)
			}
			if c.test != nil {
				c.test(t, r)
			}
		})
	}
}

// Before the handler, SpanName is asked without a route: samplers see that name.
func TestServerSpanNameIsAskedTwice(t *testing.T) {
	r := withProcessor(t)
	server := r.server()
	var routes []string
	server.SpanName = func(_ *http.Request, route string) string {
		routes = append(routes, route)
		return "name"
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/x", func(http.ResponseWriter, *http.Request) { routes = append(routes, "handler") })
	server.Middleware(mux).ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/x", nil))
	if got := strings.Join(routes, ","); got != ",handler,/x" {
		t.Errorf("asked with %q", got)
	}
}

// The bytes of the body that the handler read count.
func TestRequestBodySize(t *testing.T) {
	for _, c := range []struct {
		name string
		body func() io.Reader
		read int64 // by the handler at most
		want string
		size int64
	}{
		{"read whole", func() io.Reader { return strings.NewReader("0123456789") }, 100, "10", 10},
		{"read in part", func() io.Reader { return strings.NewReader("0123456789") }, 4, "4", 4},
		{"not read", func() io.Reader { return strings.NewReader("0123456789") }, 0, "", 0},
		{"without a body", func() io.Reader { return nil }, 100, "", 0},
		{"of unknown length", func() io.Reader { return struct{ io.Reader }{strings.NewReader("0123456789")} }, 100, "10", 10},
	} {
		for _, protocol := range protocols {
			t.Run(c.name+" over "+protocol, func(t *testing.T) {
				r := withProcessor(t)
				s := r.open(t, protocol, r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
					if _, err := io.Copy(io.Discard, io.LimitReader(req.Body, c.read)); err != nil {
						t.Error(err)
					}
				})))
				if _, _, err := s.do(t, newRequest(t, http.MethodPost, s.url, c.body())); err != nil {
					t.Error(err)
				}
				r.flush(t)
				if got := tag(r.got.one(t, "POST"), "http.request.body.size"); got != c.want {
					t.Errorf("http.request.body.size is %q, want %q", got, c.want)
				}
				if got := attr(only(t, s.entries()), "requestBodySize"); got != c.size {
					t.Errorf("requestBodySize is %v, want %d", got, c.size)
				}
			})
		}
	}
}

// The bytes that arrived before a body failed count, too.
func TestRequestBodyFails(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			arrived := make(chan struct{})
			s := r.open(t, protocol, r.wrap(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if _, err := io.ReadFull(req.Body, make([]byte, 5)); err != nil {
					t.Error(err)
				}
				close(arrived)
				if n, err := io.Copy(io.Discard, req.Body); err == nil {
					t.Errorf("read %d bytes more and no error", n)
				}
				w.WriteHeader(http.StatusBadRequest)
			})))
			body, in := io.Pipe()
			go func() {
				_, _ = io.WriteString(in, "01234")
				<-arrived
				in.CloseWithError(errFake)
			}()
			if _, _, err := s.do(t, newRequest(t, http.MethodPost, s.url, body)); !errors.Is(err, errFake) {
				t.Errorf("the client got %v", err)
			}
			if got := attr(only(t, s.entries()), "requestBodySize"); got != int64(5) {
				t.Errorf("requestBodySize is %v, want 5", got)
			}
		})
	}
}

// A reverse proxy's transport may read the request's body when the handler is
// over already.
func TestRequestBodyIsReadElsewhere(t *testing.T) {
	r := withProcessor(t)
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer back.Close()
	target, err := url.Parse(back.URL)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{DisableKeepAlives: true}
	defer base.CloseIdleConnections()
	s := r.open(t, "http/1.1", r.wrap(&httputil.ReverseProxy{
		Rewrite:      func(p *httputil.ProxyRequest) { p.SetURL(target) },
		Transport:    base,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}))
	for range 20 {
		req := newRequest(t, http.MethodPost, s.url, bytes.NewReader(make([]byte, 1<<20)))
		resp, _, err := s.do(t, req)
		if err == nil && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if n := len(s.entries()); n != 20 {
		t.Errorf("%d entries, want 20", n)
	}
}

// A client that goes away before the answer gets no status.
func TestRequestIsCancelled(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := withProcessor(t)
			arrived, gone := make(chan struct{}), make(chan struct{})
			s := r.open(t, protocol, r.wrap(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				defer close(gone)
				close(arrived)
				<-req.Context().Done()
				if cause := context.Cause(req.Context()); !errors.Is(cause, context.Canceled) {
					t.Errorf("ended with %v", cause)
				}
				w.WriteHeader(http.StatusNoContent)
			})))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			if _, _, err := s.do(t, newRequest(t, http.MethodGet, s.url, nil).WithContext(ctx)); !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
			within(t, gone, "the handler")
			s.handlers.Wait()
			r.flush(t)
			if span := r.got.one(t, "GET"); span.Status().Code != codes.Error || tag(span, "http.response.status_code") != "" || tag(span, "error.type") != "client_closed_request" {
				t.Errorf("status %v, %s", span.Status(), text(span.Attributes()))
			}
		})
	}
}
