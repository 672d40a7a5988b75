package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go/upstream"
	"github.com/grafana/pyroscope-go/upstream/remote"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/profiling"
)

// TestPyroscopeSelects uploads what a session sampled and asks for the parts of it
// that a span, and a route, took: they are as the session has them, to the nanosecond
// and by function. span_id is enough for that; what clients used to send, profile_id,
// does as well, and both together are one. A trace_id makes a series of each trace.
func TestPyroscopeSelects(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const spans, routes = 6, 2
	sampled := sampleRoutes(ctx, t, spans, routes)
	id, route := labelled("span_id"), labelled("span_name")
	ids, names := values(sampled, "span_id"), values(sampled, "span_name")
	if len(ids) != spans || len(names) != routes {
		t.Fatalf("sampled %d spans of %q, want %d of %d", len(ids), names, spans, routes)
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
			if err := upload(t, pyroscope, service, time.Unix(0, p.TimeNanos), p); err != nil {
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

// TestPyroscopeRefuses holds what a push has to keep to. A refused upload is refused
// whole, with status 400 or 422, also where it is the rate that was exceeded.
func TestPyroscopeRefuses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := ownPyroscope(ctx, t) // for its rate and its number of series are limited
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
	for _, c := range []struct {
		name, tags string
		change     func(*profile.Profile)
		refused    string // empty: it is taken
	}{
		// First, when nothing has used up the rate.
		{"one and a half megabytes", "", comment(3 << 19), ""},
		{"16000 samples", "", samples(16_000), ""},
		{"16001 samples", "", samples(16_001), "exceeds the samples count limit"},
		{"more than two megabytes", "", comment(2 << 20), "push rate limit"},
		{"59 minutes old", "", aged(59 * time.Minute), ""},
		{"61 minutes old", "", aged(61 * time.Minute), "outside of ingestion window"},
		{"9 minutes ahead", "", aged(-9 * time.Minute), ""},
		{"11 minutes ahead", "", aged(-11 * time.Minute), "outside of ingestion window"},
		{"any text as a label", "", label("k", "a,b}{=\"\n\x00€"), ""},
		{"no text as a label", "", label("k", ""), ""},
		{"a long label", "", label("k", strings.Repeat("v", 2048)), ""},
		{"a label too long", "", label("k", strings.Repeat("v", 2049)), "label value too long"},
		{"a label that is not UTF-8", "", label("k", "\xff"), "invalid utf8"},
		{"a label named with a dot", "", label("a.b", "v"), ""},
		{"a label named with a dash", "", label("a-b", "v"), "invalid label name"},
		{"25 tags", tags(25), same, ""},
		{"26 tags", tags(26), same, "has 31 label names; limit 30"},
		{"tags of any text", "{a=ä \"\n{}", same, ""},
		{"a tag named with a dash", "{a-b=v}", same, "character is not allowed"},
		{"tags that differ in a dot", "{a.b=v,a_b=w}", same, "duplicate label name"},
		{"a tag service_name", "{service_name=v}", same, "duplicate label name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := oneSample("f", time.Now())
			p.Sample[0].Label = map[string][]string{"span_name": {"GET /"}}
			c.change(p)
			service := serviceName(t)
			var want map[string]int64
			err := upload(t, b, service+c.tags, time.Unix(0, p.TimeNanos), p)
			switch {
			case c.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("the answer is %v, want %q", err, c.refused)
			case c.refused == "":
				want = byFunction(p, anySample)
			}
			if got := stored(ctx, t, b, backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}); !maps.Equal(got, want) {
				t.Errorf("stored is %v, want %v", got, want)
			}
		})
	}
}

// TestPyroscopeTimes: the time of a profile is its own, not the upload's, and of one
// series there is one profile a millisecond. So the same upload twice counts once, and
// a profile that is sent in parts needs a time for each.
func TestPyroscopeTimes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	at := time.Now().Truncate(time.Millisecond).Add(-30 * time.Minute)
	send := func(service, function string, at time.Time) {
		t.Helper()
		if err := upload(t, pyroscope, service, time.Now(), oneSample(function, at)); err != nil {
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := ownPyroscope(ctx, t)
	service := serviceName(t)
	q := backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)}
	send := func(function string) error {
		now := time.Now()
		return upload(t, b, service, now, oneSample(function, now))
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

// sampleRoutes is the profile of a session in which each of several spans, of routes
// by turns, was sampled some times.
func sampleRoutes(ctx context.Context, t *testing.T, spans, routes int) *profile.Profile {
	t.Helper()
	pl, _, _ := start(t, jaeger, nil)
	session, err := profiling.Start(ctx, profiling.Options{MaxBufferSize: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range spans {
		_, span := pl.TracerProvider().Tracer("test").Start(ctx, fmt.Sprintf("GET /%d", i%routes))
		for before := session.Stats().Samples; session.Stats().Samples < before+10 && ctx.Err() == nil; {
			runtime.KeepAlive(work(rand.IntN(1_000_000)))
		}
		span.End()
	}
	trace, err := session.Stop()
	if err = errors.Join(err, pl.Shutdown(ctx)); err != nil {
		t.Fatal(err)
	}
	p, err := trace.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	return p
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

// upload sends a profile as pyroscope-go does, from being what the upload says of its
// time. It returns what went wrong.
func upload(t *testing.T, b *backend.Pyroscope, name string, from time.Time, p *profile.Profile) error {
	t.Helper()
	var data bytes.Buffer
	if err := p.Write(&data); err != nil {
		t.Fatal(err)
	}
	var failed uploadErrors
	r, err := remote.NewRemote(remote.Config{
		Address: b.URL(), Threads: 1, Logger: &failed,
		// No connection is left over from a process that was killed.
		HTTPClient: &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	r.Upload(&upstream.UploadJob{
		Name: name, StartTime: from, EndTime: from.Add(time.Duration(p.DurationNanos)),
		SpyName: "gospy", SampleRate: 100, Units: "samples", AggregationType: "sum", Format: upstream.FormatPprof, Profile: data.Bytes(),
	})
	r.Flush()
	r.Stop()
	return failed.err
}

// uploadErrors takes the errors of an upload, which are only logged.
type uploadErrors struct{ err error }

func (*uploadErrors) Infof(string, ...any)  {}
func (*uploadErrors) Debugf(string, ...any) {}
func (e *uploadErrors) Errorf(format string, args ...any) {
	e.err = errors.Join(e.err, fmt.Errorf(format, args...))
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

// tags are n tags, as an application's name takes them.
func tags(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("tag%d=v", i))
	}
	return "{" + strings.Join(list, ",") + "}"
}
