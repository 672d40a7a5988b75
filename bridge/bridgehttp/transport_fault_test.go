package bridgehttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A base transport may return anything. The call ends once. What http.RoundTripper forbids becomes an error that names the
// base, as in http.Client; the caller gets all else unchanged.
func TestTransportOverABadBase(t *testing.T) {
	response := func(body io.ReadCloser) *http.Response {
		return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: body}
	}
	for _, c := range []struct {
		name string
		resp *http.Response
		err  error
		want string
		code codes.Code
		kind string // error.type
	}{
		{"an error", nil, errFake, "initiatorType=fetch method=GET error=fake", codes.Error, "*errors.errorString"},
		{"a long error", nil, errors.New(strings.Repeat("x", 4096)),
			"initiatorType=fetch method=GET error=" + strings.Repeat("x", 2048-len("…")) + "…", codes.Error, "*errors.errorString"},
		{"an error without a text", nil, errors.New(""), "initiatorType=fetch method=GET error=*errors.errorString", codes.Error, "*errors.errorString"},
		{"nothing", nil, nil, "initiatorType=fetch method=GET error=bridgehttp: base transport bridgehttp_test.roundTrip returned a nil *Response with a nil error", codes.Error, "no_response"},
		{"no body, although it has a length", &http.Response{StatusCode: 200, ContentLength: 3}, nil,
			"initiatorType=fetch method=GET error=bridgehttp: base transport bridgehttp_test.roundTrip returned a *Response with content length 3 but a nil Body", codes.Error, "no_body"},
		{"no body", response(nil), nil,
			"initiatorType=fetch method=GET responseStatus=200 nextHopProtocol=http/1.1 responseStart=T requestBodySize=0 decodedBodySize=0 encodedBodySize=0", codes.Unset, ""},
		{"both", response(http.NoBody), errFake, "initiatorType=fetch method=GET responseStart=T error=fake", codes.Error, "*errors.errorString"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			call := r.caller(t, roundTrip(func(*http.Request) (*http.Response, error) { return c.resp, c.err }))
			resp, err := call.client.Transport.RoundTrip(newRequest(t, http.MethodGet, "http://x/", nil).WithContext(call.ctx))
			if resp != nil && resp.Body != nil {
				defer resp.Body.Close()
			}
			if forbidden := strings.HasPrefix(c.kind, "no_"); forbidden && (resp != nil || err == nil) || !forbidden && (resp != c.resp || !errors.Is(err, c.err)) {
				t.Errorf("got %v, %v", resp, err)
			}
			if resp != nil && resp.Body == nil {
				t.Error("the response has no body")
			}
			if got := shape(call.last(t)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			r.flush(t)
			if span := r.got.one(t, "GET"); span.Status().Code != c.code || tag(span, "error.type") != c.kind {
				t.Errorf("status %v, error.type %q, want %v, %q", span.Status(), tag(span, "error.type"), c.code, c.kind)
			}
			only(t, call.resources())
		})
	}
}

// Requests that no transport takes get the base's own error.
func TestTransportOfABadRequest(t *testing.T) {
	r := withProcessor(t)
	call := r.caller(t, &http.Transport{})
	for name, req := range map[string]*http.Request{
		"no URL":    {Method: http.MethodGet, Header: http.Header{}},
		"no header": {Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: "x"}},
		"no host":   {Method: http.MethodGet, URL: &url.URL{Scheme: "http"}, Header: http.Header{}},
	} {
		resp, err := call.client.Transport.RoundTrip(req.WithContext(call.ctx))
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTransportDialFails(t *testing.T) {
	r := withProcessor(t)
	const closed = "http://127.0.0.1:1" // a port that was free may be taken meanwhile
	base := &http.Transport{}
	call := r.caller(t, base)
	resp, err := call.client.Do(newRequest(t, http.MethodPost, closed+"/x", strings.NewReader("body")).WithContext(call.ctx))
	if err == nil {
		resp.Body.Close()
		t.Fatal("no error")
	}
	text := errors.Unwrap(err).Error() // what is in the client's
	if got, want := shape(call.last(t)), "initiatorType=fetch method=POST connectStart=T error="+text; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.flush(t)
	span := r.got.one(t, "POST")
	if span.Status().Code != codes.Error || span.Status().Description != text || tag(span, "error.type") != "*net.OpError" || tag(span, "http.response.status_code") != "" {
		t.Errorf("status %v, %v", span.Status(), span.Attributes())
	}
}

// A body's error counts as its end only if it is io.EOF itself: callers see no
// other as one.
func TestTransportBodyEndsWithAnotherEOF(t *testing.T) {
	r := withProcessor(t)
	wrapped := fmt.Errorf("connection lost: %w", io.EOF)
	call := r.caller(t, roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(failsWith{wrapped})}, nil
	}))
	resp, err := call.client.Do(newRequest(t, http.MethodGet, "http://x/", nil).WithContext(call.ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, wrapped) {
		t.Errorf("read: %v", err)
	}
	if got := attr(only(t, call.resources()), "incomplete"); got != wrapped.Error() {
		t.Errorf("incomplete is %v, want %v", got, wrapped)
	}
}

