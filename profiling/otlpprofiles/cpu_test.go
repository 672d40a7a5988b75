package otlpprofiles

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling/profile"
)

var (
	traceID = trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	spanID  = trace.SpanID{0xa, 0xb, 0xc, 0xd, 0xe, 0xf, 1, 2}
)

func shop() *resource.Resource {
	return resource.NewWithAttributes("https://opentelemetry.io/schemas/1.43.0", attribute.String("service.name", "shop"), attribute.Int("process.pid", 7))
}

// encodeCPU returns the requests of CPU samples, each at most so long if possible.
func encodeCPU(e *encoder, limit int, c continuous.CPU) (all []request) {
	e.limit = limit
	e.cpu(c, func(r request) { all = append(all, r) })
	return all
}

func TestCPUProfile(t *testing.T) {
	b := profile.NewBuilder(nil)
	work := &profile.Call{Name: "main.work", File: "main.go", StartLine: 10, Line: 12}
	again := &profile.Call{Name: "main.work", File: "main.go", StartLine: 10, Line: 13}
	main := &profile.Call{Name: "main.main", File: "main.go", StartLine: 20, Line: 22}
	ran := b.Context("request", func(any) profile.SampleContext {
		return profile.SampleContext{TraceID: traceID, SpanID: spanID, SpanName: "GET /", Labels: []profile.Label{{Key: "tenant", Value: "a\xff"}, {Key: "span_id", Value: "x"}, {Key: "span_name", Value: "y"}}}
	})
	add := func(at time.Duration, context int, weight time.Duration, stack ...*profile.Call) {
		b.Add(stack, profile.Sample{Timestamp: at, ContextID: context, Weight: weight})
	}
	add(2*time.Second, ran, 10*time.Millisecond, work, main)
	add(3*time.Second, ran, 20*time.Millisecond, work, main)
	add(3*time.Second, profile.None, 10*time.Millisecond, work, main)
	add(4*time.Second, profile.None, 10*time.Millisecond, again, main)
	add(5*time.Second, profile.None, 10*time.Millisecond)
	tr := b.Trace(nil)
	tr.Interval, tr.Engine, tr.Started, tr.Stopped = 10*time.Millisecond, profile.EngineCPU, time.Second, 5*time.Second
	tr.Stats.BusyGaps, tr.Stats.BusyTime, tr.Stats.Lost = 1, time.Second, 3
	end := time.Unix(1_000_000, 5)

	requests := encodeCPU(newEncoder(shop(), thisProgram()), maxRequest, continuous.CPU{Trace: tr, Factor: 1.5, End: end})
	if len(requests) != 1 || requests[0].count != 1 {
		t.Fatalf("%d requests, want one with one profile", len(requests))
	}
	data, all := decode(t, requests[0].body)
	r := data.GetResourceProfiles()[0]
	if r.GetSchemaUrl() != "https://opentelemetry.io/schemas/1.43.0" || len(r.GetResource().GetAttributes()) != 2 || r.GetScopeProfiles()[0].GetScope().GetName() != "github.com/perfline/perfline" {
		t.Errorf("the resource is %v, the scope %v", r.GetResource(), r.GetScopeProfiles()[0].GetScope())
	}
	p := all[0]
	from := end.Add(-4 * time.Second).UnixNano()
	if p.typ != "cpu/nanoseconds" || p.periodType != "cpu/nanoseconds" || p.period != int64(10*time.Millisecond) || p.time != uint64(from) || p.duration != uint64(4*time.Second) {
		t.Errorf("the profile is %+v", p)
	}
	if want := "perfline.profile.kind=cpu pprof.profile.comment=other code in the process had the CPU profiler for 1s of 4s, 1 times: nothing was sampled then,3 samples were lost"; p.attributes != want {
		t.Errorf("its attributes are %q, want %q", p.attributes, want)
	}
	at := func(d time.Duration) uint64 { return uint64(from) + uint64(d) }
	const stack = "main.work@10 main.go:12; main.main@20 main.go:22"
	want := []decodedSample{
		{stack, "span_name=GET / tenant=a\uFFFD", "0102030405060708090a0b0c0d0e0f10/0a0b0c0d0e0f0102", []int64{15e6, 30e6}, []uint64{at(time.Second), at(2 * time.Second)}},
		{stack, "", "", []int64{15e6}, []uint64{at(2 * time.Second)}},
		{"main.work@10 main.go:13; main.main@20 main.go:22", "", "", []int64{15e6}, []uint64{at(3 * time.Second)}},
		{"[no stack]@0 :0", "", "", []int64{15e6}, []uint64{at(4*time.Second) - 1}}, // within the profile
	}
	if got := fmt.Sprint(p.samples); got != fmt.Sprint(want) {
		t.Errorf("samples\n%v, want\n%v", got, want)
	}
	if types := frameTypes(data); types != "main.main=go main.work=go main.work=go" {
		t.Errorf("frame types are %s", types)
	}
}

