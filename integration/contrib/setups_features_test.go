package contrib_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
)

// An outcome is what a program's backends and perfline have after a request.
type outcome struct {
	program
	served   []string // names of the server spans, the outermost first
	inner    string   // the route, or the method, of the call into the same process
	spans    []*tracepb.Span
	routes   map[string]string // of the metric of durations, by scope
	pl       *perfline.Pipeline
	result   *waits.Request
	labelled bool
	open     []mirror.Request // in the black box, while the request ran
}

func (o *outcome) servers() (all []*tracepb.Span) {
	for _, s := range o.spans {
		if s.GetKind() == tracepb.Span_SPAN_KIND_SERVER {
			all = append(all, s)
		}
	}
	return all
}

func (o *outcome) span(name string) *tracepb.Span {
	i := slices.IndexFunc(o.spans, func(s *tracepb.Span) bool { return s.GetName() == name })
	if i < 0 {
		return nil
	}
	return o.spans[i]
}

func (o *outcome) names() string {
	for _, s := range o.servers() {
		if !slices.Contains(o.served, s.GetName()) {
			return fmt.Sprintf("a server span is named %q", s.GetName())
		}
	}
	return ""
}

func (o *outcome) metrics() string {
	if len(o.routes) == 0 {
		return "no metric"
	}
	for scope, route := range o.routes {
		of := func(name string) bool { return strings.HasSuffix(name, route) }
		if !slices.ContainsFunc(o.served, of) || route == "" {
			return fmt.Sprintf("the metric of %s has the route %q", scope, route)
		}
	}
	return ""
}

func (o *outcome) oneRequest() string {
	if o.pl == nil {
		return noPage
	}
	all := slices.DeleteFunc(o.pl.Recent().Newest(), func(r requests.Request) bool { return r.Root().Class != "request" })
	if n := len(all); n != 1 {
		return fmt.Sprintf("%d requests", n)
	}
	if n := len(o.servers()); n != len(o.served) {
		return "two server spans"
	}
	return ""
}

func (o *outcome) marks() string {
	for _, s := range o.servers() {
		for _, e := range s.GetEvents() {
			if e.GetName() == "mark" {
				return ""
			}
		}
	}
	return "the server span has no mark"
}

func (o *outcome) children() string {
	root := o.servers()[0]
	for _, name := range []string{"render", "query"} {
		s := o.span(name)
		switch {
		case s == nil && name == "query" && o.between == "unsampled" && o.pl.Stats().Bridge.SpansUnderUnsampled == 1:
			return o.missing["measures and children"]
		case s == nil:
			return "no span " + name
		case string(s.GetTraceId()) != string(root.GetTraceId()):
			return name + " is in another trace"
		}
	}
	if o.pl == nil {
		return ""
	}
	var b strings.Builder
	if err := requests.WriteWaterfall(&b, o.pl.Recent().Newest()[0], nil); err != nil {
		return err.Error()
	}
	for _, name := range []string{"render", "query", "mark"} {
		if !strings.Contains(b.String(), name) {
			return "the page lacks " + name
		}
	}
	return ""
}

func (o *outcome) kept() string {
	if o.pl == nil {
		return noPage
	}
	if kept := o.pl.Recent().Kept(); len(kept) != 1 || kept[0].Root().Keep != "slow" {
		return fmt.Sprintf("%d requests are kept", len(kept))
	}
	return ""
}

func (o *outcome) waits() string {
	switch {
	case o.pl == nil:
		return noPage
	case o.result == nil || o.result.Sentence() == "":
		return "no result"
	}
	const rested = "waited for a timer in contrib_test.rest"
	own := rested
	if o.gateway {
		own = "waited for " + o.served[1] + ", which " + rested
	}
	missing := map[string]bool{own: true, "waited for " + o.inner + ", which " + rested: true}
	for _, c := range o.result.Causes {
		alone := *o.result
		alone.Duration, alone.Causes = c.Duration, []waits.Cause{c}
		if c.In != nil && c.In.Request != o.inner && !slices.Contains(o.served, c.In.Request) { // with two server spans, moments between both may belong to the other span
			return alone.Sentence()
		}
		if _, waited, ok := strings.Cut(alone.Sentence(), "waited for"); ok {
			delete(missing, "waited for"+waited)
		}
	}
	for text := range missing {
		if o.between == "unsampled" && strings.Contains(text, o.inner) {
			return o.missing["waits"]
		}
		return "not " + text
	}
	return ""
}

func (o *outcome) labels() string {
	switch {
	case o.labelled:
		return ""
	case o.provider == processor:
		return wrap
	}
	return "no label"
}

// boxed asks for the request of the innermost server span. The request has a mark, an ended span and an open span.
func (o *outcome) boxed() string {
	if o.pl == nil {
		return noBox
	}
	for _, r := range o.open {
		if r.Parent != (mirror.SpanID{}) && r.Flags&mirror.Remote == 0 || r.Ended {
			return "an inner span is a request"
		}
	}
	for _, r := range o.open {
		kinds := map[string]mirror.Kind{}
		for _, e := range r.Entries {
			kinds[e.Name] = e.Kind
		}
		if kinds["mark"] != mirror.Mark {
			continue // a server span around the request's
		}
		if render := kinds["render"]; render != mirror.Measure && render != mirror.Span {
			return "no measure"
		}
		if kinds["query"] != mirror.Open && o.between != "unsampled" {
			return "no open span"
		}
		return ""
	}
	return fmt.Sprintf("%d requests, none with the mark", len(o.open))
}

// openRequests reads the box of a living process, as the next process would.
func openRequests(t *testing.T, dir string) []mirror.Request {
	t.Helper()
	names, err := blackbox.Find(dir)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), filepath.Base(names[0]))
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := blackbox.Take(name)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	defer f.Close()
	d, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	return d.Open
}
