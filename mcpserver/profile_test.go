package mcpserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// remote allows clients to start recordings.
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

// busy uses the CPU for some time.
func busy(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		continue
	}
}

// meanwhile makes calls until there is an answer, and returns the answer.
func meanwhile(answer <-chan string, call func()) string {
	for {
		select {
		case text := <-answer:
			return text
		default:
			call()
		}
	}
}

// recording starts profile_route for 30 s on a goroutine, and returns when it records. The channel gets the answer.
func (a *agent) recording(ctx context.Context, p *program) chan *mcp.CallToolResult {
	a.t.Helper()
	answer := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, _ := a.session.CallTool(ctx, &mcp.CallToolParams{Name: "profile_route", Arguments: map[string]any{"seconds": 30}}) // nil if the client has left
		answer <- r
	}()
	until(a.t, "the recording begins", func() bool { return p.pl.Sessions().Stats().Started > 0 })
	return answer
}

// The functions of a route are those that its requests ran, with their file.
func TestProfile(t *testing.T) {
	p := start(t, perfline.Config{Sessions: sessions.Config{Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleAny}}}})
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	answer := make(chan string)
	go func() {
		text, _ := a.call("profile_route", map[string]any{"route": "GET /busy", "seconds": 1})
		answer <- text
	}()
	until(t, "the recording begins", func() bool { return p.pl.Sessions().Stats().Started > 0 })
	text := meanwhile(answer, func() {
		p.serve("GET /busy", "/busy", func(http.ResponseWriter, *http.Request) { busy(100 * time.Millisecond) })
	})
	if !regexp.MustCompile(`(?m)[1-9]\d* requests? of ‹GET /busy›`).MatchString(text) {
		t.Errorf("profile_route has no request:\n%s", text)
	}
	for _, want := range []string{"samples of the CPU, for ", "mcpserver_test.busy›", "‹mcpserver/profile_test.go› line "} {
		if !strings.Contains(text, want) {
			t.Errorf("profile_route has no %q:\n%s", want, text)
		}
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
		"The origin policy or the profiler's Modules hide functions of some modules. It shows functions of ‹main›, ‹std›.",
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

// A recording takes up to 30 s. Other tools answer meanwhile, and a second recording is refused.
func TestToolsDuringARecording(t *testing.T) {
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
		t.Errorf("a second recording: %s", text)
	}
	select {
	case r := <-answer:
		t.Errorf("the recording ended before the other calls: %v", r)
	default:
	}
}

// A recording ends, and is released, when its client leaves.
func TestClientLeavesARecording(t *testing.T) {
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	a := connect(t, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	answer := a.recording(ctx, p)
	cancel()
	<-answer
	until(t, "the recording is released", func() bool { return len(p.pl.Sessions().Statuses()) == 0 })
	if text := connect(t, server.URL).ask("profile_route", map[string]any{"seconds": 1}); !strings.Contains(text, "recording of 1.") {
		t.Errorf("the next recording: %s", text)
	}
}

// The protocol's older versions do not end a tool by themselves.
func TestClientOfAnOlderVersionLeavesARecording(t *testing.T) {
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
	until(t, "the recording begins", func() bool { return p.pl.Sessions().Stats().Started > 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client has the error %v, want the one of its context", err)
	}
	until(t, "the recording is released", func() bool { return len(p.pl.Sessions().Statuses()) == 0 })
}

// A recording ends when the server shuts down, which waits for its requests.
func TestShutdownEndsARecording(t *testing.T) {
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	answer := connect(t, server.URL).recording(t.Context(), p)
	if err := server.Config.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if r := <-answer; r != nil && !r.IsError {
		t.Errorf("the client has an answer: %+v", r)
	}
	until(t, "the recording is released", func() bool { return len(p.pl.Sessions().Statuses()) == 0 })
}

// A client that asks for it gets the progress of a recording.
func TestProgress(t *testing.T) {
	p := start(t, remote)
	server := mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{})))
	got := make(chan float64, 10)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { got <- r.Params.Total },
	}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }() // the server has no session to end
	params := &mcp.CallToolParams{Name: "profile_route", Arguments: map[string]any{"seconds": 2.5}}
	params.SetProgressToken("token")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if total := <-got; total != 2.5 {
		t.Errorf("the progress is of %g s, want 2.5", total)
	}
}

// Clients may start a number of recordings in a minute. Refused ones count.
func TestStartsAreLimited(t *testing.T) {
	p := start(t, remote)
	if _, err := p.pl.Sessions().Start(t.Context(), sessions.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	for range 10 {
		if text := a.refused("profile_route", nil); !strings.Contains(text, "another recording is in progress") {
			t.Fatalf("got %s", text)
		}
	}
	if text := a.refused("profile_route", nil); !strings.Contains(text, "recordings may start 10 times in a minute: try again in ") {
		t.Errorf("the 11th start: %s", text)
	}
}

// A comparison has the functions of requests that the last recording has samples of.
func TestCompareFunctions(t *testing.T) {
	p := start(t, remote)
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	answer := make(chan string)
	go func() {
		text, _ := a.call("profile_route", map[string]any{"seconds": 1})
		answer <- text
	}()
	until(t, "the recording begins", func() bool { return p.pl.Sessions().Stats().Started > 0 })
	p.serve("GET /busy", "/busy", func(http.ResponseWriter, *http.Request) {})
	usual := p.pl.Recent().Requests()[0].Root.SpanID.String()
	meanwhile(answer, func() {
		p.serve("GET /busy", "/busy", func(http.ResponseWriter, *http.Request) { busy(100 * time.Millisecond) })
	})
	var text string
	for _, q := range p.pl.Recent().Requests() { // some are not within the recording
		if slow := q.Root.SpanID.String(); slow != usual && !strings.Contains(text, "functions by samples") {
			text = a.ask("compare_requests", map[string]any{"slow": slow, "usual": usual})
		}
	}
	for _, want := range []string{
		"functions by samples: difference ms, slow ms, usual ms, name, file and line; the usual request has none",
		"The origin policy or the profiler's Modules hide functions of some modules", "It shows functions of ‹main›, ‹std›.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("compare_requests has no %q:\n%s", want, text)
		}
	}
	if !regexp.MustCompile(`(?m)› ‹[^/›]+/[^/›]+› line \d+$`).MatchString(text) {
		t.Errorf("compare_requests has no function with the last folder of its file and a line:\n%s", text)
	}
}
