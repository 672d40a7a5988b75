package mcpserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/mcpserver"
)

// get_counts begins with the faults of the set-up, and list_routes points there. A summary has no names of spans.
func TestFaults(t *testing.T) {
	for data, fault := range map[guard.Data]string{
		guard.Everything: `fault: ‹In 2 requests, perfline found 1 pair of server spans for the same thing: one of outer\u202e, and below it one of inner.› change: Keep one instrumentation of the server. `,
		guard.Summary:    "change: Keep one instrumentation of the server. ",
	} {
		t.Run(fmt.Sprint(data), func(t *testing.T) {
			p := start(t, perfline.Config{})
			a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{Data: data}))).URL)
			for _, tool := range []string{"list_routes", "get_counts"} {
				if text := a.ask(tool, nil); strings.Contains(text, "set-up") || strings.Contains(text, "fault") {
					t.Errorf("%s has faults: %s", tool, text)
				}
			}
			method := trace.WithAttributes(attribute.String("http.request.method", "GET"))
			ctx, outer := p.pl.TracerProvider().Tracer("outer\u202e").Start(t.Context(), "GET /b", trace.WithSpanKind(trace.SpanKindServer), method)
			_, inner := p.pl.TracerProvider().Tracer("inner").Start(ctx, "GET /b", trace.WithSpanKind(trace.SpanKindServer), method)
			inner.End()
			outer.End()
			if text := after(a.ask("list_routes", nil)); !strings.HasPrefix(text, "The set-up of the program has 1 fault: get_counts lists them.\nroutes from ") {
				t.Errorf("list_routes answers %s", text)
			}
			text := after(a.ask("get_counts", nil))
			if !strings.HasPrefix(text, "The set-up of the program has 1 fault:\n"+fault) || strings.Count(text, "change: ") != 1 {
				t.Errorf("get_counts answers %s", text)
			}
			if data == guard.Summary && strings.Contains(text, "inner") {
				t.Errorf("a summary names spans: %s", text)
			}
		})
	}
}

// Calls of the tools through a middleware are a fault, too.
func TestTracedTools(t *testing.T) {
	p := start(t, perfline.Config{})
	tools := mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools)
	traced := bridgehttp.Server{Timeline: p.tl, TracerProvider: p.pl.TracerProvider()}.Middleware(mux)
	r := httptest.NewRequest(http.MethodGet, "/mcp", http.NoBody)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
	traced.ServeHTTP(httptest.NewRecorder(), r)
	found := perfline.Check(p.pl)
	if len(found) != 1 || !strings.HasPrefix(found[0].What, "The requests in memory include 1 request of perfline's own page or tools, such as GET /mcp: ") {
		t.Errorf("it found %q", found)
	}
}
