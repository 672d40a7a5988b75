package perfline_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// Each count has a name and words of its own, and none of those that Stats has is missing.
func TestCountsAreComplete(t *testing.T) {
	s := perfline.Stats{Timeline: observer.Stats{}}
	next := uint64(1)
	fill := func(v reflect.Value) {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Uint64 {
				f.SetUint(next)
				next++
			}
		}
	}
	var mark observer.TypeStats
	fill(reflect.ValueOf(&mark).Elem())
	s.Timeline[observer.Mark] = mark
	fill(reflect.ValueOf(&s.Bridge).Elem())
	fill(reflect.ValueOf(&s.Delivery).Elem())
	fill(reflect.ValueOf(&s.Logs).Elem())
	fill(reflect.ValueOf(&s.Metrics).Elem())
	fill(reflect.ValueOf(&s.Profiles).Elem())
	// They stand for those of OTLPProfiles, too: see TestBothProfilings.
	fill(reflect.ValueOf(&s.Profiles.ContinuousStats).Elem())
	fill(reflect.ValueOf(&s.OTLPProfiles).Elem())
	s.OTLPProfiles.Refused -= s.OTLPProfiles.Unanswered // the count of failed profiles is the sum
	fill(reflect.ValueOf(&s.Waits).Elem())
	fill(reflect.ValueOf(&s.Measures).Elem())
	s.UnlabelledSpans = next
	next++
	names, numbers := map[string]bool{}, map[uint64]bool{}
	for _, c := range s.Counts() {
		name := strings.Join([]string{c.Group, c.Kind, c.Name}, " ")
		if names[name] || c.What == "" || c.Group == "" {
			t.Errorf("%s: twice, or without words: %+v", name, c)
		}
		names[name], numbers[c.N] = true, true
	}
	for n := range next {
		if n > 0 && !numbers[n] {
			t.Errorf("the count with %d is missing", n)
		}
	}
}

// A panic of an observer's callback is a count.
func TestCountOfPanics(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	pl, ctx, _ := start(t, perfline.Config{Timeline: tl})
	if _, err := tl.Observe(func(observer.List) { panic("callback") }, observer.Options{Type: observer.Mark}); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "m")
	tl.Deliver()
	for _, c := range pl.Counts() {
		if c.Group == "perfline.panics" && (c.N != 1 || !c.Lost) {
			t.Errorf("the count is %+v, want 1, lost", c)
		}
	}
	if n := pl.Stats().Bridge.Panics; n != 1 {
		t.Errorf("%d panics are counted, want 1", n)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}

// The page has a title for each group of counts.
func TestPageHasTitlesOfCounts(t *testing.T) {
	script, err := os.ReadFile("live/page/counters.js")
	if err != nil {
		t.Fatal(err)
	}
	s := perfline.Stats{Timeline: observer.Stats{observer.Mark: {}}}
	s.Profiles.Engine = "cpu"
	pl, _, _ := start(t, perfline.Config{})
	for _, c := range append(s.Counts(), pl.Counts()...) {
		if !strings.Contains(string(script), "  '"+c.Group+"': '") {
			t.Errorf("the page has no title for %s", c.Group)
		}
	}
}

// The outcomes of a delivery are of the same things: without the accepted ones, they add up to them.
func TestOutcomesAddUp(t *testing.T) {
	s := perfline.Stats{
		Delivery: exporter.Stats{Accepted: 100, Delivered: 60, Failed: 20, Unanswered: 5, Dropped: 15, Pending: 5, Retries: 7},
		Profiles: profiling.ExporterStats{Accepted: 100, Delivered: 60, Refused: 10, Unanswered: 10, Dropped: 15, Pending: 5, Retries: 7},

		OTLPProfiles: profiling.ExporterStats{Accepted: 100, Delivered: 60, Refused: 15, Unanswered: 5, Dropped: 15, Pending: 5, Retries: 7},
	}
	sums := map[string]uint64{}
	for _, c := range s.Counts() {
		if c.Name != "accepted" {
			sums[c.Group] += c.N
		}
	}
	for group, want := range map[string]uint64{
		"perfline.delivery.spans": 100, "perfline.delivery.spans.unanswered": 5, "perfline.delivery.spans.retries": 7,
		"perfline.delivery.profiles": 100, "perfline.delivery.profiles.retries": 7,
		"perfline.delivery.otlp_profiles": 100, "perfline.delivery.otlp_profiles.unanswered": 5, "perfline.delivery.otlp_profiles.retries": 7,
	} {
		if got := sums[group]; got != want {
			t.Errorf("%s: the outcomes are %d, want %d", group, got, want)
		}
	}
}

// A pipeline lists no counts of parts that it does not have.
func TestCountsOfWhatExists(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{})
	for _, c := range pl.Counts() {
		if strings.HasPrefix(c.Group, "perfline.delivery") || strings.HasPrefix(c.Group, "perfline.profil") {
			t.Errorf("without a backend there is %+v", c)
		}
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}
