package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/requests"
)

// deathsArguments are the arguments of get_deaths.
type deathsArguments struct {
	Death  int `json:"death,omitempty" jsonschema:"number of a report, 1 for the newest one; the list of the reports without it"`
	Offset int `json:"offset,omitempty" jsonschema:"open requests of the report to leave out, for the next page"`
	Limit  int `json:"limit,omitempty" jsonschema:"open requests in the answer, from 1 to 100; 20 without it"`
}

const (
	maxSentence = 2 * maxValue // bytes of the sentence about a death
	maxLines    = 60           // of the runtime's text
)

func (s *server) getDeaths(_ context.Context, _ *mcp.CallToolRequest,
	in deathsArguments) (*answer, error) {
	limit, err := pageOf(in.Offset, in.Limit, usualRequests, mostRequests)
	if err != nil {
		return nil, err
	}
	n := len(s.deaths())
	if in.Death < 0 || in.Death > n {
		if n == 0 {
			return nil, refuse("death %d: there is no report about an earlier process", in.Death).
				or(toolDeaths, struct{}{}, "why there is none")
		}
		return nil, refuse("death %d: must be from 1 to %d", in.Death, n).
			or(toolDeaths, struct{}{}, "the reports and their numbers")
	}
	if in.Death == 0 {
		return s.listDeaths(n), nil
	}
	a := new(answer)
	r := s.report(in.Death)
	a.line("death %d of %d: %s", in.Death, n, word(r.Kind))
	a.line("%s", sentenceOf(r))
	if in.Offset == 0 {
		writeFacts(a, r)
	}
	shown, more := writeOpen(a, r, in.Offset, limit)
	if in.Offset == 0 {
		s.writeWords(a, r, in.Death)
	}
	if len(shown) > 0 {
		reason := word("its spans and marks up to the last one; another id gives another request")
		if shown[0].Crashed {
			reason = "the request whose goroutine crashed; another id gives another request"
		}
		a.suggest(toolGetRequest, requestArguments{Request: shown[0].SpanID.String()}, reason)
	}
	if more > 0 {
		in.Offset += len(shown)
		a.suggest(toolDeaths, in, word(fmt.Sprintf("%d more open requests", more)))
	}
	a.suggest(toolListRoutes, struct{}{}, "what the present process serves")
	return a, nil
}

// deaths returns the reports about earlier processes, the newest first. A report keeps its number.
func (s *server) deaths() []*blackbox.Report {
	if d := s.source.Deaths(); d != nil {
		return (*blackbox.Reports)(d).All()
	}
	return nil
}

// report returns the report with a number from 1 on, without hidden functions.
func (s *server) report(number int) *blackbox.Report {
	r := s.deaths()[number-1]
	if s.policy.ShowsAll() {
		return r
	}
	return r.Visible(s.policy.Shows)
}

// openAtDeath returns the first matching request that was open when an earlier process died, and
// the number of the report. Without such a request, the result is nil.
func (s *server) openAtDeath(matches func(requests.Snapshot) bool) (number int,
	open *blackbox.OpenRequest) {
	for i, r := range s.deaths() {
		for j := range r.Open {
			if matches(r.Open[j].Snapshot) {
				return i + 1, &r.Open[j]
			}
		}
	}
	return 0, nil
}

func sentenceOf(r *blackbox.Report) word { return word(quote(r.Sentence(), maxSentence)) }

// writeDeaths writes in a line whether earlier processes died. A summary does not name the tool.
func (s *server) writeDeaths(a *answer) {
	n, newest := 0, 0
	all := s.deaths()
	for i, r := range all {
		if r.Kind != blackbox.Ended {
			if n++; n == 1 {
				newest = i
			}
		}
	}
	if n == 0 {
		return
	}
	which := word("An earlier process of the program died")
	if n > 1 {
		which = word(fmt.Sprintf("%d earlier processes of the program died, the last one", n))
	}
	where := word(".")
	if s.data == guard.Everything {
		where = ": " + toolDeaths + " tells what it served."
		a.suggest(toolDeaths, deathsArguments{Death: newest + 1},
			"how the process died, and its open requests")
	}
	last := all[newest]
	a.line("%s at %s (%s)%s", which, moment(last.Last), word(last.Kind), where)
}

func (s *server) listDeaths(n int) *answer {
	a := new(answer)
	switch {
	case s.source.Deaths() == nil:
		a.line("The program has no black box. It would tell what a process served when it died: the program sets BlackBox of perfline.Config or PERFLINE_BLACKBOX_DIR. If the program does, its log has the reason.")
	case n == 0:
		a.line("No earlier process has left a report.")
	default:
		a.line("reports about earlier processes: %d, the newest first", n)
		number := 0
		_, more := writePage(a, s.deaths(), 0, n, func(*blackbox.Report) string {
			number++
			return deathLines(number, s.report(number))
		})
		if more > 0 {
			a.line("and %d more reports", more)
		}
		a.suggest(toolDeaths, deathsArguments{Death: 1},
			"the open requests and the runtime's text; another number gives another report")
	}
	a.suggest(toolListRoutes, struct{}{}, "what the present process serves")
	return a
}

