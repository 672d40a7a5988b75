package bridgehttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// A proxy that passes on the header of its caller sends its own trace context and baggage, and no field of the caller's.
func TestStaleFieldsAreRemoved(t *testing.T) {
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	member, err := baggage.NewMember("own", "1")
	if err != nil {
		t.Fatal(err)
	}
	own, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		ctx  func(context.Context) context.Context
		by   propagation.TextMapPropagator
		want string // tracestate, baggage, x-other; traceparent is the call's own
	}{
		{"both", nil, both, "||kept"},
		{"the call has baggage of its own", func(ctx context.Context) context.Context { return baggage.ContextWithBaggage(ctx, own) }, both, "|own=1|kept"},
		{"what the propagator does not know stays", nil, propagation.TraceContext{}, "|theirs=1|kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			var got http.Header
			base := roundTripper(func(req *http.Request) (*http.Response, error) {
				got = req.Header
				return httptest.NewRecorder().Result(), nil
			})
			client := http.Client{Transport: bridgehttp.Client{TracerProvider: r.provider, Propagators: c.by}.Transport(base)}
			for range 2 {
				req := newRequest(t, http.MethodGet, "http://shop.example/", nil)
				req.Header = http.Header{
					"Traceparent": {"00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"}, "Tracestate": {"vendor=1", "vendor=2"},
					"Baggage": {"theirs=1"}, "X-Other": {"kept"},
				}
				if c.ctx != nil {
					req = req.WithContext(c.ctx(req.Context()))
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				sent := strings.Join([]string{strings.Join(got["Tracestate"], "+"), strings.Join(got["Baggage"], "+"), got.Get("X-Other")}, "|")
				if sent != c.want || strings.HasPrefix(got.Get("Traceparent"), "00-01020304") || !slices.Equal(req.Header["Baggage"], []string{"theirs=1"}) {
					t.Errorf("sent traceparent %q and %q, want one of its own and %q; the caller's header is %v", got.Get("Traceparent"), sent, c.want, req.Header)
				}
			}
		})
	}
}

// The program sets the global propagator after the first call.
func TestStaleFieldsOfALaterPropagator(t *testing.T) {
	r := withProcessor(t)
	later := &laterPropagator{}
	var got http.Header
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		got = req.Header
		return httptest.NewRecorder().Result(), nil
	})
	client := http.Client{Transport: bridgehttp.Client{TracerProvider: r.provider, Propagators: later}.Transport(base)}
	for _, want := range []string{"vendor=1", ""} {
		req := newRequest(t, http.MethodGet, "http://shop.example/", nil)
		req.Header.Set("Tracestate", "vendor=1")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if s := got.Get("Tracestate"); s != want {
			t.Errorf("sent %q, want %q", s, want)
		}
		later.TextMapPropagator = propagation.TraceContext{}
	}
}

// A laterPropagator does nothing until it is set, as OpenTelemetry's global one.
type laterPropagator struct{ propagation.TextMapPropagator }

func (p *laterPropagator) Inject(ctx context.Context, c propagation.TextMapCarrier) {
	if p.TextMapPropagator != nil {
		p.TextMapPropagator.Inject(ctx, c)
	}
}

func (p *laterPropagator) Fields() []string {
	if p.TextMapPropagator == nil {
		return nil
	}
	return p.TextMapPropagator.Fields()
}

// The size of a request's body counts the bytes that were sent, also if the call ended before the whole body was.
func TestSizeOfWhatWasSent(t *testing.T) {
	const body = "a body of 19 bytes."
	for name, c := range map[string]struct {
		send func(*http.Request) error
		want int64
	}{
		"all":     {func(req *http.Request) error { _, err := io.Copy(io.Discard, req.Body); return err }, int64(len(body))},
		"a part":  {func(req *http.Request) error { _, err := io.CopyN(io.Discard, req.Body, 7); return err }, 7},
		"nothing": {func(*http.Request) error { return nil }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			caller := withProcessor(t).caller(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				if err := c.send(req); err != nil {
					return nil, err
				}
				return httptest.NewRecorder().Result(), nil
			}))
			caller.call(t, http.MethodPost, "http://shop.example/", strings.NewReader(body))
			if got := attr(caller.last(t), "requestBodySize"); got != c.want {
				t.Errorf("requestBodySize is %v, want %d", got, c.want)
			}
		})
	}
}
