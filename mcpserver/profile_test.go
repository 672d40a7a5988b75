package mcpserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// remote allows clients to record.
var remote = perfline.Config{Sessions: sessions.Config{Policy: profiling.Policy{Remote: true}}}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// sampled makes a sample of the profilers that run.
func sampled() { profiling.ForceSample() }

// profiled calls profile_route for a second, and serve while it records. On a machine that stands still for this second, the requests
// may come too late. Then the answer is not complete, and profiled records again.
func (a *agent) profiled(p *program, arguments map[string]any, serve func(), complete func(text string) bool) (text string) {
	a.t.Helper()
	arguments["seconds"] = 1
	for range 8 { // 10 sessions may start in a minute
		started := p.pl.Sessions().Counts()["started"]
		answer := make(chan string, 1)
		go func() {
			text, _ := a.call("profile_route", arguments)
			answer <- text
		}()
		until(a.t, "the session begins", func() bool { return p.pl.Sessions().Counts()["started"] > started })
		serve()
		if text = <-answer; complete(text) {
			break
		}
	}
	return text
}

// recording starts profile_route for 30 s on a goroutine, and returns when it records. The channel gets the answer. A recording that has
// just been released may not have left its place to the next one: recording tries again then.
func (a *agent) recording(ctx context.Context, p *program) chan *mcp.CallToolResult {
	a.t.Helper()
	started := p.pl.Sessions().Counts()["started"]
	answer := make(chan *mcp.CallToolResult, 1)
	call := func() {
		r, _ := a.session.CallTool(ctx, &mcp.CallToolParams{Name: "profile_route", Arguments: map[string]any{"seconds": 30}}) // nil if the client has left
		answer <- r
	}
	go call()
	until(a.t, "the session begins", func() bool {
		if p.pl.Sessions().Counts()["started"] > started {
			return true
		}
		select {
		case r := <-answer:
			if r == nil || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "another call records a profile: try again") {
				a.t.Fatalf("the recording does not begin: %+v", r)
			}
			go call()
		default:
		}
		return false
	})
	return answer
}

// The functions of a route are those that its requests ran, with their file.
func TestProfile(t *testing.T) {
	t.Parallel()
	p := start(t, perfline.Config{Sessions: sessions.Config{Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleAny}}}})
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	wants := []string{"1 request of ‹GET /busy›", "samples of the CPU, for ", "mcpserver_test.sampled›", "‹mcpserver/profile_test.go› line "}
	hasAll := func(text string) bool {
		return !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(text, want) })
	}
	text := a.profiled(p, map[string]any{"route": "GET /busy"}, func() {
		p.serve("GET /busy", "/busy", func(http.ResponseWriter, *http.Request) { sampled() })
	}, hasAll)
	if !hasAll(text) {
		t.Errorf("profile_route has not all of %q:\n%s", wants, text)
	}
	next := suggested(t, text, "profile_route")
	if next.arguments["waiting"] != true || next.arguments["route"] == "GET /busy" {
		t.Errorf("the next profile has the arguments %v", next.arguments)
	}
}

