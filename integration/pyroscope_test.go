package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/internal/cputime"
	recorded "github.com/perfline/perfline/profiling/profile"
)

// TestPyroscopeSelects pushes a CPU profile and asks for the parts of it that a span, and a route, took. They are equal to
// the parts of the profile, to the nanosecond and by function. The label span_id is enough for that. Its old name
// profile_id does as well, and both together are one. A trace_id makes a series of each trace.
func TestPyroscopeSelects(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const spans, routes = 6, 2
	sampled := sampleRoutes(t, spans, routes)
	id, route := labelled("span_id"), labelled("span_name")
	ids, names := values(sampled, "span_id"), values(sampled, "span_name")
	var want []string
	for i := range spans {
		want = append(want, spanID(i).String())
	}
	if !slices.Equal(ids, want) || len(names) != routes {
		t.Fatalf("the profile has the spans %q of %q, want %q of %d routes", ids, names, want, routes)
	}
	for _, c := range []struct {
		name   string
		change func(labels map[string][]string)
		series int
	}{
		{"span_id", func(l map[string][]string) { delete(l, "trace_id") }, routes},
		{"profile_id", func(l map[string][]string) {
			l["profile_id"] = l["span_id"]
			delete(l, "span_id")
			delete(l, "trace_id")
		}, routes},
		{"both", func(l map[string][]string) { l["profile_id"] = l["span_id"]; delete(l, "trace_id") }, routes},
		{"trace_id", func(map[string][]string) {}, spans},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := sampled.Copy()
			for _, s := range p.Sample {
				if s.Label["span_id"] != nil {
					c.change(s.Label)
				}
			}
			service := serviceName(t)
			if err := pushCPU(ctx, pyroscope, service, nil, p); err != nil {
				t.Fatal(err)
			}
			q := backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}
			if got, want := stored(ctx, t, pyroscope, q), byFunction(sampled, anySample); !maps.Equal(got, want) {
				t.Errorf("the whole is %v, want %v", got, want)
			}
			for _, span := range ids {
				got, err := pyroscope.SpanProfile(ctx, q, span)
				if err != nil {
					t.Fatal(err)
				}
				if want := byFunction(sampled, id(span)); !maps.Equal(got.Self, want) || got.Total != total(want) {
					t.Errorf("span %s is %+v, want %v", span, got, want)
				}
			}
			for _, name := range names {
				q := backend.Query{Labels: fmt.Sprintf("{service_name=%q, span_name=%q}", service, name)}
				if got, want := stored(ctx, t, pyroscope, q), byFunction(sampled, route(name)); !maps.Equal(got, want) {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			if got, err := pyroscope.LabelValues(ctx, q, "span_name"); err != nil || !slices.Equal(got, names) {
				t.Errorf("routes: %q, %v; want %q", got, err, names)
			}
			series, err := pyroscope.Series(ctx, backend.Query{Labels: fmt.Sprintf(`{service_name=%q, span_name!="", __type__="cpu"}`, service)})
			if err != nil || len(series) != c.series {
				t.Errorf("%d series, %v; want %d: %v", len(series), err, c.series, series)
			}
		})
	}
	types, err := pyroscope.ProfileTypes(ctx, backend.Query{})
	if want := "process_cpu:samples:count:cpu:nanoseconds"; err != nil || !slices.Contains(types, backend.CPU) || !slices.Contains(types, want) {
		t.Errorf("types of profiles: %q, %v; want %s and %s among them", types, err, backend.CPU, want)
	}
}