// deathLines returns the lines of a report in the list.
func deathLines(number int, r *blackbox.Report) string {
	head := quotef("death %d: %s, last sign of life %s, process %d", number, word(r.Kind),
		moment(r.Last), r.PID)
	if r.Crash != nil && r.Crash.Place() != "" {
		head += quotef(", in %s", r.Crash.Place())
	}
	open := quotef("    open requests: %d", r.Total)
	if r.Total > 0 {
		open += quotef(", %s", value(r.OpenByRoute()))
	}
	return head + "\n    " + string(sentenceOf(r)) + "\n" + open + string(leftOut(r))
}

// leftOut returns what had no room in the file, or "".
func leftOut(r *blackbox.Report) (text word) {
	if r.LeftOut > 0 {
		text += word(fmt.Sprintf("; LOST %d requests had no room in the file", r.LeftOut))
	}
	if r.Lost > 0 {
		text += word(fmt.Sprintf("; LOST %d finished spans had no room in the file", r.Lost))
	}
	return text
}

// writeFacts writes the facts about a process, and its open requests by route.
func writeFacts(a *answer, r *blackbox.Report) {
	a.line("process %d of %s, started %s, last sign of life %s", r.PID, r.Service,
		moment(r.Started), moment(r.Last))
	if r.Memory.Limit > 0 {
		const mib = 1 << 20
		a.line("memory of its control group: %d of %d MiB", r.Memory.Used/mib, r.Memory.Limit/mib)
	}
	a.line("finished spans that no backend had taken: %d%s", r.Finished, leftOut(r))
	if len(r.Routes) > 0 {
		a.line("open requests by route: number, ms that the oldest one had been open, name")
	}
	n := 0
	for _, route := range r.Routes {
		a.line("%d %s %s", route.N, ms(route.Oldest), route.Name)
		n += route.N
	}
	if n < r.Total {
		a.line("%d of other routes", r.Total-n)
	}
}

// writeOpen writes a page of the open requests.
func writeOpen(a *answer, r *blackbox.Report, offset, limit int) (shown []blackbox.OpenRequest,
	more int) {
	if r.Total == 0 {
		a.line("no request was open")
		return nil, 0
	}
	a.line("open requests from %d on, of %d: id, ms that it had been open, name, innermost open span and its ms", offset, r.Total)
	if n := r.Total - len(r.Open); n > 0 {
		a.line("the report has no spans of the newest %d", n)
	}
	return writePage(a, r.Open, offset, limit, func(o blackbox.OpenRequest) string {
		line := quotef("%v %s %s", o.SpanID, ms(o.For), o.Name)
		if o.In != "" {
			line += quotef(" in %s for %s", o.In, ms(o.InFor))
		}
		if o.Crashed {
			line += "; its goroutine crashed"
		}
		return line + string(older(&o))
	})
}

// older returns how many entries of a request are missing, or "".
func older(o *blackbox.OpenRequest) word {
	if o.LeftOut == 0 {
		return ""
	}
	return word(fmt.Sprintf("; LOST %d older entries had no room in the file", o.LeftOut))
}

// writeWords writes the beginning of the runtime's text, as far as the answer has room.
func (s *server) writeWords(a *answer, r *blackbox.Report, number int) {
	whole := s.deaths()[number-1].Words
	if whole == "" {
		a.line("The Go runtime left no text.")
		return
	}
	if len(r.Words) < len(whole) {
		a.line("Config.Sessions.Policy.Modules hides functions of some modules.")
	}
	lines := strings.Split(strings.TrimRight(r.Words, "\n"), "\n")
	a.line("text of the Go runtime, %d lines:", len(lines))
	_, more := writePage(a, lines, 0, maxLines, func(line string) string {
		if rest, ok := strings.CutPrefix(line, "\t"); ok {
			return "    " + quotef("%s", value(rest))
		}
		return quotef("%s", value(line))
	})
	if more > 0 {
		a.line("%d more lines are not printed here", more)
	}
}

// writeDeathOf writes how the death of its process ended a request.
func writeDeathOf(a *answer, r *blackbox.Report, o *blackbox.OpenRequest) {
	a.line("The request had not ended when process %d did (%s). Its times end at the last sign of life.",
		r.PID, word(r.Kind))
	if o.Crashed {
		a.line("Its goroutine crashed: %s", sentenceOf(r))
	}
	if o.In != "" {
		a.line("innermost open span: %s, for %s%s", o.In, took(o.InFor), older(o))
	} else if o.LeftOut > 0 {
		a.line("LOST %d older entries had no room in the file", o.LeftOut)
	}
}
