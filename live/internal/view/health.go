package view

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/text"
)

// health judges the process in words with numbers.
type health struct {
	Concerns []concern `json:"concerns"` // problems, the most urgent first
	Sentence string    `json:"sentence"` // the figures
}

// A concern is a problem of the process.
type concern struct {
	Title string `json:"title"`          // two or three words
	Text  string `json:"text"`           // a sentence with numbers
	Href  string `json:"href,omitempty"` // view of the page with more detail
}

// Thresholds of concerns. A few requests vary by chance and raise no concern.
const (
	lastMinute   = 7    // columns of ten seconds: six whole columns and the present column
	leastFailed  = 5    // requests
	leastFailure = 0.01 // share of failed requests for a rise
	manyFailed   = 0.05 // share of failed requests in the last minutes
	leastCount   = 100  // requests for a p99
	muchSlower   = 2    // times the earlier p99
	leastSlowP99 = time.Millisecond
)

const failedRequests = "#/?status=error" // view of the failed requests

// Losses contains numbers of lost records. Recent counts the last five minutes, and All counts the
// time since the start of the program.
type Losses struct {
	Recent, All uint64
	What        string // the records of the largest recent loss; "" if unknown
}

// newHealth judges the last five minutes of a table, the losses and the set-up. faults are
// sentences. Messages and jobs have figures of their own: many short messages would hide requests
// that are slow or fail.
func newHealth(table *routes.Table, lost Losses, faults []string) *health {
	h := &health{Concerns: []concern{}}
	var figures []string
	for i, what := range []string{"requests", "messages and jobs"} {
		total, heat := table.TotalOf(i > 0, routes.LastMinutes)
		h.judge(what, total, heat)
		if total.Count > 0 {
			figures = append(figures, fmt.Sprintf("%s %s/s, %s failed, p99 %s",
				perSecond(total.PerSecond), what,
				noneOr(failedShare(total.Failed, total.Count)), spaced(total.P99)))
		}
	}
	if lost.Recent > 0 {
		said := fmt.Sprintf("perfline lost %s in the last 5 minutes", records(lost.Recent))
		if lost.What != "" {
			said += ", such as " + lost.What
		}
		h.add("Losses", said, "#/counters")
	}
	for _, fault := range faults {
		h.add("Set-up", strings.TrimSuffix(fault, "."), "")
	}
	if len(figures) == 0 {
		figures = []string{"No request ended"}
	}
	h.Sentence = strings.Join(figures, "; ") + " in the last 5 minutes"
	switch {
	case lost.All == 0:
		h.Sentence += "; nothing was lost"
	case lost.All > lost.Recent:
		h.Sentence += "; lost before that: " + records(lost.All-lost.Recent)
	}
	h.Sentence += "."
	return h
}

// judge adds the concerns about requests, or about messages and jobs.
func (h *health) judge(what string, total routes.Summary, heat routes.HeatMap) {
	now, before := splitHeat(heat)
	share := failedShare(total.Failed, total.Count)
	switch {
	case now.failed >= leastFailed && now.share() >= max(leastFailure, 2*before.share()) &&
		before.count > 0:
		h.add("Errors are up",
			fmt.Sprintf("%s of the %s failed in the last minute, and %s in the minutes before",
				percent(now.share()), what, percent(before.share())), failedRequests)
	case total.Failed >= leastFailed && share >= manyFailed:
		h.add("Many errors",
			fmt.Sprintf("%s of the %s failed in the last 5 minutes", percent(share), what),
			failedRequests)
	}
	if p99, was := now.p99(heat.Bounds), before.p99(heat.Bounds); now.count >= leastCount &&
		before.count >= leastCount && p99 >= leastSlowP99 && p99 >= muchSlower*was {
		h.add(strings.ToUpper(what[:1])+what[1:]+" are slower",
			fmt.Sprintf("the p99 is about %s in the last minute, and was about %s in the minutes before", spaced(p99), spaced(was)), "")
	}
}

func (h *health) add(title, text, href string) {
	h.Concerns = append(h.Concerns, concern{title, text, href})
}

// A heatSum counts the requests in columns of a heat map.
type heatSum struct {
	counts        []uint64 // by row
	count, failed uint64
}

// splitHeat sums up the last minute, and the minutes before.
func splitHeat(m routes.HeatMap) (now, before heatSum) {
	for i, column := range m.Columns {
		s := &before
		if i >= len(m.Columns)-lastMinute {
			s = &now
		}
		if s.counts == nil {
			s.counts = make([]uint64, len(column.Counts))
		}
		for row, n := range column.Counts {
			s.counts[row] += n
			s.count += n
		}
		s.failed += column.Failed
	}
	return now, before
}

func (s *heatSum) share() float64 { return failedShare(s.failed, s.count) }

// p99 returns the middle of the row with the 99th percentile, or 0 without requests.
func (s *heatSum) p99(bounds []time.Duration) time.Duration {
	above := s.count / 100
	for row := len(s.counts) - 1; row >= 0; row-- {
		if s.counts[row] > above {
			return (bounds[row] + bounds[row+1]) / 2
		}
		above -= s.counts[row]
	}
	return 0
}

func failedShare(failed, all uint64) float64 { return float64(failed) / float64(max(all, 1)) }

func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

func noneOr(share float64) string {
	if share == 0 {
		return "none"
	}
	return percent(share)
}

func perSecond(n float64) string {
	if n >= 10 {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.2f", n)
}

func records(n uint64) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}

// spaced formats a duration like the page's scripts, with a space between number and unit.
func spaced(d time.Duration) string {
	s := text.Duration(d)
	if i := strings.IndexFunc(s, unicode.IsLetter); i > 0 {
		return s[:i] + " " + s[i:]
	}
	return s
}
