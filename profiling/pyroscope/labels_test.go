package pyroscope

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/environ"
)

// refusal returns why the server would refuse a sample's labels in a series with these tags, "" if it would not. Its
// rules are in ValidateLabels of Pyroscope's pkg/validation. pkg/model/pprof_split makes the labels.
func refusal(tags map[string]string, labels map[string][]string) string {
	all := map[string]string{"__name__": "x", "__delta__": "false", "__order__": "x", "service_name": "app", "pyroscope_spy": spyName, "__session_id__": "0"}
	if len(all) != ownLabels {
		return "the test is wrong"
	}
	for name, value := range tags {
		all[name] = value
	}
	for name, values := range labels {
		if name == labelSpanID || all[name] != "" || len(values) == 0 || values[0] == "" {
			continue
		}
		all[name] = values[0]
	}
	if len(all) > maxSeriesLabels {
		return fmt.Sprintf("%d labels", len(all))
	}
	seen := map[string]bool{}
	for name, value := range all {
		clean := strings.ReplaceAll(name, ".", "_")
		switch {
		case name == "" || len(name) > 1024 || isDigit(rune(name[0])) || strings.ContainsFunc(clean, func(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '_' }):
			return fmt.Sprintf("name %q", name)
		case seen[clean]:
			return fmt.Sprintf("name %q twice", clean)
		case len(value) > 2048 || !utf8.ValidString(value):
			return fmt.Sprintf("value %q", value)
		}
		seen[clean] = true
	}
	return ""
}

func TestFitLabels(t *testing.T) {
	long := strings.Repeat("é", 1024) + "é"
	many := map[string][]string{labelSpanID: {"00"}, labelSpanName: {"GET /"}, labelTraceID: {"01"}}
	wantMany := map[string][]string{labelSpanID: {"00"}, labelSpanName: {"GET /"}}
	for i := range 20 {
		name := fmt.Sprintf("l%02d", i)
		many[name] = []string{"x"}
		if i < 10 {
			wantMany[name] = []string{"x"}
		}
	}
	type labels = map[string][]string
	for _, c := range []struct {
		name  string
		fit   fitter
		given labels
		want  labels
	}{
		{"none", newFitter(0, false), nil, labels{}},
		{"a span's", newFitter(0, false), labels{"span_id": {"00"}, "span_name": {"GET /"}, "trace_id": {"01"}}, labels{"span_id": {"00"}, "span_name": {"GET /"}}},
		{"with the trace", newFitter(0, true), labels{"span_id": {"00"}, "trace_id": {"01"}}, labels{"span_id": {"00"}, "trace_id": {"01"}}},
		{"without ids", fitter{room: 9}, labels{"span_id": {"00"}, "span_name": {"n"}, "trace_id": {"01"}}, labels{"span_name": {"n"}}},
		{"names", newFitter(0, false), labels{"http.route": {"a"}, "1st": {"b"}, "__x": {"c"}, "é-è": {"d"}, "": {"e"}, "ok_1": {"f"}},
			labels{"http_route": {"a"}, "_1st": {"b"}, "_x": {"c"}, "_": {"d"}, "ok_1": {"f"}}},
		{"reserved names", newFitter(0, true), labels{"service_name": {"a"}, "service.name": {"b"}, "profile_id": {"c"}, "span.id": {"d"}, "pyroscope_spy": {"e"}}, labels{}},
		{"equal names", newFitter(0, false), labels{"a.b": {"first"}, "a_b": {"second"}, "a b": {""}}, labels{"a_b": {"first"}}},
		{"values", newFitter(0, false), labels{"empty": {""}, "none": {}, "two": {"a", "b"}, "bytes": {"a\xff\xfe"}, "long": {long}, "any": {"a,b}{=\x00"}},
			labels{"two": {"a"}, "bytes": {"a\uFFFD"}, "long": {long[:2048]}, "any": {"a,b}{=\x00"}}},
		{"too many", newFitter(0, false), many, wantMany},
		{"as many as a series has room for", newFitter(20, true), labels{"a": {"x"}, "b": {"x"}, "c": {"x"}, "span_name": {"n"}, "trace_id": {"01"}, "span_id": {"00"}},
			labels{"a": {"x"}, "b": {"x"}, "span_name": {"n"}, "trace_id": {"01"}, "span_id": {"00"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.fit.labels(c.given)
			if !maps.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("%v became %v, want %v", c.given, got, c.want)
			}
		})
	}
}

