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
type Losses struct{ Recent, All uint64 }

// newHealth judges the requests of the last five minutes, the losses and the set-up. faults are
// sentences.
func newHealth(total routes.Summary, heat routes.HeatMap, lost Losses, faults []string) *health {
	h := &health{Concerns: []concern{}}
	now, before := splitHeat(heat)
	share := failedShare(total.Failed, total.Count)
	switch {
	case now.failed >= leastFailed && now.share() >= max(leastFailure, 2*before.share()) &&
		before.count > 0:
		h.add("Errors are up",
			fmt.Sprintf("%s of the requests failed in the last minute, and %s in the minutes before", percent(now.share()), percent(before.share())), failedRequests)
	case total.Failed >= leastFailed && share >= manyFailed:
		h.add("Many errors",
			fmt.Sprintf("%s of the requests failed in the last 5 minutes", percent(share)),
			failedRequests)
	}
	if p99, was := now.p99(heat.Bounds), before.p99(heat.Bounds); now.count >= leastCount &&
		before.count >= leastCount && p99 >= leastSlowP99 && p99 >= muchSlower*was {
		h.add("Requests are slower",
			fmt.Sprintf("the p99 is about %s in the last minute, and was about %s in the minutes before", spaced(p99), spaced(was)), "")
	}
	if lost.Recent > 0 {
		h.add("Losses", fmt.Sprintf("perfline lost %s in the last 5 minutes", records(lost.Recent)),
			"#/counters")
	}
	for _, fault := range faults {
		h.add("Set-up", strings.TrimSuffix(fault, "."), "")
	}
	if total.Count == 0 {
		h.Sentence = "No request ended in the last 5 minutes"
	} else {
		h.Sentence = fmt.Sprintf("%s requests/s, %s failed, p99 %s in the last 5 minutes",
			perSecond(total.PerSecond), noneOr(share), spaced(total.P99))
	}
	switch {
	case lost.All == 0:
		h.Sentence += "; nothing was lost"
	case lost.All > lost.Recent:
		h.Sentence += "; lost before that: " + records(lost.All-lost.Recent)
	}
	h.Sentence += "."
	return h
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
