package bridgehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/observer"
)

// attributed is a sampler that adds an attribute.
type attributed struct{ sdktrace.Sampler }

func (s attributed) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := s.Sampler.ShouldSample(p)
	r.Attributes = append(r.Attributes, attribute.String("http.request.method", "sampled"), attribute.Int("seen", len(p.Attributes)))
	return r
}

// A request's span has the attributes that the SDK's would have, whatever the program does with the span.
func TestAttributesOfRequestsAreTheSDKs(t *testing.T) {
	limited := func(change func(*sdktrace.SpanLimits)) *sdktrace.SpanLimits {
		l := sdktrace.NewSpanLimits()
		change(&l)
		return &l
	}
	set := func(kvs ...attribute.KeyValue) func(trace.Span) []attribute.KeyValue {
		return func(s trace.Span) []attribute.KeyValue { s.SetAttributes(kvs...); return nil }
	}
	read := func(s trace.Span) []attribute.KeyValue { return s.(sdktrace.ReadOnlySpan).Attributes() }
	many := make([]attribute.KeyValue, 150)
	for i := range many {
		many[i] = attribute.Int(fmt.Sprint("k", i), i)
	}
	for _, c := range []struct {
		what    string
		options bothproviders.Options
		handler func(trace.Span) []attribute.KeyValue
		later   func(trace.Span) []attribute.KeyValue // after the end
	}{
		{what: "nothing"},
		{what: "an attribute", handler: set(attribute.String("user", "u"))},
		{what: "an attribute of the request", handler: set(attribute.String("url.path", "/else"), attribute.Bool("b", true))},
		{what: "an attribute of the answer", handler: set(attribute.Int("http.response.status_code", 1), attribute.Bool("b", true))},
		{what: "invalid attributes", handler: set(attribute.KeyValue{}, attribute.String("", "v"))},
		{what: "as many as fit", handler: set(many[:116]...)},
		{what: "one more", handler: set(many[:117]...)},
		{what: "many", handler: set(many...)},
		{what: "reading", handler: read, later: read},
		{what: "setting and reading", handler: func(s trace.Span) []attribute.KeyValue {
			s.SetAttributes(attribute.String("url.path", "/else"))
			return read(s)
		}, later: read},
		{what: "setting after the end", later: set(attribute.String("late", "l"))},
		{what: "few", options: bothproviders.Options{Limits: limited(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = 3 })}, handler: set(many[:5]...)},
		{what: "room for the request and little more", options: bothproviders.Options{Limits: limited(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = 16 })}, handler: set(many[:5]...)},
		{what: "none", options: bothproviders.Options{Limits: limited(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = 0 })}},
		{what: "short values", options: bothproviders.Options{Limits: limited(func(l *sdktrace.SpanLimits) { l.AttributeValueLengthLimit = 3 })}},
		{what: "a sampler's", options: bothproviders.Options{Sampler: attributed{sdktrace.AlwaysSample()}}, handler: set(many[:2]...)},
	} {
		t.Run(c.what, func(t *testing.T) {
			var got [2][]string
			for i, name := range []string{bothproviders.SDK, bothproviders.Perfline} {
				got[i] = attributesOver(t, name, c.options, c.handler, c.later)
			}
			if !slices.Equal(got[0], got[1]) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got[1], "\n"), strings.Join(got[0], "\n"))
			}
		})
	}
}

// attributesOver serves a request over a provider. It returns the attributes that arrive, and those that the functions return.
func attributesOver(t *testing.T, name string, o bothproviders.Options, handler, later func(trace.Span) []attribute.KeyValue) (all []string) {
	t.Helper()
	add := func(what string, attrs []attribute.KeyValue) {
		for _, kv := range attrs {
			all = append(all, fmt.Sprintf("%s %s=%s", what, kv.Key, kv.Value.String()))
		}
	}
	o.Timeline = observer.NewTimeline(observer.TimelineOptions{})
	p, _ := bothproviders.Open(name, o, onEnd(func(s sdktrace.ReadOnlySpan) {
		add("end", s.Attributes())
		all = append(all, fmt.Sprint("dropped ", s.DroppedAttributes()))
	}))
	var span trace.Span
	h := bridgehttp.Server{TracerProvider: p, Timeline: o.Timeline}.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span = trace.SpanFromContext(r.Context())
		if handler != nil {
			add("handler", handler(span))
		}
		_, _ = io.WriteString(w, "answer")
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://shop.example:8443/orders/7", strings.NewReader("body"))
	r.Header.Set("User-Agent", "agent/1.0")
	r.Header.Set("X-Forwarded-For", "192.0.2.7, 192.0.2.8")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if later != nil {
		add("later", later(span))
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	return all
}

// A span has the request as it arrived. A handler may change the request, before the span is encoded.
func TestAttributesAreOfTheRequestThatArrived(t *testing.T) {
	r := withProcessor(t)
	req := httptest.NewRequest("FETCH", "http://shop.example:8443/orders/7", nil)
	req.RemoteAddr = "192.0.2.1:4711"
	req.Header = http.Header{"User-Agent": {"agent/1.0"}, "X-Forwarded-For": {"203.0.113.9"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"www.shop.example"}}
	h := r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		req.Method, req.Host, req.RemoteAddr, req.URL.Path, req.TLS, req.ProtoMajor = "STEAL", "else", "198.51.100.1:1", "/else", nil, 3
		for _, name := range []string{"User-Agent", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
			req.Header[name][0] = "else"
		}
		req.Header.Set("Forwarded", "for=198.51.100.7;host=else;proto=http")
	}))
	h.ServeHTTP(httptest.NewRecorder(), req)
	r.flush(t)
	s := r.got.one(t, "HTTP")
	for key, want := range map[string]string{
		"http.request.method": "_OTHER", "http.request.method_original": "FETCH", "url.path": "/orders/7", "url.scheme": "https",
		"server.address": "www.shop.example", "client.address": "203.0.113.9", "network.peer.address": "192.0.2.1", "network.peer.port": "4711",
		"user_agent.original": "agent/1.0", "network.protocol.version": "1.1",
	} {
		if got := tag(s, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}