// TestPyroscopeRefuses has the limits of a push, and the status of each refusal. A push is refused whole.
func TestPyroscopeRefuses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := ownPyroscope(ctx, t) // its rate and its number of series are limited
	label := func(key, value string) func(*profile.Profile) {
		return func(p *profile.Profile) { p.Sample[0].Label = map[string][]string{key: {value}} }
	}
	samples := func(n int) func(*profile.Profile) {
		return func(p *profile.Profile) { p.Sample = slices.Repeat(p.Sample[:1], n) }
	}
	comment := func(bytes int) func(*profile.Profile) {
		return func(p *profile.Profile) { p.Comments = []string{strings.Repeat("x", bytes)} }
	}
	aged := func(d time.Duration) func(*profile.Profile) {
		return func(p *profile.Profile) { p.TimeNanos = time.Now().Add(-d).UnixNano() }
	}
	same := func(*profile.Profile) {}
	type tags = map[string]string
	for _, c := range []struct {
		name    string
		tags    tags
		change  func(*profile.Profile)
		refused string // empty: it is taken
	}{
		// First, when nothing has used up the rate.
		{"one and a half megabytes", nil, comment(3 << 19), ""},
		{"16000 samples", nil, samples(16_000), ""},
		{"16001 samples", nil, samples(16_001), "400 exceeds the samples count limit"},
		{"more than two megabytes", nil, comment(2 << 20), "429 push rate limit"},
		{"59 minutes old", nil, aged(59 * time.Minute), ""},
		{"61 minutes old", nil, aged(61 * time.Minute), "400 outside of ingestion window"},
		{"9 minutes ahead", nil, aged(-9 * time.Minute), ""},
		{"11 minutes ahead", nil, aged(-11 * time.Minute), "400 outside of ingestion window"},
		{"any text as a label", nil, label("k", "a,b}{=\"\n\x00€"), ""},
		{"no text as a label", nil, label("k", ""), ""},
		{"a long label", nil, label("k", strings.Repeat("v", 2048)), ""},
		{"a label too long", nil, label("k", strings.Repeat("v", 2049)), "400 label value too long"},
		{"a label that is not UTF-8", nil, label("k", "\xff"), "400 invalid utf8"},
		{"a label named with a dot", nil, label("a.b", "v"), ""},
		{"a label named with a dash", nil, label("a-b", "v"), "400 invalid label name"},
		{"25 tags", many(25), same, ""},
		{"26 tags", many(26), same, "400 has 31 label names; limit 30"},
		{"tags of any text", tags{"a": "ä \"\n,{}="}, same, ""},
		{"a long tag", tags{"a": strings.Repeat("v", 2049)}, same, "400 label value too long"},
		{"a tag that is not UTF-8", tags{"a": "\xff"}, same, "400 invalid label value"},
		{"a tag named with a dash", tags{"a-b": "v"}, same, "400 invalid label name"},
		{"tags that differ in a dot", tags{"a.b": "v", "a_b": "w"}, same, "400 duplicate label name"},
		{"a tag service.name", tags{"service.name": "v"}, same, "400 duplicate label name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := oneSample("f", time.Now())
			p.Sample[0].Label = map[string][]string{"span_name": {"GET /"}}
			c.change(p)
			service := serviceName(t)
			var want map[string]int64
			err := pushCPU(ctx, b, service, c.tags, p)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "":
				if status, why, _ := strings.Cut(c.refused, " "); err == nil || !strings.Contains(err.Error(), "answers "+status) || !strings.Contains(err.Error(), why) {
					t.Errorf("the answer is %v, want %s", err, c.refused)
				}
			case c.refused == "":
				want = byFunction(p, anySample)
			}
			if got := stored(ctx, t, b, backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}); !maps.Equal(got, want) {
				t.Errorf("stored is %v, want %v", got, want)
			}
		})
	}
}

// TestPyroscopeTimes shows that a series has one profile for each millisecond of profiles' own time. Therefore the same
// profile twice counts once, and a profile that is sent in parts needs a time for each.
func TestPyroscopeTimes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	at := time.Now().Truncate(time.Millisecond).Add(-30 * time.Minute)
	send := func(service, function string, at time.Time) {
		t.Helper()
		if err := pushCPU(ctx, pyroscope, service, nil, oneSample(function, at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		second string
		later  time.Duration
		want   map[string]int64
	}{
		{"sent again", "f", 0, map[string]int64{"f": 1}},
		{"another of the same millisecond", "g", time.Microsecond, map[string]int64{"f": 1}},
		{"another a millisecond later", "g", time.Millisecond, map[string]int64{"f": 1, "g": 1}},
		{"another that is older", "g", -time.Minute, map[string]int64{"g": 1, "f": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := serviceName(t)
			send(service, "f", at)
			send(service, c.second, at.Add(c.later))
			q := backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}
			if got := stored(ctx, t, pyroscope, q); !maps.Equal(got, c.want) {
				t.Errorf("stored is %v, want %v", got, c.want)
			}
			q.From, q.To = at.Add(-time.Millisecond), at
			if got := stored(ctx, t, pyroscope, q); got["f"] != 1 {
				t.Errorf("at its own time there is %v, want f", got)
			}
			q.From, q.To = at.Add(2*time.Millisecond), time.Now()
			if got := stored(ctx, t, pyroscope, q); len(got) != 0 {
				t.Errorf("after its own time there is %v, want nothing", got)
			}
		})
	}
}