// Samples without a time of their own are added up.
func TestCPUProfileOfWindows(t *testing.T) {
	b := profile.NewBuilder(nil)
	work := []*profile.Call{{Name: "main.work"}}
	for range 3 {
		b.Add(work, profile.Sample{ContextID: profile.None, Weight: 10 * time.Millisecond})
	}
	tr := b.Trace(nil)
	tr.Engine, tr.Stopped = profile.EngineWindow, time.Second
	for _, r := range encodeCPU(newEncoder(nil, thisProgram()), maxRequest, continuous.CPU{Trace: tr, Factor: 1, End: time.Unix(9, 0)}) {
		_, all := decode(t, r.body)
		if s := all[0].samples; len(s) != 1 || len(s[0].times) != 0 || s[0].values[0] != int64(30*time.Millisecond) {
			t.Errorf("samples %v, want one of 30ms without times", s)
		}
	}
}

// drawTrace makes a trace, and the sums and times that its profile has to have.
func drawTrace(t *rapid.T) continuous.CPU {
	b := profile.NewBuilder(nil)
	name := rapid.SampledFrom([]string{"", "main.f", "main.(*T[...]).g", "\xff", "\xfe", strings.Repeat("n", 300)})
	var calls []*profile.Call
	for range rapid.IntRange(1, 12).Draw(t, "calls") {
		calls = append(calls, &profile.Call{Name: name.Draw(t, "name"), File: name.Draw(t, "file"), StartLine: rapid.IntRange(0, 3).Draw(t, "start"), Line: rapid.IntRange(0, 3).Draw(t, "line")})
	}
	label := rapid.Custom(func(t *rapid.T) profile.Label {
		return profile.Label{Key: rapid.OneOf(rapid.SampledFrom([]string{"span_id", "span_name", "a\xff", "a\xfe", ""}), rapid.StringN(0, 3, -1)).Draw(t, "key"), Value: rapid.String().Draw(t, "value")}
	})
	contexts := []int{profile.None}
	for i := range rapid.IntRange(0, 4).Draw(t, "contexts") {
		contexts = append(contexts, b.Context(i, func(any) profile.SampleContext {
			c := profile.SampleContext{Labels: rapid.SliceOfNDistinct(label, 0, 20, func(l profile.Label) string { return l.Key }).Draw(t, "labels")}
			if rapid.Bool().Draw(t, "span") {
				c.SpanID, c.SpanName = trace.SpanID{byte(rapid.IntRange(1, 3).Draw(t, "id"))}, name.Draw(t, "span name")
				c.TraceID[0] = byte(rapid.IntRange(0, 2).Draw(t, "trace"))
			}
			return c
		}))
	}
	at := time.Duration(0)
	for range rapid.IntRange(1, 60).Draw(t, "samples") {
		at += time.Duration(rapid.IntRange(0, 1000).Draw(t, "pause"))
		b.Add(rapid.SliceOfN(rapid.SampledFrom(calls), 0, 6).Draw(t, "stack"),
			profile.Sample{Timestamp: at, ContextID: rapid.SampledFrom(contexts).Draw(t, "context"), Weight: time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "weight"))})
	}
	tr := b.Trace(nil)
	tr.Engine = rapid.SampledFrom([]profile.Engine{profile.EngineCPU, profile.EngineWindow}).Draw(t, "engine")
	tr.Stopped = at + time.Duration(rapid.IntRange(1, 100).Draw(t, "after"))
	return continuous.CPU{Trace: tr, Factor: rapid.Float64Range(1, 2).Draw(t, "factor"), End: time.Unix(1_000_000, 0)}
}

