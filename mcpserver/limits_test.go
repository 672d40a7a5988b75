package mcpserver_test

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/mcpserver"
)

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
