package mcpserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// waitedInMarker is a result of the waits recorder with the marker in each text that names code.
func waitedInMarker(q requests.Request) *waits.Request {
	const name = "github.com/perfline/perfline/mcpserver_test.hiddenMarker"
	hidden := waits.Frame{Function: name, File: "/src/hidden_marker_test.go", Line: 1}
	stack := []waits.Frame{{Function: "sync.(*Mutex).Lock"}, hidden}
	by := &waits.Party{Goroutine: 5, Function: name, Stack: stack[1:], Request: q.Root.Name}
	took := q.Root.Duration()
	return &waits.Request{
		TraceID: q.TraceID(), RootID: q.Root.SpanID, Name: q.Root.Name, Start: q.Root.Start, Duration: took,
		Goroutines: []waits.Goroutine{{ID: 1, Function: name, Intervals: []waits.Interval{
			{Kind: waits.OnCPU, End: took * 7 / 8, SpanID: q.Root.SpanID, Stack: stack[1:]},
			{Kind: waits.Mutex, Start: took * 7 / 8, End: took, SpanID: q.Root.SpanID, Stack: stack, By: by},
		}}},
		Causes: []waits.Cause{
			{Kind: waits.Mutex, Duration: took * 3 / 4, Function: name, Via: name, SpanID: q.Root.SpanID, Span: q.Root.Name, By: by, In: by},
			{Kind: waits.OnCPU, Duration: took / 4, Function: name + ".func1", SpanID: q.Root.SpanID, Span: q.Root.Name},
		},
	}
}

// A markedRecorder has a result for each request.
type markedRecorder struct {
	*waitsRecorder
	mu      sync.Mutex // guards what follows
	results map[trace.SpanID]*waits.Request
}

func (r *markedRecorder) Result(_ trace.TraceID, root trace.SpanID) (*waits.Request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	result, ok := r.results[root]
	return result, ok
}

// No tool names a function of a module that the policy hides, or its file. With all modules, the tools about code do.
func TestHiddenModulesAreNowhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		modules []string
		hidden  bool
	}{{"hidden", []string{profiling.ModuleStandard}, true}, {"shown", []string{profiling.ModuleAny}, false}} {
		t.Run(c.name, func(t *testing.T) {
			dir, dead := dieIn(t, func(id uint64) string {
				const name = "github.com/perfline/perfline/mcpserver_test.hiddenMarker"
				return fmt.Sprintf("panic: x\n\ngoroutine %d [running]:\npanic({0x1, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n%s(...)\n\t/src/hidden_marker_test.go:7\n"+
					"net/http.HandlerFunc.ServeHTTP(0x1, {0x2})\n\t/go/src/net/http/server.go:42 +0x1d\ncreated by %s in goroutine 1\n\t/src/hidden_marker_test.go:9 +0x5e\n\nrax    0x1\n%s", id, name, name, name)
			})
			r := &markedRecorder{waitsRecorder: disarmed(), results: map[trace.SpanID]*waits.Request{}}
			p := startAfter(t, dir, perfline.Config{Waits: r, Sessions: sessions.Config{Policy: profiling.Policy{Remote: true, Modules: c.modules}}})
			a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
			profiled := func(arguments map[string]any) string {
				return a.profiled(p, arguments, func() {
					p.serve("GET /marked", "/marked", func(http.ResponseWriter, *http.Request) {})
					p.serve("GET /marked", "/marked", func(http.ResponseWriter, *http.Request) { hiddenMarker() })
				}, func(text string) bool { return c.hidden || strings.Contains(text, "hiddenMarker") })
			}
			wantNamed := func(call, text string, named bool) {
				t.Helper()
				if c.hidden && (strings.Contains(text, "hiddenMarker") || strings.Contains(text, "hidden_marker_test")) {
					t.Errorf("%s names the marker:\n%s", call, text)
				}
				if !c.hidden && strings.Contains(text, "hiddenMarker") != named {
					t.Errorf("%s names the marker: %t, its row says %t:\n%s", call, !named, named, text)
				}
			}
			wantNamed("profile_route", profiled(map[string]any{"route": "GET /marked"}), true) // compare_requests has its samples
			two := stored(p.pl).Requests()                                                     // the newest first
			r.mu.Lock()
			for _, s := range two {
				r.results[s.SpanID] = waitedInMarker(s.Request())
			}
			r.mu.Unlock()
			one, other := two[0].SpanID.String(), two[1].SpanID.String()
			type arguments = map[string]any
			rows := map[string]struct {
				names     bool // the answers name the marker, if the policy shows all modules
				questions []arguments
			}{
				"list_routes":      {false, []arguments{nil, {"window": "start"}}},
				"list_requests":    {false, []arguments{nil, {"text": "marked"}}},
				"get_request":      {true, []arguments{{"request": one}, {"request": dead}}},
				"get_span":         {false, []arguments{{"request": one, "span": one}, {"request": dead, "span": dead}}},
				"compare_requests": {true, []arguments{{"slow": one, "usual": other}}},
				"get_deaths":       {true, []arguments{nil, {"death": 1}}},
				"get_counts":       {false, []arguments{nil, {"all": true}}},
				"get_runtime":      {false, []arguments{nil}},
				"get_waits_state":  {false, []arguments{nil}},
				"arm_waits":        {false, []arguments{{"seconds": 1}}},
				"profile_route":    {true, []arguments{{"route": "GET /marked", "waiting": true, "limit": 100}}},
			}
			report := a.ask("get_deaths", arguments{"death": 1})
			want(t, report, "‹panic({0x1, 0x2})›\n    ‹/go/src/runtime/panic.go:783 +0x132›\n", "‹net/http.HandlerFunc.ServeHTTP(0x1, {0x2})›\n    ‹/go/src/net/http/server.go:42 +0x1d›\n")
			if noted := strings.Contains(report, "hides functions"); noted != c.hidden {
				t.Errorf("the report says that functions are hidden: %t, want %t:\n%s", noted, c.hidden, report)
			}
			var tools []string
			for tool, err := range a.session.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				tools = append(tools, tool.Name)
			}
			slices.SortFunc(tools, strings.Compare) // profile_route, which replaces the samples, after compare_requests
			for _, tool := range tools {
				row, ok := rows[tool]
				if !ok {
					t.Errorf("%s has no row: add its questions", tool)
				}
				for _, q := range row.questions {
					ask := func(q arguments) string { return a.ask(tool, q) }
					if tool == "profile_route" {
						ask = profiled
					}
					wantNamed(fmt.Sprint(tool, " ", q), ask(q), row.names)
				}
			}
		})
	}
}
