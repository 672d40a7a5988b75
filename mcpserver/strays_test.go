package mcpserver_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// queryItems makes a query without a request.
func queryItems(p *program) {
	_, span := p.pl.TracerProvider().Tracer("otelsql").Start(p.t.Context(), "sql.conn.query", trace.WithSpanKind(trace.SpanKindClient))
	span.End()
}

// list_routes ends with the work without a request: what to do, and where the work begins. A summary has no names, and a hidden
// module neither.
func TestStrays(t *testing.T) {
	const sentence, name = "These 2 queries have no request: pass the request's context (QueryContext, db.WithContext(ctx))",
		"2 query ‹github.com/perfline/perfline/mcpserver_test.queryItems›"
	for _, c := range []struct {
		name    string
		data    guard.Data
		modules []string
		want    string
	}{
		{"everything", guard.Everything, []string{profiling.ModuleAny}, name},
		{"summary", guard.Summary, []string{profiling.ModuleAny}, ""},
		{"hidden", guard.Everything, []string{profiling.ModuleStandard}, "2 query ‹functions that Config.Sessions.Policy.Modules hides›"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, perfline.Config{Sessions: sessions.Config{Policy: profiling.Policy{Modules: c.modules}}})
			tools := mcpserver.Handler(p.pl, quiet(mcpserver.Config{Data: c.data}))
			if text, _ := ask(t, tools, "list_routes", nil); strings.Contains(text, "no request") {
				t.Errorf("without strays:\n%s", text)
			}
			queryItems(p)
			queryItems(p)
			text, failed := ask(t, tools, "list_routes", nil)
			if failed || !strings.Contains(text, sentence) || !strings.Contains(text, c.want) || c.want != name && strings.Contains(text, "queryItems") {
				t.Errorf("got\n%s\nwant %q", text, c.want)
			}
		})
	}
}
