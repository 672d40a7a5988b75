package bridgehttp_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// The conventions count QUERY among the known methods, net/http has no name for it.
func TestQueryIsAKnownMethod(t *testing.T) {
	r := withProcessor(t)
	r.serve(func(http.ResponseWriter, *http.Request) {}, "/", httptest.NewRequest("QUERY", "/", nil))
	r.flush(t)
	if s := r.got.one(t, "QUERY /"); tag(s, "http.request.method") != "QUERY" || tag(s, "http.request.method_original") != "" {
		t.Errorf("http.request.method is %q, the original %q", tag(s, "http.request.method"), tag(s, "http.request.method_original"))
	}
}

// Which methods are known can be said by the variable of the conventions.
func TestKnownMethods(t *testing.T) {
	t.Setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "GET, BREW")
	r := withProcessor(t)
	for _, m := range []string{"BREW", "GET", "POST", "HEAD"} {
		r.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) }, "/"+m, httptest.NewRequest(m, "/"+m, nil))
	}
	r.flush(t)
	if got := tag(r.got.one(t, "HTTP /HEAD"), "http.response.body.size"); got != "" {
		t.Errorf("the body of a response to HEAD has %s bytes", got)
	}
	for name, want := range map[string]string{"BREW /BREW": "BREW", "GET /GET": "GET", "HTTP /POST": "_OTHER"} {
		if got := tag(r.got.one(t, name), "http.request.method"); got != want {
			t.Errorf("http.request.method of %q is %q, want %q", name, got, want)
		}
	}
}

// The size of a response that the transport unpacked is unknown.
func TestBodySizeOfUnpackedResponse(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, accept, want string
	}{
		{"unpacked by the transport", "", ""},
		{"unpacked by the caller", "gzip", strconv.Itoa(packed.Len())},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(packed.Bytes())
			}))
			defer s.Close()
			r := withProcessor(t)
			req, err := http.NewRequestWithContext(r.ctx, "GET", s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.accept != "" {
				req.Header.Set("Accept-Encoding", c.accept)
			}
			r.call(t, s.Client(), req)
			if got := tag(r.got.one(t, "GET"), "http.response.body.size"); got != c.want {
				t.Errorf("http.response.body.size is %q, want %q", got, c.want)
			}
		})
	}
}

// call makes a request through our transport and reads the response.
func (r *rig) call(t *testing.T, client *http.Client, req *http.Request) {
	t.Helper()
	client.Transport = bridgehttp.Client{TracerProvider: r.provider, Propagators: propagation.TraceContext{}}.Transport(client.Transport)
	if resp, err := client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	r.flush(t)
}

// A handler's response body to a HEAD request is not sent.
func TestHeadHasNoBody(t *testing.T) {
	for method, want := range map[string]string{"GET": "5", "HEAD": ""} {
		t.Run(method, func(t *testing.T) {
			r := withProcessor(t)
			r.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, "/", httptest.NewRequest(method, "/", nil))
			r.flush(t)
			if got := tag(r.got.one(t, method+" /"), "http.response.body.size"); got != want {
				t.Errorf("http.response.body.size is %q, want %q", got, want)
			}
		})
	}
}

func TestRedirectsAreCounted(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if n, _ := strconv.Atoi(req.URL.Path[1:]); n < 2 {
			http.Redirect(w, req, "/"+strconv.Itoa(n+1), http.StatusFound)
		}
	}))
	defer s.Close()
	r := withProcessor(t)
	req, err := http.NewRequestWithContext(r.ctx, "GET", s.URL+"/0", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.call(t, s.Client(), req)
	var got []string
	for _, span := range r.got.all() {
		got = append(got, tag(span, "http.request.resend_count"))
	}
	if !slices.Equal(got, []string{"", "1", "2"}) {
		t.Errorf("http.request.resend_count is %q, want none, 1 and 2", got)
	}
}

// The wrapper of fmt.Errorf is not the error's type.
func TestErrorTypeOfWrappedError(t *testing.T) {
	wrapped := fmt.Errorf("asking the shop: %w", &net.OpError{Op: "dial", Err: io.ErrUnexpectedEOF})
	r := withProcessor(t)
	req, err := http.NewRequestWithContext(r.ctx, "GET", "http://shop.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.call(t, &http.Client{Transport: refusing{wrapped}}, req)
	func() {
		defer func() { _ = recover() }()
		r.serve(func(http.ResponseWriter, *http.Request) { panic(wrapped) }, "/panics", httptest.NewRequest("GET", "/panics", nil))
	}()
	r.flush(t)
	for _, span := range []string{"GET", "GET /panics"} {
		if got := tag(r.got.one(t, span), "error.type"); got != "*net.OpError" {
			t.Errorf("error.type of %q is %q, want *net.OpError", span, got)
		}
	}
}

// refusing is a transport that fails.
type refusing struct{ err error }

func (f refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

// A response to HEAD has no body to wait for, also where HEAD is not told apart.
func TestHeadIsOverAtOnce(t *testing.T) {
	t.Setenv("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS", "GET")
	for _, protocol := range protocols {
		r := withProcessor(t)
		s := r.open(t, protocol, http.NotFoundHandler())
		call := r.caller(t, s.client.Transport)
		resp, err := call.client.Do(newRequest(t, http.MethodHead, s.url, nil).WithContext(call.ctx))
		if err != nil {
			t.Fatal(err)
		}
		if got := attr(call.last(t), "incomplete"); got != nil {
			t.Errorf("%s: incomplete is %v", protocol, got)
		}
		resp.Body.Close()
	}
}
