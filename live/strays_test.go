package live_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// queryItems makes a query without a request.
func queryItems(p *program) {
	_, span := p.pl.TracerProvider().Tracer("otelsql").Start(p.t.Context(), "sql.conn.query", trace.WithSpanKind(trace.SpanKindClient))
	span.End()
}

// The page says what has no request, where the work begins, and what to do. A summary has only the sentence. Functions of hidden
// modules have no name.
func TestStrays(t *testing.T) {
	const name = "github.com/perfline/perfline/live_test.queryItems"
	for _, c := range []struct {
		name   string
		data   guard.Data
		module string
		want   string
	}{
		{"everything", guard.Everything, "", "2 query " + name + "|1 mark cache.\\u200bmiss"},
		{"summary", guard.Summary, "", ""},
		{"hidden", guard.Everything, profiling.ModuleStandard, "2 query functions that Config.Sessions.Policy.Modules hides|1 mark cache.\\u200bmiss"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pc := perfline.Config{}
			if c.module != "" {
				pc.Sessions = sessions.Config{Policy: profiling.Policy{Modules: []string{c.module}}}
			}
			p := start(t, pc, live.Config{Data: c.data})
			if d := p.routes("minutes"); d.Strays != nil {
				t.Fatalf("without strays: %+v", d.Strays)
			}
			queryItems(p)
			queryItems(p)
			marks.Mark(observer.NewContext(t.Context(), p.tl), "cache.\u200bmiss")
			d := p.routes("start")
			if d.Strays == nil || !strings.HasPrefix(d.Strays.Sentence, "These 2 queries and 1 mark have no request: pass the request's context (") {
				t.Fatalf("got %+v", d.Strays)
			}
			var got []string
			for _, s := range d.Strays.Places {
				got = append(got, fmt.Sprint(s.Count, " ", s.What, " ", s.Function))
			}
			if got := strings.Join(got, "|"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
