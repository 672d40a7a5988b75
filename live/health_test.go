package live_test

import (
	"github.com/perfline/perfline"

	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/live"
)

// The health line has the figures, and in front of them what is wrong.
func TestHealth(t *testing.T) {
	// A phase has a number of requests in each ten seconds.
	type phase struct {
		columns, each, failed int
		took                  time.Duration
		messages              int // beside the requests, all of which fail
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		phases   []phase
		sentence string
		concerns []string
	}{
		{"no requests", nil, "No request ended in the last 5 minutes; nothing was lost.", []string{}},
		{"old requests", []phase{{6, 100, 50, ms, 0}, {40, 0, 0, 0, 0}}, "No request ended in the last 5 minutes; nothing was lost.", []string{}},
		{"all is well", []phase{{20, 100, 0, ms, 0}}, "9.95 requests/s, none failed, p99 999 µs in the last 5 minutes; nothing was lost.", []string{}},
		{"few failures", []phase{{20, 1000, 1, ms, 0}}, "100 requests/s, 0.1 % failed, p99 999 µs in the last 5 minutes; nothing was lost.", []string{}},
		{"errors are up", []phase{{14, 100, 1, ms, 0}, {6, 100, 5, ms, 0}}, "9.95 requests/s, 2.2 % failed, p99 999 µs in the last 5 minutes; nothing was lost.",
			[]string{"Errors are up: 5.0 % of the requests failed in the last minute, and 1.0 % in the minutes before #/?status=error"}},
		{"many errors from the start", []phase{{3, 100, 20, ms, 0}}, "9.68 requests/s, 20.0 % failed, p99 999 µs in the last 5 minutes; nothing was lost.",
			[]string{"Many errors: 20.0 % of the requests failed in the last 5 minutes #/?status=error"}},
		{"slower", []phase{{14, 100, 0, ms, 0}, {6, 100, 0, 8 * ms, 0}}, "9.95 requests/s, none failed, p99 7.97 ms in the last 5 minutes; nothing was lost.",
			[]string{"Requests are slower: the p99 is about 7.17 ms in the last minute, and was about 896 µs in the minutes before "}},
		{"messages beside requests", []phase{{20, 100, 0, 5 * ms, 10}}, "9.95 requests/s, none failed, p99 4.99 ms; 1.00 messages and jobs/s, 100.0 % failed, p99 30.0 µs in the last 5 minutes; nothing was lost.",
			[]string{"Many errors: 100.0 % of the messages and jobs failed in the last 5 minutes #/?status=error"}},
		{"messages alone", []phase{{20, 0, 0, 0, 200}}, "20 messages and jobs/s, 100.0 % failed, p99 30.0 µs in the last 5 minutes; nothing was lost.",
			[]string{"Many errors: 100.0 % of the messages and jobs failed in the last 5 minutes #/?status=error"}},
		{"too few to say", []phase{{14, 5, 0, ms, 0}, {1, 5, 4, 8 * ms, 0}, {5, 5, 0, 8 * ms, 0}}, "0.50 requests/s, 4.0 % failed, p99 7.97 ms in the last 5 minutes; nothing was lost.", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, table := count(t, 0, live.Config{})
				time.Sleep(time.Second)
				for _, phase := range c.phases {
					for range phase.columns {
						for i := range phase.each {
							root := ended("GET /", phase.took)
							root.Failed = i < phase.failed
							table.Add(root)
						}
						for range phase.messages {
							root := ended("deliver", 30*time.Microsecond)
							root.Failed, root.Message = true, true
							table.Add(root)
						}
						time.Sleep(10 * time.Second)
					}
				}
				h := p.routes("").Health
				got := []string{}
				for _, c := range h.Concerns {
					got = append(got, c.Title+": "+c.Text+" "+c.Href)
				}
				if h.Sentence != c.sentence || !slices.Equal(got, c.concerns) {
					t.Errorf("it says\n%q %q\nwant\n%q %q", h.Sentence, got, c.sentence, c.concerns)
				}
			})
		})
	}
}

// A losing program lost some records.
type losing struct {
	quiet
	history *runtimestats.History
	lost    *atomic.Uint64
}

func (l losing) Runtime() *perfline.Runtime { return (*perfline.Runtime)(l.history) }

func (l losing) Counts() []exporter.Count {
	return []exporter.Count{{Group: "g", Name: "lost", What: "spans that failed", N: l.lost.Load(), Lost: true}, {Group: "g", Name: "sent", N: 100}}
}

