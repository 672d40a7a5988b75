package keep_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/text"
)

// newKeeper returns a keeper and the keeper's table. The table has the rule of a provider with or without a waits recorder.
func newKeeper(p keep.Policy, explained bool) (*keep.Keeper, *routes.Table) {
	table := routes.NewTable(routes.Config{})
	table.SetSlowRule(p.SlowRule(explained))
	return keep.New(p, table), table
}

// The first reason that holds counts. A request is slow for its own threshold, whatever the reason.
func TestDecide(t *testing.T) {
	slow := keep.Policy{Routes: map[string]time.Duration{"GET /own": time.Minute, "GET /never": -1}}
	without := keep.Policy{Share: 1, WithoutFailed: true}
	keptSlow := keep.Decision{Reason: local.KeptForTime, Slow: true}
	for name, c := range map[string]struct {
		policy keep.Policy
		keep.Request
		want keep.Decision
	}{
		"no reason":       {slow, keep.Request{Took: time.Second - 1}, keep.Decision{}},
		"slow":            {slow, keep.Request{Took: time.Second}, keptSlow},
		"fast for itself": {slow, keep.Request{Name: "GET /own", Took: time.Second}, keep.Decision{}},
		"slow for itself": {slow, keep.Request{Name: "GET /own", Took: time.Minute}, keptSlow},
		"never slow":      {slow, keep.Request{Name: "GET /never", Took: time.Hour}, keep.Decision{}},
		"stream":          {slow, keep.Request{Class: local.Stream, Took: time.Hour}, keep.Decision{}},
		"failed": {slow, keep.Request{Took: time.Hour, Failed: true, ErrorInside: true},
			keep.Decision{Reason: local.KeptForFailure, Slow: true}},
		"slow inside another request": {slow, keep.Request{Class: local.Inner, Took: time.Second}, keep.Decision{Slow: true}},
		"slow inside, one of a share": {keep.Policy{Share: 1}, keep.Request{Class: local.Inner, Took: time.Second},
			keep.Decision{Reason: local.KeptForShare, Slow: true}},
		"failed stream": {slow, keep.Request{Class: local.Stream, Failed: true}, keep.Decision{Reason: local.KeptForFailure}},
		"chosen": {slow, keep.Request{Failed: true, ErrorInside: true, Chosen: true},
			keep.Decision{Reason: local.KeptForProgram}},
		"error inside":           {slow, keep.Request{ErrorInside: true}, keep.Decision{Reason: local.KeptForErrorInside}},
		"error inside, and slow": {slow, keep.Request{Took: time.Second, ErrorInside: true}, keptSlow},
		"error inside, before the share": {keep.Policy{Share: 1}, keep.Request{ErrorInside: true},
			keep.Decision{Reason: local.KeptForErrorInside}},
		"share":                              {without, keep.Request{}, keep.Decision{Reason: local.KeptForShare}},
		"failures are no reason":             {without, keep.Request{Failed: true}, keep.Decision{Reason: local.KeptForShare}},
		"errors inside are no reason either": {without, keep.Request{ErrorInside: true}, keep.Decision{Reason: local.KeptForShare}},
	} {
		t.Run(name, func(t *testing.T) {
			k, _ := newKeeper(c.policy, false)
			if got := k.Decide(&c.Request); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A second's requests may be kept at once, and then one in each interval.
func TestDecideUnderACeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _ := newKeeper(keep.Policy{PerSecond: 2}, false)
		kept := local.KeptForProgram
		for i, want := range []local.KeepReason{kept, kept, local.NotKept, kept, local.NotKept} {
			if i == 3 {
				time.Sleep(time.Second / 2)
			}
			d := k.Decide(&keep.Request{Chosen: true})
			if d.Reason != want || (d.OverCeiling == kept) != (want == local.NotKept) {
				t.Errorf("request %d: %+v, want %v", i, d, want)
			}
		}
	})
}

// An error inside over its ceiling is counted as such. The request may still belong to the share.
func TestDecideOverTheCeilingOfErrorsInside(t *testing.T) {
	for name, c := range map[string]struct {
		policy keep.Policy
		want   []keep.Decision
	}{
		"at least one": {keep.Policy{PerSecond: 1}, []keep.Decision{{Reason: local.KeptForErrorInside}, {OverCeiling: local.KeptForErrorInside}}},
		"a quarter": {keep.Policy{PerSecond: 8},
			[]keep.Decision{{Reason: local.KeptForErrorInside}, {Reason: local.KeptForErrorInside}, {OverCeiling: local.KeptForErrorInside}}},
		"the share": {keep.Policy{PerSecond: 1, Share: 1},
			[]keep.Decision{{Reason: local.KeptForErrorInside}, {Reason: local.KeptForShare}, {OverCeiling: local.KeptForShare}}},
		"none": {keep.Policy{PerSecond: -1}, []keep.Decision{{Reason: local.KeptForErrorInside}, {Reason: local.KeptForErrorInside}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, _ := newKeeper(c.policy, false)
				for i, want := range c.want {
					if got := k.Decide(&keep.Request{ErrorInside: true}); got != want {
						t.Errorf("request %d: %+v, want %+v", i, got, want)
					}
				}
			})
		})
	}
}

