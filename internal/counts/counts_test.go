package counts_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/counts"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/waits"
)

// stats are the counts of all parts.
type stats struct {
	Marks               observer.TypeStats
	Bridge              bridge.Stats
	Requests            map[string]uint64
	Unlabelled          uint64
	Spans, Logs, Points exporter.Stats
	Pyroscope, OTLP     profiling.ExporterStats
	Waits               waits.Stats
	Annotations         counts.AnnotationStats
	Measures            bridge.MeasureStats
}

func (s stats) table() counts.Table {
	return slices.Concat(
		counts.Timeline(observer.Stats{observer.Mark: s.Marks}),
		counts.Bridge(s.Bridge, s.Unlabelled), counts.Requests(s.Requests),
		counts.OTLP("spans", "{span}", "spans", s.Spans),
		counts.OTLP("logs", "{record}", "log records", s.Logs),
		counts.OTLP("metrics", "{point}", "metric points", s.Points),
		counts.Pyroscope(s.Pyroscope), counts.OTLPProfiles(s.OTLP),
		counts.Profiling(s.Pyroscope.ContinuousStats, s.OTLP.ContinuousStats),
		counts.Waits(s.Waits, waits.State{Status: waits.Armed}), counts.Annotations(s.Annotations), counts.Measures(s.Measures),
	)
}

// uints calls f with each count of a struct, and of the structs in it.
func uints(v reflect.Value, f func(reflect.Value)) {
	for i := range v.NumField() {
		switch field := v.Field(i); field.Kind() {
		case reflect.Uint64:
			f(field)
		case reflect.Struct:
			uints(field, f)
		default:
		}
	}
}

// Each count has a name and words of its own, and no count of the parts is missing.
func TestComplete(t *testing.T) {
	var s stats
	var last uint64
	fill := func(f reflect.Value) {
		last++
		f.SetUint(last)
	}
	uints(reflect.ValueOf(&s).Elem(), fill)
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{})
	defer func() { _ = provider.Shutdown(t.Context()) }()
	s.Requests = provider.RequestCounts()
	s.OTLP.ContinuousStats = profiling.ContinuousStats{} // see TestBothProfilings
	missing := map[uint64]bool{}
	uints(reflect.ValueOf(s), func(f reflect.Value) { missing[f.Uint()] = f.Uint() > 0 })
	for word := range s.Requests {
		last++
		s.Requests[word], missing[last] = last, true
	}
	s.OTLP.Refused -= s.OTLP.Unanswered // failed profiles are the sum
	names := map[string]bool{}
	for _, c := range s.table().Rows() {
		name := strings.Join([]string{c.Group, c.Kind, c.Name}, " ")
		if names[name] || c.What == "" || c.Group == "" {
			t.Errorf("%s: twice, or without words: %+v", name, c)
		}
		names[name], missing[c.N] = true, false
	}
	for n, is := range missing {
		if is {
			t.Errorf("the count with %d is missing", n)
		}
	}
}

// Each loss is data that a user misses and finds nowhere else. Bounds that work as documented are no losses.
func TestLosses(t *testing.T) {
	var got []string
	for _, c := range slices.Concat(stats{}.table(), counts.Recent(requests.Stats{}), counts.Sessions(nil)).Rows() {
		if c.Lost {
			got = append(got, strings.TrimRight(c.Group+" "+c.Name, " "))
		}
	}
	want := []string{
		"perfline.entries overflow", "perfline.entries observer_full",
		"perfline.marks after_span_end", "perfline.marks under_noop_span", "perfline.marks over_event_limit",
		"perfline.marks span_never_ended", "perfline.marks timeline_full",
		"perfline.panics", // an output that panics loses what it was given
		"perfline.delivery.spans failed", "perfline.delivery.spans dropped",
		"perfline.delivery.logs failed", "perfline.delivery.logs dropped",
		"perfline.delivery.metrics failed", "perfline.delivery.metrics dropped",
		"perfline.delivery.profiles refused", "perfline.delivery.profiles unanswered", "perfline.delivery.profiles dropped",
		"perfline.delivery.otlp_profiles failed", "perfline.delivery.otlp_profiles dropped",
		"perfline.profiling.failed", "perfline.profiling.lost_samples",
		"perfline.waits.requests failed", // not their snapshots, too
		"perfline.measures panicked",
		"perfline.recent abandoned", // and no late spans, which waited for no request
	}
	if !slices.Equal(got, want) {
		t.Errorf("the losses are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The page has a title for each group of rows.
func TestPageHasTitles(t *testing.T) {
	script, err := os.ReadFile("../../live/page/counters.js")
	if err != nil {
		t.Fatal(err)
	}
	s := stats{}
	s.Pyroscope.Engine = "cpu"
	all := slices.Concat(s.table(), counts.Recent(requests.Stats{}), counts.Sessions(nil))
	for _, c := range all.Rows() {
		if !strings.Contains(string(script), "  '"+c.Group+"': '") {
			t.Errorf("the page has no title for %s", c.Group)
		}
	}
}

// The outcomes of a delivery are of the same things: without the accepted ones, they add up to them.
func TestOutcomesAddUp(t *testing.T) {
	spans := exporter.Stats{Accepted: 100, Delivered: 60, Failed: 20, Unanswered: 5, Dropped: 15, Pending: 5, Retries: 7}
	profiles := profiling.ExporterStats{Accepted: 100, Delivered: 60, Refused: 15, Unanswered: 5, Dropped: 15, Pending: 5, Retries: 7}
	sums := map[string]uint64{}
	for _, c := range (stats{Spans: spans, Pyroscope: profiles, OTLP: profiles}).table().Rows() {
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

// Two ways of continuous profiling see the same gaps, and lose the same samples.
func TestBothProfilings(t *testing.T) {
	want := map[string]uint64{"perfline.profiling.failed": 2, "perfline.profiling.lost_samples": 5, "perfline.profiling.gaps": 3}
	for _, c := range counts.Profiling(
		profiling.ContinuousStats{Failed: 1, LostSamples: 5, Gaps: 2},
		profiling.ContinuousStats{Failed: 2, LostSamples: 4, Gaps: 3},
	).Rows() {
		if n, ok := want[c.Group]; ok && n != c.N {
			t.Errorf("%s is %d, want %d", c.Group, c.N, n)
		}
	}
}