// An answer says what the policy hides, and who had the CPU profiler: no samples must not look like no work.
func TestProfileTellsWhatIsMissing(t *testing.T) {
	p := start(t, remote)
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	text := a.ask("profile_route", map[string]any{"seconds": 1})
	for _, want := range []string{
		"Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules. It shows functions of ‹main›, ‹std›.",
		"Other code had the CPU profiler for ", "there are no samples of this time",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("profile_route has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Nothing of it used the CPU") {
		t.Errorf("profile_route knows that nothing used the CPU, without the profiler:\n%s", text)
	}
}

// A session takes up to 30 s. Other tools answer meanwhile, and a second session is refused.
func TestToolsDuringASession(t *testing.T) {
	p := start(t, remote)
	for range 2 {
		p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
	}
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	a, b := connect(t, server.URL), connect(t, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answer := a.recording(ctx, p)
	slow := suggested(t, b.ask("list_requests", nil), "get_request").arguments["request"]
	if text := b.ask("compare_requests", map[string]any{"slow": slow}); !strings.Contains(text, "difference: ") {
		t.Errorf("got %s", text)
	}
	if text := b.refused("profile_route", nil); !strings.Contains(text, "another call records a profile: try again") {
		t.Errorf("a second session: %s", text)
	}
	select {
	case r := <-answer:
		t.Errorf("the session ended before the other calls: %v", r)
	default:
	}
}

// A session ends, and is released, when its client leaves.
func TestClientLeavesASession(t *testing.T) {
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	a := connect(t, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	answer := a.recording(ctx, p)
	cancel()
	<-answer
	until(t, "the session is released", func() bool { return len(p.pl.Sessions().Statuses()) == 0 })
	ctx, cancel = context.WithCancel(t.Context())
	again := connect(t, server.URL).recording(ctx, p)
	cancel()
	<-again
}

// The protocol's older versions do not end a tool by themselves.
func TestClientOfAnOlderVersionLeavesASession(t *testing.T) {
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"profile_route","arguments":{"seconds":30}}}`).WithContext(ctx)
	r.URL, r.RequestURI, r.Host = address, "", ""
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	ended := make(chan error)
	go func() {
		response, err := server.Client().Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		ended <- err
	}()
	until(t, "the session begins", func() bool { return p.pl.Sessions().Counts()["started"] > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client has the error %v, want the one of its context", err)
	}
	until(t, "the session is released", func() bool { return len(p.pl.Sessions().Statuses()) == 0 })
}

// A session ends when the server shuts down, which waits for its requests.
func TestShutdownEndsASession(t *testing.T) {
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	answer := connect(t, server.URL).recording(t.Context(), p)
	if err := server.Config.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if r := <-answer; r != nil && !r.IsError {
		t.Errorf("the client has an answer: %+v", r)
	}
	until(t, "the session is released", func() bool { return len(p.pl.Sessions().Statuses()) == 0 })
}

// A client that asks for it gets the progress of a session.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	got := make(chan float64, 30)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params.Total },
	}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }() // the server has no session to end
	params := &mcp.CallToolParams{Name: "profile_route", Arguments: map[string]any{"seconds": 29.5}}
	params.SetProgressToken("token")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	left := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, params)
		left <- err
	}()
	select {
	case total := <-got:
		if total != 29.5 {
			t.Errorf("the progress is of %g s, want 29.5", total)
		}
	case err := <-left:
		t.Errorf("the session ended without a progress: %v", err)
		return
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that left has the error %v, want the one of its context", err)
	}
}

// Clients may start a number of sessions in a minute. Refused ones count.
func TestStartsAreLimited(t *testing.T) {
	p := start(t, remote)
	if _, err := p.pl.Sessions().Start(t.Context(), sessions.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	for range 10 {
		if text := a.refused("profile_route", nil); !strings.Contains(text, "another session is in progress") {
			t.Fatalf("got %s", text)
		}
	}
	if text := a.refused("profile_route", nil); !strings.Contains(text, "sessions and the waits recorder may start 10 times in a minute: try again in ") {
		t.Errorf("the 11th start: %s", text)
	}
}

// A comparison has the functions of requests that the last session has samples of. The runtime's sampler may, by chance, take a sample of the
// usual request too. Then the usual request has some, and the session is recorded again.
func TestCompareFunctions(t *testing.T) {
	t.Parallel()
	p := start(t, remote)
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	wants := []string{
		"functions by samples: difference ms, slow ms, usual ms, name, file and line; the usual request has none",
		"Config.Sessions.Policy.Modules or the profiler's Modules hide functions of some modules", "It shows functions of ‹main›, ‹std›.",
	}
	text := ""
	hasAll := func(string) bool {
		arguments := map[string]any{}
		for _, which := range []string{"slow", "usual"} {
			arguments[which] = suggested(t, a.ask("list_requests", map[string]any{"attribute": "url.path=/" + which}), "get_request").arguments["request"]
		}
		text = a.ask("compare_requests", arguments)
		return !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(text, want) })
	}
	a.profiled(p, map[string]any{}, func() {
		p.serve("GET /{path}", "/usual", func(http.ResponseWriter, *http.Request) {})
		p.serve("GET /{path}", "/slow", func(http.ResponseWriter, *http.Request) { sampled() })
	}, hasAll)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("compare_requests has no %q:\n%s", want, text)
		}
	}
	if !regexp.MustCompile(`(?m)› ‹[^/›]+/[^/›]+› line \d+$`).MatchString(text) {
		t.Errorf("compare_requests has no function with the last folder of its file and a line:\n%s", text)
	}
}