// Requests with only an error inside change no decision about other requests. Each ceiling admits at most its number
// in a second, and what the second before left. A ceiling refuses nothing that comes an interval after the last one.
func TestCeilingsAgainstModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
			p := keep.Policy{PerSecond: rapid.SampledFrom([]int{0, 1, 3, 8, 40, 1000}).Draw(t, "ceiling")}
			n := map[bool]int{false: p.PerSecond}
			if n[false] == 0 {
				n[false] = 20
			}
			n[true] = max(1, n[false]/4)
			all, _ := newKeeper(p, false)
			others, _ := newKeeper(p, false)
			kept := map[bool][]time.Time{} // by whether only an error inside is the reason
			for i := range rapid.IntRange(1, 300).Draw(t, "requests") {
				time.Sleep(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 10, 100, 400, 3000}).Draw(t, "ms")) * time.Millisecond)
				q := keep.Request{
					Took:   rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second}).Draw(t, "took"),
					Failed: rapid.IntRange(0, 9).Draw(t, "failed") == 0, ErrorInside: rapid.Bool().Draw(t, "inside"),
				}
				got, inside := all.Decide(&q), q.ErrorInside && !q.Failed && q.Took == 0
				if !inside {
					if want := others.Decide(&q); got != want {
						t.Fatalf("request %d: %+v, and %+v without the errors inside", i, got, want)
					}
				}
				before := kept[inside]
				interval := time.Second / time.Duration(n[inside])
				switch {
				case got.Reason != local.NotKept:
					kept[inside] = append(before, time.Now())
				case got.OverCeiling != local.NotKept && (len(before) == 0 || time.Since(before[len(before)-1]) >= interval):
					t.Fatalf("request %d: %+v is refused, and the last of its kind is an interval of %v ago", i, q, interval)
				case got.OverCeiling != local.NotKept && inside != (got.OverCeiling == local.KeptForErrorInside):
					t.Fatalf("request %d: %+v is refused for %v", i, q, got.OverCeiling)
				}
			}
			for inside, at := range kept {
				for i := range at {
					for j := i; j < len(at); j++ {
						if most := float64(n[inside]) * (at[j].Sub(at[i]).Seconds() + 1); float64(j-i+1) > most+1e-3 {
							t.Fatalf("errors inside %t: %d requests are kept in %v, want %v at most", inside, j-i+1, at[j].Sub(at[i]), most)
						}
					}
				}
			}
		})
	})
}

// quantiles yields n durations of a distribution, each quantile once, in an order without patterns.
func quantiles(n int, of func(u float64) time.Duration) (all []time.Duration) {
	for i := range n {
		_, u := math.Modf((float64(i) + 0.5) * (math.Sqrt(5) - 1) / 2)
		all = append(all, of(u))
	}
	return all
}

// logNormal returns durations with a median, whose logarithm has a standard deviation.
func logNormal(median time.Duration, deviation float64) func(float64) time.Duration {
	return func(u float64) time.Duration {
		return time.Duration(float64(median) * math.Exp(deviation*math.Sqrt2*math.Erfinv(2*u-1)))
	}
}

