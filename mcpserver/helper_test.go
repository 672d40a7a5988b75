package mcpserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/observer"
)

var _ perfline.Source = (*perfline.Pipeline)(nil)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A program serves requests, and the tools about them.
type program struct {
	t  *testing.T
	pl *perfline.Pipeline
	tl *observer.Timeline
}

func start(t *testing.T, pc perfline.Config) *program {
	t.Helper()
	p := &program{t: t, tl: observer.NewTimeline(observer.TimelineOptions{})}
	pc.Timeline = p.tl
	if pc.Logger == nil {
		pc.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if p.pl, err = perfline.Start(t.Context(), pc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.pl.Shutdown(context.Background()) // what is lost at the end is not what is tested
		p.tl.Close()
	})
	return p
}

// serve has the program serve a request by the route with a handler, and waits until the request is in memory.
func (p *program) serve(route, path string, h http.HandlerFunc) {
	p.t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(route, h)
	method, _, _ := strings.Cut(route, " ")
	r := httptest.NewRequest(method, path, http.NoBody)
	bridgehttp.Server{Timeline: p.tl, TracerProvider: p.pl.TracerProvider()}.Middleware(mux).ServeHTTP(httptest.NewRecorder(), r)
	if err := p.pl.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// quiet is a config without a log.
func quiet(c mcpserver.Config) mcpserver.Config {
	c.Logger = slog.New(slog.DiscardHandler)
	return c
}

// mount serves the tools on a server of their own.
func mount(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server
}

// An agent is a client of the tools.
type agent struct {
	t       *testing.T
	session *mcp.ClientSession
}

// connect connects the SDK's client to a server.
func connect(t *testing.T, url string) *agent {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close() // the server has no session to end
		client.CloseIdleConnections()
	})
	return &agent{t: t, session: session}
}

// ask calls a tool, which must succeed.
func (a *agent) ask(tool string, arguments any) string {
	a.t.Helper()
	text, failed := a.call(tool, arguments)
	if failed {
		a.t.Fatalf("%s %v failed: %s", tool, arguments, text)
	}
	return text
}

// refused calls a tool, which must fail.
func (a *agent) refused(tool string, arguments any) string {
	a.t.Helper()
	text, failed := a.call(tool, arguments)
	if !failed {
		a.t.Fatalf("%s %v succeeded: %s", tool, arguments, text)
	}
	return text
}

func (a *agent) call(tool string, arguments any) (text string, failed bool) {
	a.t.Helper()
	r, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if len(r.Content) != 1 {
		a.t.Fatalf("%s has %d contents, want 1", tool, len(r.Content))
	}
	c, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		a.t.Fatalf("%s has content %T, want text", tool, r.Content[0])
	}
	if len(c.Text) > 16<<10 {
		a.t.Errorf("%s answers %d bytes, want at most 16 KiB", tool, len(c.Text))
	}
	return c.Text, r.IsError
}

// ask calls a tool of a handler without a network.
func ask(t *testing.T, h http.Handler, tool string, arguments any) (text string, failed bool) {
	t.Helper()
	call, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	if err != nil {
		t.Fatal(err)
	}
	rec := do(h, post(string(call)))
	_, data, _ := strings.Cut(rec.Body.String(), "data: ")
	var response struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.NewDecoder(strings.NewReader(data)).Decode(&response); err != nil || len(response.Result.Content) != 1 {
		t.Fatalf("%s %s: status %d, %v in %q", tool, call, rec.Code, err, rec.Body)
	}
	return response.Result.Content[0].Text, response.Result.IsError
}

// A step is a call that an answer suggests.
type step struct {
	tool      string
	arguments map[string]any
	reason    string
}

// steps returns the suggestions at the end of an answer.
func steps(t *testing.T, text string) (all []step) {
	t.Helper()
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "next: ")
		if !ok {
			continue
		}
		s := step{}
		s.tool, rest, _ = strings.Cut(rest, " ")
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&s.arguments); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		s.reason = strings.TrimSpace(rest[d.InputOffset():])
		all = append(all, s)
	}
	return all
}

// suggested returns the first suggestion of a tool.
func suggested(t *testing.T, text, tool string) step {
	t.Helper()
	for _, s := range steps(t, text) {
		if s.tool == tool {
			return s
		}
	}
	t.Fatalf("there is no suggestion of %s in\n%s", tool, text)
	return step{}
}