type failsWith struct{ err error }

func (f failsWith) Read([]byte) (int, error) { return 0, f.err }

// Secrets in a URL appear nowhere: neither for a request that succeeds, nor in the error
// of a request that fails.
func TestTransportKeepsSecrets(t *testing.T) {
	const secret = "s3cret"
	for _, c := range []struct {
		name string
		url  url.URL
		want string
		err  error
	}{
		{"user, query, fragment", url.URL{Scheme: "http", User: url.UserPassword("u"+secret, secret), Host: "h:81", Path: "/a b", RawQuery: "q=" + secret, Fragment: secret}, "http://h:81/a%20b", nil},
		{"escaped path", url.URL{Scheme: "http", Host: "h", Path: "/a/b", RawPath: "/a%2Fb"}, "http://h/a%2Fb", nil},
		{"opaque", url.URL{Scheme: "http", Host: "h", Opaque: "//u:" + secret + "@h/x?" + secret, RawQuery: secret}, "http://h", nil},
		{"error with a URL", url.URL{Scheme: "http", Host: "h", Path: "/"}, "http://h/", &url.Error{Op: "Get", URL: "http://h/?" + secret, Err: errFake}},
		{"wrapped error with a URL", url.URL{Scheme: "http", Host: "h", Path: "/"}, "http://h/", fmt.Errorf("retried: %w", &url.Error{Op: "Get", URL: "http://h/?" + secret, Err: errFake})},
	} {
		for _, late := range []bool{false, true} { // the error comes with the body
			t.Run(fmt.Sprintf("%s, late %v", c.name, late), func(t *testing.T) {
				r := withProcessor(t)
				reader := sdkmetric.NewManualReader()
				meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
				call := r.caller(t, nil)
				transport := bridgehttp.Client{TracerProvider: r.provider, MeterProvider: meters}.Transport(roundTrip(func(req *http.Request) (*http.Response, error) {
					if c.err != nil && !late {
						return nil, c.err
					}
					resp := &http.Response{StatusCode: 200, Header: http.Header{"Server-Timing": {"db;dur=1"}}, Body: http.NoBody, Request: req}
					if late && c.err != nil {
						resp.Body = io.NopCloser(failsWith{c.err})
					}
					return resp, nil
				}))
				req := (&http.Request{Method: http.MethodGet, URL: &c.url, Header: http.Header{}}).WithContext(call.ctx)
				resp, err := transport.RoundTrip(req)
				if err == nil {
					_, _ = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				r.flush(t)
				var all metricdata.ResourceMetrics
				if err := reader.Collect(t.Context(), &all); err != nil {
					t.Fatal(err)
				}
				span := r.got.one(t, "GET")
				e := call.last(t)
				var servers []string
				for _, s := range call.servers() {
					servers = append(servers, s.Name(), shape(&s))
				}
				output := fmt.Sprint(e.Name(), shape(e), text(span.Attributes()), span.Name(), span.Status(), span.Events(), servers, fmt.Sprintf("%+v", all.ScopeMetrics))
				if strings.Contains(output, secret) {
					t.Errorf("it is told:\n%s", output)
				}
				if e.Name() != c.want || tag(span, "url.full") != c.want {
					t.Errorf("the entry is %q, url.full %q, want %q", e.Name(), tag(span, "url.full"), c.want)
				}
				if c.err != nil && !strings.Contains(output, "fake") {
					t.Errorf("the error is not told:\n%s", output)
				}
			})
		}
	}
}
