package mcpserver_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/mcpserver"
)

// initialize is the first call of a client with the protocol's older version.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost:8080/debug/perfline/mcp", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func TestGuard(t *testing.T) {
	token := func(r *http.Request) error {
		if r.Header.Get("Authorization") != "Bearer secret" {
			return errors.New("wrong token")
		}
		return nil
	}
	pl := start(t, perfline.Config{}).pl
	for _, c := range []struct {
		name   string
		config mcpserver.Config
		change func(*http.Request)
		want   int
	}{
		{"this machine", mcpserver.Config{}, func(*http.Request) {}, 200},
		{"another machine", mcpserver.Config{}, func(r *http.Request) { r.RemoteAddr = "192.0.2.7:4711" }, 403},
		{"a name that was rebound", mcpserver.Config{}, func(r *http.Request) { r.Host = "evil.example:8080" }, 403},
		{"a page elsewhere", mcpserver.Config{}, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"a page elsewhere, by Sec-Fetch-Site", mcpserver.Config{}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"a trusted page", mcpserver.Config{TrustedOrigins: []string{"https://tools.example"}}, func(r *http.Request) { r.Header.Set("Origin", "https://tools.example") }, 200},
		{"behind a proxy", mcpserver.Config{}, func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") }, 403},
		{"without the token", mcpserver.Config{Authorize: token}, func(*http.Request) {}, 403},
		{"with the token, through a proxy", mcpserver.Config{Authorize: token}, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer secret")
			r.Host = "shop.example"
			r.Header.Set("X-Forwarded-For", "192.0.2.7")
		}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := post(initialize)
			c.change(r)
			if rec := do(mcpserver.Handler(pl, quiet(c.config)), r); rec.Code != c.want {
				t.Errorf("status %d, want %d: %s", rec.Code, c.want, rec.Body)
			}
		})
	}
}

// A link from elsewhere may open a page of the guard. It opens nothing here.
func TestOnlyPost(t *testing.T) {
	h := mcpserver.Handler(start(t, perfline.Config{}).pl, quiet(mcpserver.Config{}))
	for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "OPTIONS"} {
		r := post("")
		r.Method = method
		if rec := do(h, r); rec.Code != 405 {
			t.Errorf("%s has status %d, want 405", method, rec.Code)
		}
	}
}

func TestLongBody(t *testing.T) {
	h := mcpserver.Handler(start(t, perfline.Config{}).pl, quiet(mcpserver.Config{}))
	for name, body := range map[string]string{
		"a long name":                     `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 64<<10) + `"}`,
		"white space, and a batch behind": strings.Repeat(" ", 64<<10) + "[" + initialize + "]",
	} {
		if rec := do(h, post(body)); rec.Code != 413 {
			t.Errorf("%s: a body of more than 64 KiB has status %d, want 413", name, rec.Code)
		}
	}
}

func TestMountedElsewhere(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/a/", http.StripPrefix("/a", mcpserver.Handler(start(t, perfline.Config{}).pl, quiet(mcpserver.Config{}))))
	a := connect(t, mount(t, mux).URL+"/a/tools")
	if text := a.ask("get_counts", nil); !strings.Contains(text, "counts from 0 on") {
		t.Errorf("got %s", text)
	}
}

func toolNames(t *testing.T, c mcpserver.Config) (names []string) {
	t.Helper()
	r := httptest.NewServer(mcpserver.Handler(start(t, perfline.Config{}).pl, quiet(c)))
	t.Cleanup(r.Close)
	a := connect(t, r.URL)
	for tool, err := range a.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

func TestData(t *testing.T) {
	figures := []string{"get_counts", "get_runtime", "list_routes"}
	everything := []string{"arm_waits", "compare_requests", "get_counts", "get_deaths", "get_request", "get_runtime", "get_span", "get_waits_state", "list_requests", "list_routes", "profile_route"}
	anyone := func(*http.Request) error { return nil }
	for _, c := range []struct {
		name   string
		config mcpserver.Config
		want   []string
	}{
		{"this machine", mcpserver.Config{}, everything},
		{"with Authorize", mcpserver.Config{Authorize: anyone}, figures},
		{"everything with Authorize", mcpserver.Config{Authorize: anyone, Data: guard.Everything}, everything},
		{"the summary for this machine", mcpserver.Config{Data: guard.Summary}, figures},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := toolNames(t, c.config); !slices.Equal(got, c.want) {
				t.Errorf("got the tools %v, want %v", got, c.want)
			}
		})
	}
}

// A wrong value of Data is a programmer's error.
func TestDataIsChecked(t *testing.T) {
	p := start(t, perfline.Config{})
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "Config.Data 7: must be Everything or Summary") {
			t.Errorf("it panics with %q", text)
		}
	}()
	mcpserver.Handler(p.pl, mcpserver.Config{Data: 7})
}

// The figures do not suggest tools that are missing.
func TestSummarySuggests(t *testing.T) {
	p := start(t, perfline.Config{})
	p.serve("GET /orders/{id}", "/orders/17", func(http.ResponseWriter, *http.Request) {})
	a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{Data: guard.Summary}))).URL)
	for _, tool := range []string{"list_routes", "get_counts", "get_runtime"} {
		for _, s := range steps(t, a.ask(tool, nil)) {
			if !slices.Contains([]string{"list_routes", "get_counts", "get_runtime"}, s.tool) {
				t.Errorf("%s suggests %s, which is missing", tool, s.tool)
			}
		}
	}
}