// With a recorder of waits, a service whose requests never take the fixed threshold has slow requests. However long the tail
// of its durations is, at most one request in 20 is slow: the recorder and the ceiling get few.
func TestSlowShareOfLongTails(t *testing.T) {
	const n = 8192
	for _, c := range []struct {
		name  string
		some  bool // there are slow requests
		below bool // no request takes the fixed threshold
		of    func(u float64) time.Duration
	}{
		{"the same", false, true, func(float64) time.Duration { return 100 * time.Millisecond }},
		{"fast", false, true, logNormal(500*time.Microsecond, 1)},
		{"a p99 of 0.2 s", true, true, logNormal(20*time.Millisecond, 1)},
		{"a long tail", true, false, logNormal(20*time.Millisecond, 2)},
		{"Pareto", true, false, func(u float64) time.Duration { return time.Duration(float64(5*time.Millisecond) / (1 - u)) }},
		{"4 % are slow", true, true, func(u float64) time.Duration {
			if u < 0.04 {
				return 900 * time.Millisecond
			}
			return 20 * time.Millisecond
		}},
		{"6 % are usual", false, true, func(u float64) time.Duration {
			if u < 0.06 {
				return 900 * time.Millisecond
			}
			return 20 * time.Millisecond
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, table := newKeeper(keep.Policy{}, true)
				slow, fixed := 0, 0
				for i, took := range quantiles(n, c.of) {
					time.Sleep(10 * time.Millisecond)
					if took >= time.Second {
						fixed++
					}
					if d := k.Decide(&keep.Request{Name: "GET /", Took: took}); d.Slow && i >= 256 {
						slow++
					}
					now := time.Now()
					table.Add(local.Root{Name: "GET /", Start: now.Add(-took), End: now})
				}
				if slow > n/20 || (slow > 0) != c.some || (fixed == 0) != c.below {
					t.Errorf("of %d requests, %d are slow and %d take a second", n, slow, fixed)
				}
			})
		})
	}
}

// When all requests of a route take ten times as long, they are slow until one in 20 of the last minutes does: then this is
// what is usual.
func TestSlowBecomesUsual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, table := newKeeper(keep.Policy{}, true)
		slow := 0
		serve := func(n int, took time.Duration) {
			for range n {
				time.Sleep(10 * time.Millisecond)
				if k.Decide(&keep.Request{Name: "GET /", Took: took}).Slow {
					slow++
				}
				now := time.Now()
				table.Add(local.Root{Name: "GET /", Start: now.Add(-took), End: now})
			}
		}
		serve(4000, 40*time.Millisecond)
		serve(4000, 400*time.Millisecond)
		if slow < 4000/20 || slow > 4000/20+200 {
			t.Errorf("%d of 4000 requests are slow, want about those of 5 %% of the requests before", slow)
		}
	})
}

// What the program sets stays in force: the default factor is for routes without a threshold of the program.
func TestSlowRule(t *testing.T) {
	own := map[string]time.Duration{"GET /own": time.Minute}
	for _, c := range []struct {
		name      string
		policy    keep.Policy
		explained bool
		want      string
	}{
		{"nothing set", keep.Policy{}, true, "slow from 98 ms (3 × the usual 33 ms)"},
		{"nothing set, and nobody asks", keep.Policy{}, false, "slow from 1.0 s"},
		{"a threshold", keep.Policy{Slow: 300 * time.Millisecond}, true, "slow from 300 ms"},
		{"a second", keep.Policy{Slow: time.Second}, true, "slow from 1.0 s"},
		{"no threshold", keep.Policy{Slow: -1}, true, "never slow"},
		{"a factor", keep.Policy{Factor: 4}, true, "slow from 131 ms (4 × the usual 33 ms)"},
		{"a factor, and nobody asks", keep.Policy{Factor: 4}, false, "slow from 131 ms (4 × the usual 33 ms)"},
		{"a threshold of the route", keep.Policy{Routes: map[string]time.Duration{"GET /": time.Minute}}, true, "slow from 60 s"},
		{"a threshold of another route", keep.Policy{Routes: own}, true, "slow from 98 ms (3 × the usual 33 ms)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, table := newKeeper(c.policy, c.explained)
				now := time.Now()
				for range 128 {
					table.Add(local.Root{Name: "GET /", Start: now.Add(-32768 * time.Microsecond), End: now})
				}
				if got, _ := table.SlowFrom(local.Request, "GET /"); got.String() != c.want {
					t.Errorf("got %q, want %q", got.String(), c.want)
				}
			})
		})
	}
}

// The documents state the defaults, and lead to each other.
func TestDocumentedDefaults(t *testing.T) {
	rule := keep.Policy{}.SlowRule(true)
	const second = time.Second
	if rule.Fixed != second {
		t.Errorf("the fixed threshold is %v, and the documents call it a second", rule.Fixed)
	}
	sentence := fmt.Sprintf("%v times the usual duration of its route, but at least %s", rule.Factor, text.Length(rule.Floor))
	for file, all := range map[string][]string{
		"../../docs/keep.md":          {sentence, "(waits.md)"},
		"../../docs/waits.md":         {sentence, "(keep.md"},
		"../../bridge/keep_policy.go": {fmt.Sprintf("Factor is %v", rule.Factor), "at least " + text.Length(rule.Floor)},
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(strings.ReplaceAll(string(content), "//", "")), " ")
		for _, want := range all {
			if !strings.Contains(words, want) {
				t.Errorf("%s lacks %q", file, want)
			}
		}
	}
}