// model returns the sums of values by "stack|link", and of times.
func model(c continuous.CPU) map[string][2]uint64 {
	sums := map[string][2]uint64{}
	origin := c.End.UnixNano() - int64(c.Trace.Stopped)
	for _, s := range c.Trace.Samples {
		var frames []string
		for call := range c.Trace.Calls(s) {
			frames = append(frames, fmt.Sprintf("%s@%d %s:%d", call.Name, call.StartLine, call.File, call.Line))
		}
		if len(frames) == 0 {
			frames = []string{"[no stack]@0 :0"}
		}
		link := ""
		if s.ContextID != profile.None {
			if ran := c.Trace.Contexts[s.ContextID]; ran.SpanID.IsValid() && ran.TraceID.IsValid() {
				link = ran.TraceID.String() + "/" + ran.SpanID.String()
			}
		}
		key := strings.Join(frames, "; ") + "|" + link
		sum := sums[key]
		sum[0] += uint64(float64(s.Weight) * c.Factor)
		if c.Trace.Engine != profile.EngineWindow {
			sum[1] += uint64(origin + int64(s.Timestamp))
		}
		sums[key] = sum
	}
	return sums
}

// Whatever a trace has, its requests are valid, small, and have all values and times.
func TestCPUProfileIsWhole(t *testing.T) {
	e := newEncoder(shop(), thisProgram()) // the same for all: nothing of one may be in the next
	rapid.Check(t, func(t *rapid.T) {
		c := drawTrace(t)
		limit := rapid.SampledFrom([]int{1, 1500, 4000, maxRequest}).Draw(t, "limit")
		got, ids := map[string][2]uint64{}, map[string]bool{}
		for _, r := range encodeCPU(e, limit, c) {
			_, all := decode(t, r.body)
			if len(all) != r.count || ids[all[0].id] {
				t.Fatalf("%d profiles are counted as %d, or have the id of another", len(all), r.count)
			}
			ids[all[0].id] = true
			for _, s := range all[0].samples {
				key := s.stack + "|" + s.link
				sum := got[key]
				for i, v := range s.values {
					sum[0] += uint64(v)
					if len(s.times) > 0 {
						sum[1] += s.times[i]
					}
				}
				got[key] = sum
			}
		}
		if want := model(c); !maps.Equal(got, want) {
			t.Fatalf("got\n%v, want\n%v", got, want)
		}
	})
}

// A profile that exceeds the limit is cut where it reaches it.
func TestCPUProfileInParts(t *testing.T) {
	b := profile.NewBuilder(nil)
	work := []*profile.Call{{Name: "main.work", File: "main.go"}}
	const samples = 600_000
	for i := range samples {
		b.Add(work, profile.Sample{Timestamp: time.Duration(i), ContextID: profile.None, Weight: 10 * time.Millisecond})
	}
	tr := b.Trace(nil)
	tr.Engine, tr.Stopped = profile.EngineCPU, samples
	values := 0
	requests := encodeCPU(newEncoder(shop(), thisProgram()), maxRequest, continuous.CPU{Trace: tr, Factor: 1, End: time.Unix(9, 0)})
	for _, r := range requests {
		_, all := decode(t, r.body) // which checks the size
		values += len(all[0].samples[0].values)
	}
	if len(requests) != 3 || values != samples {
		t.Errorf("%d requests with %d values, want 3 with %d", len(requests), values, samples)
	}
}
