package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/perfline/perfline/mcpserver"
)

// Whatever a client sends, the program goes on, and the answer is within its bound.
func FuzzBody(f *testing.F) {
	for _, body := range []string{
		initialize, "", "null", "[]", "{}", "[" + initialize + "]", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_routes","arguments":{"offset":9223372036854775807}}}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"get_counts","arguments":null}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"get_request","arguments":{"request":"0200000000000000","offset":1e3}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":null}}`, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`,
	} {
		f.Add([]byte(body), "")
		f.Add([]byte(body), "2025-11-25")
	}
	h := mcpserver.Handler(record(benign), quiet(mcpserver.Config{}))
	f.Fuzz(func(t *testing.T, body []byte, version string) {
		r := post(string(body))
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
		}
		if rec := do(h, r); rec.Body.Len() > 128<<10 {
			t.Errorf("the response has %d bytes", rec.Body.Len())
		}
	})
}

// A tool answers any arguments with text in UTF-8 of at most 16 KiB. The text is perfline's own but for the quoted parts.
func FuzzArguments(f *testing.F) {
	for _, arguments := range []string{
		"", "null", "[]", `"x"`, "{}", `{"offset":-1}`, `{"limit":9223372036854775807}`, `{"offset":1e400}`, `{"request":"0200000000000000"}`,
		`{"request":"0200000000000000","span":"0300000000000000"}`, `{"slow":"0200000000000000","usual":"0500000000000000"}`,
		`{"sort":"slowest","after":"0200000000000000","limit":1}`, `{"min_ms":1e9,"seconds":0.001}`, `{"attribute":"=","text":"\u0000"}`, `{"samples":60}`,
		`{"seconds":1,"waiting":true}`, `{"window":"start","sort":"failed"}`, `{"death":1,"offset":1,"limit":1}`, `{"request":"0700000000000000"}`,
	} {
		for _, tool := range []string{"list_routes", "list_requests", "get_request", "get_span", "compare_requests", "profile_route", "get_counts", "get_deaths", "arm_waits", "get_waits_state"} {
			f.Add(tool, arguments)
		}
	}
	box := openBox(f, "shop")
	defer box.serve(benign)()
	h := mcpserver.Handler(deaths(box.died(wordsOf("no price", "main.render"))), quiet(mcpserver.Config{}))
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		if !json.Valid([]byte(arguments)) {
			arguments = "{}"
		}
		call, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": json.RawMessage(arguments)}})
		if err != nil {
			t.Fatal(err)
		}
		rec := do(h, post(string(call)))
		if rec.Code != http.StatusOK {
			return
		}
		_, data, _ := strings.Cut(rec.Body.String(), "data: ")
		var response struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.NewDecoder(strings.NewReader(data)).Decode(&response); err != nil {
			t.Fatalf("%v in %q", err, rec.Body)
		}
		for _, c := range response.Result.Content {
			if len(c.Text) > 16<<10 || !utf8.ValidString(c.Text) || strings.Count(c.Text, "‹") != strings.Count(c.Text, "›") {
				t.Errorf("%s %s has the answer %q", tool, arguments, c.Text)
			}
			if strings.Contains(c.Text, "by a defect") {
				t.Errorf("%s %s panics", tool, arguments)
			}
		}
	})
}
