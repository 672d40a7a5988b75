package mcpserver_test

import (
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter/routes"
	"github.com/perfline/perfline/mcpserver"
)

// A faulty is a source with a defect.
type faulty struct{ *recorded }

func (faulty) Routes() *routes.Table { panic("a defect") }

// The protocol's SDK runs a tool on a goroutine of its own, where a panic would end the program.
func TestPanic(t *testing.T) {
	var log strings.Builder
	c := mcpserver.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	a := connect(t, mount(t, mcpserver.Handler(faulty{record(benign)}, c)).URL)
	if text := a.refused("list_routes", nil); !strings.Contains(text, "error: list_routes has failed by a defect: see the program's log") || strings.Contains(text, "a defect\n") {
		t.Errorf("got %s", text)
	}
	if got := log.String(); !strings.Contains(got, "panic=\"a defect\"") || !strings.Contains(got, "limits_test.go") {
		t.Errorf("the log has no panic with its stack: %s", got)
	}
	a.ask("get_counts", nil)
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
