package mcpserver

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/guard"
)

// countsArguments are the arguments of get_counts.
type countsArguments struct {
	All    bool `json:"all,omitempty" jsonschema:"also counts that are 0"`
	Offset int  `json:"offset,omitempty" jsonschema:"counts to leave out, for the next page"`
	Limit  int  `json:"limit,omitempty" jsonschema:"counts in the answer, from 1 to 200; 60 without it"`
}

const usualCounts, mostCounts = 60, 200

func (s *server) getCounts(_ context.Context, _ *mcp.CallToolRequest,
	in countsArguments) (*answer, error) {
	limit, err := pageOf(in.Offset, in.Limit, usualCounts, mostCounts)
	if err != nil {
		return nil, err
	}
	var all []exporter.Count
	lost := 0
	for _, c := range s.source.Counts() {
		if in.All || c.N > 0 {
			all = append(all, c)
		}
		if c.Lost && c.N > 0 {
			lost++
		}
	}
	a := new(answer)
	s.writeFaults(a)
	if lost == 0 {
		a.line("perfline has lost nothing since the program began.")
	} else {
		a.line("perfline has lost data since the program began: %d counts begin with LOST.", lost)
	}
	a.line("counts from %d on, of %d: number, group, name, meaning", in.Offset, len(all))
	shown, more := writePage(a, all, in.Offset, limit, countLine)
	if more > 0 {
		in.Offset += len(shown)
		a.suggest(toolCounts, in, word(fmt.Sprintf("%d more counts", more)))
	}
	a.suggest(toolListRoutes, struct{}{}, "routes and how long their requests take")
	return a, nil
}

// writeFaults writes the faults of the program's set-up. In a summary, it writes only what to
// change, because a fault may have names of spans.
func (s *server) writeFaults(a *answer) {
	all := perfline.Check(s.source)
	if len(all) == 0 {
		return
	}
	a.line("The set-up of the program has %s:", number(len(all), "fault"))
	for _, f := range all {
		change := word(f.Change) // perfline's own text
		if s.data == guard.Everything {
			a.line("fault: %s change: %s", value(f.What), change)
		} else {
			a.line("change: %s", change)
		}
	}
}

func countLine(c exporter.Count) string {
	mark, name, kind, note := word(""), word(""), word(""), word("")
	if c.Lost && c.N > 0 {
		mark = "LOST "
	}
	if c.Name != "" {
		name = " " + word(c.Name)
	}
	if c.Kind != "" {
		kind = word(quotef(" of %s", c.Kind))
	}
	if c.Now {
		note = " now"
	}
	return quotef("%s%d%s %s%s%s: %s", mark, c.N, note, word(c.Group), name, kind, word(c.What))
}