// Losses are a concern for five minutes, with a link to the counters. The sentence never denies them.
func TestHealthOfLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := new(atomic.Uint64)
		source := losing{quiet{recent: requests.NewRecent(requests.Config{})}, nil, lost}
		source.history = runtimestats.Start(runtimestats.Config{Counts: source.Counts, Read: func([]metrics.Sample) {}})
		defer source.history.Stop()
		p := &program{t: t, page: live.Handler(source, live.Config{})}
		time.Sleep(time.Second) // steps never coincide with a sample
		for _, step := range []struct {
			after           time.Duration
			lost            uint64 // from now on
			concern, before string
		}{
			{time.Minute, 0, "", "; nothing was lost"},
			{0, 1, "perfline lost 1 record in the last 5 minutes, such as spans that failed", ""},
			{4 * time.Minute, 20, "perfline lost 20 records in the last 5 minutes, such as spans that failed", ""},
			{2 * time.Minute, 20, "perfline lost 19 records in the last 5 minutes, such as spans that failed", "; lost before that: 1 record"},
			{5 * time.Minute, 20, "", "; lost before that: 20 records"},
			{time.Hour, 21, "perfline lost 1 record in the last 5 minutes", "; lost before that: 20 records"},
		} {
			time.Sleep(step.after)
			lost.Store(step.lost)
			h := p.routes("").Health
			want := []string{step.concern + " #/counters"}
			if step.concern == "" {
				want = nil
			}
			var got []string
			for _, c := range h.Concerns {
				got = append(got, c.Text+" "+c.Href)
			}
			if sentence := "No request ended in the last 5 minutes" + step.before + "."; h.Sentence != sentence || !slices.Equal(got, want) {
				t.Errorf("%d lost: it says %q %q, want %q %q", step.lost, h.Sentence, got, sentence, want)
			}
		}
	})
}

// A losingTwo program lost records of two kinds.
type losingTwo struct {
	losing
	profiles *atomic.Uint64
}

func (l losingTwo) Counts() []exporter.Count {
	return append(l.losing.Counts(), exporter.Count{Group: "g", Name: "refused", What: "profiles", N: l.profiles.Load(), Lost: true})
}

// The concern names the largest loss of the last minutes. A loss that no sample of the history has yet may be of any kind.
func TestHealthNamesTheLargestRecentLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := losingTwo{losing{quiet{recent: requests.NewRecent(requests.Config{})}, nil, new(atomic.Uint64)}, new(atomic.Uint64)}
		source.history = runtimestats.Start(runtimestats.Config{Counts: source.Counts, Read: func([]metrics.Sample) {}})
		defer source.history.Stop()
		p := &program{t: t, page: live.Handler(source, live.Config{})}
		time.Sleep(time.Minute + time.Second) // steps never coincide with a sample
		for _, step := range []struct {
			spans, profiles uint64 // more
			after           time.Duration
			want            string
		}{
			{100, 30, 2 * time.Minute, "perfline lost 130 records in the last 5 minutes, such as spans that failed"},
			{0, 0, 10 * time.Minute, ""},
			{1, 3, 2 * time.Minute, "perfline lost 4 records in the last 5 minutes, such as profiles"},
			{5, 0, 2 * time.Minute, "perfline lost 9 records in the last 5 minutes, such as spans that failed"},
			{0, 0, 10 * time.Minute, ""},
			{0, 7, 0, "perfline lost 7 records in the last 5 minutes"},
		} {
			source.lost.Add(step.spans)
			source.profiles.Add(step.profiles)
			time.Sleep(step.after)
			got := ""
			if all := p.routes("").Health.Concerns; len(all) > 0 {
				got = all[0].Text
			}
			if got != step.want {
				t.Errorf("after %+v, it says %q", step, got)
			}
		}
	})
}

// Without a history, all losses are recent.
func TestHealthWithoutHistory(t *testing.T) {
	source := losing{quiet{recent: requests.NewRecent(requests.Config{})}, nil, new(atomic.Uint64)}
	source.lost.Store(20)
	h := (&program{t: t, page: live.Handler(source, live.Config{})}).routes("").Health
	if len(h.Concerns) != 1 || h.Concerns[0].Text != "perfline lost 20 records in the last 5 minutes, such as spans that failed" {
		t.Errorf("it says %+v, want the losses", h)
	}
}
