package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/load"
)

func TestTables(t *testing.T) {
	ok := &result{name: "jaeger/slow", flows: []*flow{{what: spans, arrived: 7}}, recovered: 1500 * time.Millisecond}
	ok.healthy.requests = load.Results{Answered: 1, Latencies: []time.Duration{time.Millisecond}}
	ok.faulty.requests = load.Results{Answered: 1, Latencies: []time.Duration{4 * time.Millisecond}}
	ok.requests = load.Results{Answered: 40, Failed: 2}
	bad := &result{name: "jaeger/hanging", wrong: []error{errors.New("the first|line\nthe second")}}
	none := &result{name: "jaeger/disk full", notMade: errNotMade}
	all := &result{name: "collector/slow", flows: []*flow{{what: spans, arrived: 8}, {what: "log records", arrived: 9, notes: []string{"2 of 3"}}}, notes: []string{"of the row"}}
	var out bytes.Buffer
	writeTables(&out, []*result{ok, bad, none, all}, settings{length: time.Minute, rate: 200, parallel: 2})
	columns := 0 // of the table
	for line := range strings.Lines(strings.ReplaceAll(out.String(), `\|`, "")) {
		n := strings.Count(line, "|")
		if columns > 0 && n > 0 && n != columns {
			t.Errorf("%d bars in %q, the lines before have %d", n, line, columns)
		}
		columns = n
	}
	for _, want := range []string{"2 rows at a time", "| 42 (2) |", "p99 is over 3 times", "1.5 s", `NOT WELL: the first\|line |`, "not made",
		"and 3 log records", "| collector/slow: spans | 0 | 0 | 0 | 0 | 8 | – | of the row |", "| collector/slow: log records | 0 | 0 | 0 | 0 | 9 |  | 2 of 3 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables do not say %q:\n%s", want, out.String())
		}
	}
}
