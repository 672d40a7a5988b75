package mcpserver_test

import (
	public "github.com/perfline/perfline/requests"

	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/mcpserver"
)

// A faulty is a source with a defect, which occurs once.
type faulty struct {
	*recorded
	once *sync.Once
}

func (f faulty) Recent() *public.Store {
	f.once.Do(func() { panic("a defect") })
	return f.recorded.Recent()
}

// The protocol's SDK runs a tool on a goroutine of its own, where a panic would end the program.
func TestPanic(t *testing.T) {
	var log strings.Builder
	c := mcpserver.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	a := connect(t, mount(t, mcpserver.Handler(faulty{record(benign), new(sync.Once)}, c)).URL)
	if text := a.refused("list_routes", nil); !strings.Contains(text, "error: list_routes has failed by a defect: see the program's log") || strings.Contains(text, "a defect\n") {
		t.Errorf("got %s", text)
	}
	if got := log.String(); !strings.Contains(got, "panic=\"a defect\"") || !strings.Contains(got, "limits_test.go") {
		t.Errorf("the log has no panic with its stack: %s", got)
	}
	a.ask("get_counts", nil)
}

// A batch of the protocol's oldest version would be many calls at a time in one request.
func TestNoBatch(t *testing.T) {
	h := mcpserver.Handler(record(benign), quiet(mcpserver.Config{}))
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_counts"}}`
	if rec := do(h, post(call)); rec.Code != http.StatusOK {
		t.Fatalf("a call has status %d: %s", rec.Code, rec.Body)
	}
	for _, body := range []string{"[" + call + "]", " \n\t\r[" + call + "," + call + "]", "["} {
		if rec := do(h, post(body)); rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "a batch of messages: send each in a request of its own") {
			t.Errorf("%q has status %d: %s", body, rec.Code, rec.Body)
		}
	}
}

// A gate is a source whose requests and routes come when it opens.
type gate struct {
	*recorded
	inside chan struct{} // gets an element for each call
	open   chan struct{}
}

func (g gate) Recent() *public.Store {
	g.inside <- struct{}{}
	<-g.open
	return g.recorded.Recent()
}

// More calls than the most at a time are refused at once. They may come again when the others have ended.
func TestCallsAtATime(t *testing.T) {
	g := gate{record(benign), make(chan struct{}, 100), make(chan struct{})}
	h := mcpserver.Handler(g, quiet(mcpserver.Config{}))
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_routes"}}`
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if rec := do(h, post(call)); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "routes from ") {
				t.Errorf("a call has status %d: %s", rec.Code, rec.Body)
			}
		})
	}
	for range 8 {
		<-g.inside
	}
	if rec := do(h, post(call)); rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || !strings.Contains(rec.Body.String(), "try again") {
		t.Errorf("the 9th call has status %d: %s", rec.Code, rec.Body)
	}
	close(g.open)
	calls.Wait()
	if rec := do(h, post(call)); rec.Code != http.StatusOK {
		t.Errorf("a call after the others has status %d: %s", rec.Code, rec.Body)
	}
}

// The largest number is an offset as any other: it must not overflow.
func TestLargestOffset(t *testing.T) {
	p := start(t, perfline.Config{})
	p.serve("GET /a", "/a", func(http.ResponseWriter, *http.Request) {})
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
	id := suggested(t, a.ask("list_requests", nil), "get_request").arguments["request"]
	for _, c := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"list_routes", map[string]any{"offset": math.MaxInt64}},
		{"get_counts", map[string]any{"offset": math.MaxInt64}},
		{"get_request", map[string]any{"request": id, "offset": math.MaxInt64}},
		{"get_span", map[string]any{"request": id, "span": id, "offset": math.MaxInt64}},
	} {
		text, _ := a.call(c.tool, c.arguments)
		if strings.Contains(text, "next: "+c.tool+` {"offset"`) {
			t.Errorf("%s %v suggests another page: %s", c.tool, c.arguments, text)
		}
	}
}
