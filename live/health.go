package live

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/text"
)

// health says whether the process is well, in words with numbers.
type health struct {
	Concerns []concern `json:"concerns"` // what is wrong, the most urgent first
	Sentence string    `json:"sentence"` // the figures
}

// A concern is something that is wrong.
type concern struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Href  string `json:"href,omitempty"` // the view with more about it
}

// Thresholds of concerns. Few requests vary by chance, so that they are no concern.
const (
	lastMinute   = 7    // columns of ten seconds: six whole ones, and the present one
	leastFailed  = 5    // requests
	leastFailure = 0.01 // of failed requests
	manyFailed   = 0.05 // of all in the last minutes
	fewRequests  = 100  // for a p99
	muchSlower   = 2    // times the p99 before
	leastSlowP99 = time.Millisecond
)

const failedRequests = "#/?status=error" // the view with them

// losses are numbers of perfline's records that were lost.
type losses struct{ recent, all uint64 } // in the last five minutes, and since the start

// newHealth judges the requests of the last minutes, and the losses.
func newHealth(total routes.Summary, heat routes.HeatMap, lost losses) *health {
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
	if p99, was := now.p99(heat.Bounds), before.p99(heat.Bounds); now.count >= fewRequests &&
		before.count >= fewRequests && p99 >= leastSlowP99 && p99 >= muchSlower*was {
		h.add("Requests are slower",
			fmt.Sprintf("the p99 is about %s in the last minute, and was about %s in the minutes before", spaced(p99), spaced(was)), "")
	}
	if lost.recent > 0 {
		h.add("Losses", fmt.Sprintf("perfline lost %s in the last 5 minutes", records(lost.recent)),
			"#/counters")
	}
	if total.Count == 0 {
		h.Sentence = "No request ended in the last 5 minutes"
	} else {
		h.Sentence = fmt.Sprintf("%s requests/s, %s failed, p99 %s in the last 5 minutes",
			perSecond(total.PerSecond), noneOr(share), spaced(total.P99))
	}
	switch {
	case lost.all == 0:
		h.Sentence += "; nothing was lost"
	case lost.all > lost.recent:
		h.Sentence += "; lost before that: " + records(lost.all-lost.recent)
	}
	h.Sentence += "."
	return h
}

func (h *health) add(title, what, href string) {
	h.Concerns = append(h.Concerns, concern{title, what, href})
}

// losses counts the source's losses. Those after the first sample of its history are recent. All
// are, if it has no sample.
func (h *handler) losses() (l losses) {
	for _, c := range h.source.Counts() {
		if c.Lost {
			l.all += c.N
		}
	}
	l.recent = l.all
	if h.history == nil {
		return l
	}
	if samples := h.history.Samples(); len(samples) > 0 {
		l.recent -= min(l.all, samples[0].LostInAll)
	}
	return l
}

// A heatSum has the requests of some columns of a heat map.
type heatSum struct {
	counts        []uint64 // by row
	count, failed uint64
}

// splitHeat sums up the last minute and the columns before.
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

// p99 returns the middle of the row with the 99th percentile.
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

// spaced returns a duration as the page's scripts do: with a space between the number and the unit.
func spaced(d time.Duration) string {
	s := text.Duration(d)
	if i := strings.IndexFunc(s, unicode.IsLetter); i > 0 {
		return s[:i] + " " + s[i:]
	}
	return s
}