// Samples that share their labels still do, and each has its own's.
func TestFitProfile(t *testing.T) {
	shared := map[string][]string{"a.b": {"x"}}
	p := &profile.Profile{
		Sample: []*profile.Sample{
			{Label: shared}, {Label: map[string][]string{"c": {"y"}}}, {Label: shared}, {},
		},
		Function: []*profile.Function{{Name: "f\xff", Filename: "\xfe.go"}},
	}
	newFitter(0, false).fit(p)
	var got []string
	for _, s := range p.Sample {
		got = append(got, fmt.Sprint(s.Label))
	}
	if want := []string{"map[a_b:[x]]", "map[c:[y]]", "map[a_b:[x]]", "map[]"}; !slices.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
	if f := p.Function[0]; f.Name != "f\uFFFD" || f.Filename != "\uFFFD.go" {
		t.Errorf("function %q in %q", f.Name, f.Filename)
	}
	if shared["a.b"] == nil {
		t.Error("the labels given were changed")
	}
}

// Whatever a program labels its goroutines with, the server takes it.
func TestLabelsAreNeverRefused(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c_.0-9é-]{0,5}`),
		rapid.SampledFrom([]string{"service_name", "service.name", "span_id", "span_name", "trace_id", "profile_id", "__name__", "pyroscope_spy", strings.Repeat("n", 1025)}))
	value := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.IntRange(2040, 2060), func(n int) string { return strings.Repeat("é", n/2) + strings.Repeat("x", n%2) }))
	rapid.Check(t, func(t *rapid.T) {
		tags := rapid.MapOfN(rapid.StringMatching(`[a-c]{1,3}`), rapid.StringMatching(`[a-z]{1,3}`), 0, maxTags+len(fromResource)).Draw(t, "tags")
		given := rapid.MapOfN(name, rapid.SliceOfN(value, 0, 2), 0, 40).Draw(t, "labels")
		fit := newFitter(len(tags), rapid.Bool().Draw(t, "traceIDs"))
		got := fit.labels(given)
		if why := refusal(tags, got); why != "" {
			t.Fatalf("labels %q became %q, which the server refuses: %s", given, got, why)
		}
		if len(got) > maxSampleLabels {
			t.Fatalf("%d labels, want at most %d", len(got), maxSampleLabels)
		}
	})
}

func FuzzLabels(f *testing.F) {
	f.Add("a.b", "x", "a_b", "\xff", 3)
	f.Add("__name__", strings.Repeat("é", 1025), "1", "", 19)
	f.Add(strings.Repeat("9", 1024), "x", "service.name", ",}", 0)
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, tags int) {
		series := map[string]string{}
		for i := range min(max(tags, 0), maxTags+len(fromResource)) {
			series[fmt.Sprintf("t%d", i)] = "x"
		}
		got := newFitter(len(series), true).labels(map[string][]string{name1: {value1}, name2: {value2}})
		if why := refusal(series, got); why != "" {
			t.Fatalf("%q=%q and %q=%q became %q, which the server refuses: %s", name1, value1, name2, value2, got, why)
		}
	})
}

// The server takes whatever Start takes from a resource or a variable.
func FuzzSeries(f *testing.F) {
	f.Add("shop", "a=b,c.d=e", "1.2")
	f.Add("", "__a=b", "\xff,}")
	f.Add(strings.Repeat("x", 2049), "service_version=", strings.Repeat("é", 2000))
	f.Fuzz(func(t *testing.T, app, labels, version string) {
		inherited, err := parseTags(labels)
		if err != nil {
			return
		}
		c := Config{ServerAddress: "http://h", Tags: inherited, Resource: resource.NewSchemaless(attribute.String("service.name", app), attribute.String("service.version", version))}
		_, tags, err := c.resolve(continuous.Environment{Vars: environ.NewReader(slog.New(slog.DiscardHandler))})
		if err != nil {
			return
		}
		series := seriesLabels(c.ApplicationName, "0f", tags)
		if series["service_name"] == "" || len(series) != len(tags)+4 {
			t.Fatalf("series %q of tags %q", series, tags)
		}
		if why := refusal(series, nil); why != "" {
			t.Fatalf("series %q, which the server refuses: %s", series, why)
		}
	})
}
