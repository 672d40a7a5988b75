package live_test

import (
	"github.com/perfline/perfline"

	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/live"
)

// A watched program has a history of its runtime, and nothing else to show.
type watched struct {
	quiet
	history *runtimestats.History
}

func (w watched) Runtime() *perfline.Runtime { return (*perfline.Runtime)(w.history) }

type runtimeHistory struct {
	Instance   string
	Every      float64
	MaxSamples int
	Samples    []map[string]any
}

// watch serves the page of a program whose history has the samples of some time, in a bubble.
func watch(t *testing.T, c runtimestats.Config, d time.Duration) http.Handler {
	t.Helper()
	h := runtimestats.Start(c)
	t.Cleanup(h.Stop)
	page := live.Handler(watched{quiet{recent: requests.NewRecent(requests.Config{})}, h}, live.Config{})
	time.Sleep(d)
	synctest.Wait()
	return page
}

func readHistory(t *testing.T, page http.Handler, query string) (h runtimeHistory) {
	t.Helper()
	rec := httptest.NewRecorder()
	page.ServeHTTP(rec, ask(http.MethodGet, "data/v1/runtime"+query, ""))
	if rec.Code != http.StatusOK {
		t.Fatalf("%q: status %d, %s", query, rec.Code, rec.Body)
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

// The page's data has all samples, or those after a time. The times of samples are in it as their JSON has them.
func TestRuntimeSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := watch(t, runtimestats.Config{}, 20*time.Second+time.Microsecond/3)
		h := readHistory(t, page, "")
		if h.Instance == "" || h.Every != 5000 || h.MaxSamples != 60 || len(h.Samples) != 5 {
			t.Fatalf("instance %q, every %v ms, at most %d, %d samples", h.Instance, h.Every, h.MaxSamples, len(h.Samples))
		}
		for i, s := range h.Samples {
			if i > 0 && (s["at"].(float64)-h.Samples[i-1]["at"].(float64) != 5000 || s["interval"] != 5000.0) {
				t.Errorf("sample %d is at %v after %v, its interval %v", i, s["at"], h.Samples[i-1]["at"], s["interval"])
			}
			query := fmt.Sprintf("?after=%.3f", s["at"])
			if got := readHistory(t, page, query); len(got.Samples) != 4-i {
				t.Errorf("%s: %d samples, want %d", query, len(got.Samples), 4-i)
			}
		}
		first, second := h.Samples[0], h.Samples[1]
		for _, name := range []string{"allocated", "latencies", "cpu", "gcCycles"} {
			if _, known := first[name]; known {
				t.Errorf("the first sample has %s, a difference", name)
			}
		}
		for _, name := range []string{"heap", "heapGoal", "memory", "allocated", "goroutines", "mutexWait", "processors"} {
			if n, ok := second[name].(float64); !ok || n < 0 {
				t.Errorf("%s is %v", name, second[name])
			}
		}
		for _, after := range []string{"x", "NaN", "1e300", "-Inf"} {
			rec := httptest.NewRecorder()
			page.ServeHTTP(rec, ask(http.MethodGet, "data/v1/runtime?after="+after, ""))
			if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), "after="+after+": must be the time of a sample") {
				t.Errorf("after=%s: status %d, %s", after, rec.Code, rec.Body)
			}
		}
	})
}

// Figures that are not known are not in the JSON, and losses are there by cause.
func TestRuntimeRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := uint64(3)
		page := watch(t, runtimestats.Config{
			Read: func(all []metrics.Sample) {
				for i := range all {
					all[i].Name = "/no/such:metric"
				}
				metrics.Read(all)
			},
			CPUTime: func() time.Duration { return 0 },
			Counts: func() []exporter.Count {
				n *= 2
				return []exporter.Count{{Group: "perfline.entries", Kind: "mark\x00", Name: "overflow", What: "not on the full timeline", N: n, Lost: true}}
			},
		}, 5*time.Second)
		samples := readHistory(t, page, "").Samples
		keys := func(m map[string]any) (all []string) {
			for key := range m {
				all = append(all, key)
			}
			slices.Sort(all)
			return all
		}
		if got, want := keys(samples[0]), []string{"at", "interval", "lost"}; !slices.Equal(got, want) {
			t.Errorf("the first sample has %q, want %q", got, want)
		}
		if got, want := keys(samples[1]), []string{"at", "interval", "losses", "lost", "recorded"}; !slices.Equal(got, want) {
			t.Errorf("the second sample has %q, want %q", got, want)
		}
		loss := samples[1]["losses"].([]any)[0].(map[string]any)
		if samples[1]["lost"] != 6.0 || loss["n"] != 6.0 || loss["kind"] != `mark\u0000` || loss["what"] != "not on the full timeline" {
			t.Errorf("losses are %v", samples[1])
		}
	})
}

// The stream sends all samples at first, and then each new one once.
func TestStreamOfSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := runtimestats.Start(runtimestats.Config{})
		t.Cleanup(history.Stop)
		time.Sleep(11 * time.Second)
		_, events := openQuietly(t, "HTTP/1.1", watched{quiet{recent: requests.NewRecent(requests.Config{})}, history})
		lines := bufio.NewScanner(events)
		lines.Buffer(nil, 1<<20)
		var got []int
		var times []float64
		for len(got) < 4 {
			var h runtimeHistory
			if err := json.Unmarshal([]byte(nextEvent(t, lines, "runtime")), &h); err != nil {
				t.Fatal(err)
			}
			got = append(got, len(h.Samples))
			for _, s := range h.Samples {
				times = append(times, s["at"].(float64))
			}
		}
		if want := []int{3, 1, 1, 1}; !slices.Equal(got, want) {
			t.Errorf("events have %v samples, want %v", got, want)
		}
		for i, at := range times {
			if want := times[0] + float64(i)*5000; math.Abs(at-want) > 0.01 {
				t.Errorf("sample %d is at %v, want %v", i, at, want)
			}
		}
	})
}

// Two handlers are two instances, also of one program: a page notices a restart by that.
func TestInstances(t *testing.T) {
	p := start(t, allowed, live.Config{})
	instance := func() (text string, since float64) {
		var o struct {
			Page struct {
				Instance, Data string
				Started        float64
			}
		}
		p.get("data/v1/overview", http.StatusOK, &o)
		if o.Page.Data != "everything" {
			t.Errorf("its data is %q", o.Page.Data)
		}
		return o.Page.Instance, o.Page.Started
	}
	first, since := instance()
	if again, _ := instance(); again != first || len(first) < 20 || since < 1e12 {
		t.Errorf("the instance is %q since %v, then %q", first, since, again)
	}
	p.page = live.Handler(p.pl, live.Config{})
	if second, _ := instance(); second == first {
		t.Error("another handler is the same instance")
	}
}
