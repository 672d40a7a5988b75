package bridgehttp_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
)

// A handler calls a library that makes no spans. What the library's callbacks record stays in the request, whether the middleware or other
// instrumentation makes the request's span.
func TestMarksBelowANoOpSpan(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		r := withProcessor(t)
		off := noop.NewTracerProvider().Tracer("off")
		h := r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			ctx, span := off.Start(req.Context(), "library")
			defer span.End()
			marks.Mark(ctx, "mark")
			marks.Time(ctx, "measure").End()
			_, child := r.tracer.Start(ctx, "query", trace.WithSpanKind(trace.SpanKindClient))
			child.End()
		}))
		name := "GET"
		if theirs {
			h, name = r.theirs(h), "theirs"
		}
		h.ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil))
		r.flush(t)
		server := r.got.one(t, name)
		var events []string
		for _, e := range server.Events() {
			events = append(events, e.Name)
		}
		if !slices.Equal(events, []string{"mark"}) {
			t.Errorf("the server span has the marks %q", events)
		}
		for _, child := range []string{"measure", "query"} {
			if got := r.got.one(t, child); got.Parent().SpanID() != server.SpanContext().SpanID() {
				t.Errorf("%q is under %v, want the server span", child, got.Parent().SpanID())
			}
		}
	}
}

// A route that the handler sets reaches the span of other instrumentation, and the pattern of the request that came in.
func TestRouteUnderAServerSpan(t *testing.T) {
	for _, c := range []struct {
		name, pattern, route string // of a mux around the middleware, and of SetRoute
		want                 string
	}{
		{"no route", "", "", ""},
		{"a route", "", "/items/{id}", "/items/{id}"},
		{"a route below a mux", "/", "/items/{id}", "/items/{id}"},
		{"a route without a slash", "", "items", "items"},
		{"no route below a mux", "/", "", "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			in := newRequest(t, http.MethodGet, "/items/7", nil)
			ctx, span := r.tracer.Start(r.ctx, "GET", trace.WithSpanKind(trace.SpanKindServer))
			in = in.WithContext(ctx)
			in.Pattern = c.pattern
			r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				if c.route != "" {
					bridgehttp.SetRoute(req.Context(), c.route)
				}
			})).ServeHTTP(httptest.NewRecorder(), in)
			span.End()
			r.flush(t)
			name := "GET"
			if c.want != "" {
				name += " " + c.want
			}
			theirs := r.got.one(t, name)
			if got := tag(theirs, "http.route"); got != c.want {
				t.Errorf("http.route is %q, want %q", got, c.want)
			}
			pattern := c.pattern
			if c.want != "items" && c.want != "" {
				pattern = c.want
			}
			if in.Pattern != pattern {
				t.Errorf("the pattern is %q, want %q", in.Pattern, pattern)
			}
		})
	}
}

// A request without a route of its own has the route of the instrumentation inside the middleware, by its attribute or by its name.
func TestRouteOfAServerSpanInside(t *testing.T) {
	for _, c := range []struct {
		name, want string
		attrs      []string // http.route
	}{
		{"GET /items/{id}", "/items/{id}", nil},
		{"custom", "/items/{id}", []string{"/items/{id}"}},
		{"GET", "", nil},
		{"custom name", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				_, span := r.tracer.Start(req.Context(), "inside", trace.WithSpanKind(trace.SpanKindServer))
				span.SetName(c.name)
				for _, route := range c.attrs {
					span.SetAttributes(semconv.HTTPRouteKey.String(route))
				}
				span.End()
			})).ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/items/7", nil))
			r.flush(t)
			var root trace.SpanID
			for _, s := range r.got.all() {
				if s.SpanKind() == trace.SpanKindServer && !s.Parent().IsValid() {
					root = s.SpanContext().SpanID()
					if got := tag(s, "http.route"); got != c.want {
						t.Errorf("the request %q has the route %q, want %q", s.Name(), got, c.want)
					}
				}
			}
			if !root.IsValid() {
				t.Errorf("there is no request among %v", r.got.names())
			}
		})
	}
}