// TestPyroscopeComesBack: a killed Pyroscope forgets what it had not written, and
// takes profiles again at the same address.
func TestPyroscopeComesBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := ownPyroscope(ctx, t)
	service := serviceName(t)
	q := backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}
	send := func(function string) error {
		return pushCPU(ctx, b, service, nil, oneSample(function, time.Now()))
	}
	if err := send("before"); err != nil {
		t.Fatal(err)
	}
	if got := stored(ctx, t, b, q); got["before"] != 1 {
		t.Fatalf("stored is %v, want before", got)
	}
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := send("meanwhile"); err == nil {
		t.Error("a killed Pyroscope took a profile")
	}
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := send("after"); err != nil {
		t.Fatal(err)
	}
	if got, want := stored(ctx, t, b, q), map[string]int64{"after": 1}; !maps.Equal(got, want) {
		t.Errorf("stored is %v, want %v", got, want)
	}
}

// sampleRoutes returns perfline's CPU profile of several spans, of routes by turns, and of code in no span. Each span
// has samples of two functions, and shares one of them with all others.
func sampleRoutes(t *testing.T, spans, routes int) *profile.Profile {
	t.Helper()
	b := recorded.NewBuilder(nil)
	sample := func(function string, context, n int) {
		for range n {
			b.Add([]*recorded.Call{{Name: function}, {Name: "main.main"}}, recorded.Sample{ContextID: context, Weight: 10*time.Millisecond + time.Duration(n)})
		}
	}
	sample("main.idle", recorded.None, 3)
	for i := range spans {
		context := b.Context(i, func(any) recorded.SampleContext {
			return recorded.SampleContext{TraceID: trace.TraceID{1, byte(i)}, SpanID: spanID(i), SpanName: fmt.Sprintf("GET /%d", i%routes)}
		})
		sample("main.work", context, 4+i)
		sample(fmt.Sprintf("main.only%d", i), context, 2)
	}
	sampled := b.Trace(nil)
	sampled.Engine, sampled.Interval, sampled.Origin, sampled.Stopped = recorded.EngineCPU, 10*time.Millisecond, time.Now().Add(-time.Second), time.Second
	p, err := sampled.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func spanID(i int) trace.SpanID { return trace.SpanID{2, byte(i)} }

// use uses so much CPU time, however long that takes.
func use(ctx context.Context, d time.Duration) {
	for before := cputime.Process(); cputime.Process()-before < d && ctx.Err() == nil; {
		runtime.KeepAlive(work(rand.IntN(1_000_000)))
	}
}

//go:noinline
func work(n int) (x uint64) {
	for x = 88172645463325252; n > 0; n-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// oneSample is a profile of a nanosecond in a function.
func oneSample(function string, at time.Time) *profile.Profile {
	m := &profile.Mapping{ID: 1, HasFunctions: true}
	f := &profile.Function{ID: 1, Name: function}
	l := &profile.Location{ID: 1, Mapping: m, Line: []profile.Line{{Function: f}}}
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1, TimeNanos: at.UnixNano(),
		Mapping: []*profile.Mapping{m}, Function: []*profile.Function{f}, Location: []*profile.Location{l},
		Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1, 1}}},
	}
}

// pushCPU sends a CPU profile of a service with these tags.
func pushCPU(ctx context.Context, b *backend.Pyroscope, service string, tags map[string]string, p *profile.Profile) error {
	labels := map[string]string{"__name__": "process_cpu", "__delta__": "false", "pyroscope_spy": "gospy", "service_name": service}
	maps.Copy(labels, tags)
	return b.Push(ctx, labels, p)
}

// stored is what Pyroscope has, by function.
func stored(ctx context.Context, t *testing.T, b *backend.Pyroscope, q backend.Query) map[string]int64 {
	t.Helper()
	p, err := b.Profile(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	return byFunction(p, anySample)
}

// byFunction sums a profile's last value by the function that ran.
func byFunction(p *profile.Profile, keep func(*profile.Sample) bool) map[string]int64 {
	sums := map[string]int64{}
	for _, s := range p.Sample {
		if keep(s) {
			sums[s.Location[0].Line[0].Function.Name] += s.Value[len(s.Value)-1]
		}
	}
	return sums
}

func anySample(*profile.Sample) bool { return true }

// labelled returns what selects the samples whose label key has a value.
func labelled(key string) func(value string) func(*profile.Sample) bool {
	return func(value string) func(*profile.Sample) bool {
		return func(s *profile.Sample) bool { return slices.Contains(s.Label[key], value) }
	}
}

// values are the values of a label, sorted.
func values(p *profile.Profile, key string) []string {
	var all []string
	for _, s := range p.Sample {
		all = append(all, s.Label[key]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func total(sums map[string]int64) (n int64) {
	for _, v := range sums {
		n += v
	}
	return n
}

// many returns n tags.
func many(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("tag%d", i)] = "v"
	}
	return all
}
