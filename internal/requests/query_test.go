package requests_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
)

// An error names the value and the rule.
func TestQueryCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		query requests.Query
		want  string // "" is no error
	}{
		{"zero", requests.Query{}, ""},
		{"all fields", requests.Query{Route: "GET /", Status: "5xx", MinTook: ms, MaxTook: 2 * ms, From: base, To: base.Add(1), Attribute: "a=b=c", Text: "=", Classes: []local.Class{local.Housekeeping}, Limit: 1}, ""},
		{"status in words", requests.Query{Status: "DEADLINE_EXCEEDED"}, ""},
		{"status with a space", requests.Query{Status: "not ok"}, `status "not ok": must be ok, error, a class such as 5xx, or a status of letters and digits`},
		{"long status", requests.Query{Status: strings.Repeat("x", 100)}, `status "` + strings.Repeat("x", 59) + `…": must be`},
		{"negative", requests.Query{MinTook: -ms}, "least duration -1ms: must not be negative"},
		{"negative bound", requests.Query{MaxTook: -ms}, "greatest duration -1ms: must not be negative"},
		{"no duration between", requests.Query{MinTook: 2 * ms, MaxTook: 2 * ms}, "greatest duration 2ms: must be more than the least duration 2ms"},
		{"no time between", requests.Query{From: base, To: base}, "end of the time 2026-01-02T03:04:05Z: must be after its beginning 2026-01-02T03:04:05Z"},
		{"only an end", requests.Query{To: time.Unix(0, 0)}, ""},
		{"attribute without a key", requests.Query{Attribute: "=x"}, `attribute "=x": must begin with a key`},
		{"class", requests.Query{Classes: []local.Class{77, local.Request}}, "class 77: must be at most 4"},
		{"limit", requests.Query{Limit: -1}, "limit -1: must not be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch err := c.query.Check(); {
			case c.want == "" && err != nil:
				t.Errorf("error %q, want none", err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
