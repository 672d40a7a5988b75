package perfline_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/waits"
)

// collected takes the spans that are exported.
type collected struct{ spans []*tracepb.Span }

func (c *collected) Send(_ context.Context, body []byte) exporter.Answer {
	var q tracepb.TracesData
	if err := proto.Unmarshal(body, &q); err != nil {
		return exporter.Answer{Err: err}
	}
	for _, rs := range q.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	return exporter.Answer{}
}

// text returns the spans as name and the attributes about waits, sorted.
func (c *collected) text() string {
	var out []string
	for _, s := range c.spans {
		text := []string{s.GetName()}
		for _, kv := range s.GetAttributes() {
			if strings.HasPrefix(kv.GetKey(), "perfline.time.") {
				text = append(text, fmt.Sprintf("%s=%v", kv.GetKey(), kv.GetValue().GetDoubleValue()))
			}
		}
		out = append(out, strings.Join(text, " "))
	}
	slices.Sort(out)
	c.spans = nil
	return strings.Join(out, ", ")
}

// Exported spans of a slow request wait for the recorder's answer, and have it as attributes. Other spans do not wait, and a flush waits
// for nothing.
func TestWaitsAsAttributes(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: time.Minute, Routes: map[string]time.Duration{"GET /slow": 1}}})
	serve := func(name string) {
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
		marks.Time(ctx, "render").End()
		span.End()
	}
	answer := func(root bridge.Root) *waits.Request {
		return &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
			Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
		}}}
	}
	sending := func() string {
		t.Helper()
		if err := pl.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		return sent.text()
	}
	delivered := func(n uint64) { // what waits in the queue counts as accepted
		t.Helper()
		if got := pl.Stats().Delivery.Accepted; got != n {
			t.Errorf("%d spans are accepted, want %d", got, n)
		}
	}

	serve("GET /slow")
	serve("GET /")
	delivered(2)
	recorder.watcher(recorder.asked[0], answer(recorder.asked[0]))
	delivered(4)
	if got, want := sending(), "GET /, GET /slow perfline.time.mutex=1, render, render"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}

	serve("GET /slow")
	recorder.watcher(recorder.asked[1], nil)
	if got, want := sending(), "GET /slow, render"; got != want {
		t.Errorf("without an answer, sent %q, want %q", got, want)
	}
	serve("GET /slow")
	if got, want := sending(), "GET /slow, render"; got != want {
		t.Errorf("flushed before the answer, sent %q, want %q", got, want)
	}
	recorder.watcher(recorder.asked[2], answer(recorder.asked[2])) // late
	recorder.refuses = true
	serve("GET /slow")
	delivered(10)
	recorder.refuses = false
	for range 1000 { // 512 of them may wait
		serve("GET /slow")
	}
	delivered(10 + 2*(1000-512))
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	delivered(10 + 2000)
}

// The spans of a trace with two slow requests wait for both answers, and each has its own attributes.
func TestWaitsAsAttributesOfTwoRequests(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
	tracer := pl.TracerProvider().Tracer("t")
	outer, first := tracer.Start(ctx, "GET /first", trace.WithSpanKind(trace.SpanKindServer))
	_, second := tracer.Start(outer, "GET /second", trace.WithSpanKind(trace.SpanKindServer))
	second.End()
	first.End()
	for i, kind := range []waits.Kind{waits.Mutex, waits.Timer} {
		if n := pl.Stats().Delivery.Accepted; n != 0 {
			t.Errorf("%d spans do not wait after %d answers", n, i)
		}
		root := recorder.asked[i]
		recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
			Intervals: []waits.Interval{{Kind: kind, End: time.Second, SpanID: root.SpanID}},
		}}})
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if got, want := sent.text(), "GET /first perfline.time.timer=1, GET /second perfline.time.mutex=1"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// A request that serves a call of its own process has a result of its own where perfline exports its spans. It counts as each exported
// root, and the policy keeps only the request around it. Without such an export, the result of the request around it suffices.
func TestWaitsAsAttributesOfInnerRequests(t *testing.T) {
	for _, c := range []struct {
		name    string
		exports bool
		refuses bool // the outer request
		asked   string
		want    string
		counts  string
	}{
		{"exported", true, false, "GET /inner, GET /outer",
			"GET, GET /inner perfline.time.timer=1, GET /outer perfline.time.timer=1, part perfline.time.timer=1", "annotated 2, exported 2"},
		{"the outer one refused", true, true, "GET /inner, GET /outer",
			"GET, GET /inner perfline.time.timer=1, GET /outer, part perfline.time.timer=1", "annotated 1, exported 2, no_result 1"},
		{"in memory", false, false, "GET /outer", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, sent := &answers{}, &collected{}
			config := perfline.Config{Waits: recorder, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1}}
			if c.exports {
				config.Traces.Sender = sent
			}
			pl, ctx, _ := start(t, config)
			tracer := pl.TracerProvider().Tracer("t")
			outerCtx, outer := tracer.Start(ctx, "GET /outer", trace.WithSpanKind(trace.SpanKindServer))
			_, call := tracer.Start(outerCtx, "GET", trace.WithSpanKind(trace.SpanKindClient))
			innerCtx, inner := tracer.Start(trace.ContextWithRemoteSpanContext(ctx, call.SpanContext().WithRemote(true)), "GET /inner",
				trace.WithSpanKind(trace.SpanKindServer))
			_, part := tracer.Start(innerCtx, "part")
			part.End()
			inner.End()
			call.End()
			recorder.refuses = c.refuses
			outer.End()
			var names []string
			for _, root := range recorder.asked {
				names = append(names, root.Name)
				result := &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
					Intervals: []waits.Interval{{Kind: waits.Timer, End: time.Second, SpanID: root.SpanID}},
				}}}
				if root.SpanID == inner.SpanContext().SpanID() {
					result.Goroutines[0].Intervals = append(result.Goroutines[0].Intervals,
						waits.Interval{Kind: waits.Timer, End: time.Second, SpanID: part.SpanContext().SpanID()})
				}
				if !c.refuses || root.Name != "GET /outer" {
					recorder.answer(root, result)
				}
			}
			if got := strings.Join(names, ", "); got != c.asked {
				t.Errorf("the recorder was asked for %q, want %q", got, c.asked)
			}
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			if got := sent.text(); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
			var counts []string
			for _, row := range pl.Counts() {
				if row.Group == "perfline.waits.spans" && row.N > 0 {
					counts = append(counts, fmt.Sprint(row.Name, " ", row.N))
				}
			}
			slices.Sort(counts)
			if got := strings.Join(counts, ", "); got != c.counts {
				t.Errorf("the counts are %q, want %q", got, c.counts)
			}
			if kept := pl.Recent().Kept(); len(kept) != 1 || kept[0].Root().Name != "GET /outer" {
				t.Errorf("kept %v, want the outer request", kept)
			}
		})
	}
}

// A request that the SDK records and does not sample has no spans to export.
func TestWaitsOfUnsampledRequestsOfTheSDK(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := startJoined(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}, Sampler: recordOnly{}})
	_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
	span.End()
	recorder.watcher(recorder.asked[0], mutexWait(recorder.asked[0]))
	for _, row := range pl.Counts() {
		if row.Group == "perfline.waits.spans" && row.N > 0 {
			t.Errorf("%s is %d, want 0", row.Name, row.N)
		}
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if got := sent.text(); got != "" {
		t.Errorf("sent %q", got)
	}
}

// recordOnly records all spans, and samples none.
type recordOnly struct{}

func (recordOnly) Description() string { return "record only" }

func (recordOnly) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
}

// An answer may come before the spans are handed over: they have its attributes. It is kept when the recorder then refuses another
// request of the trace.
func TestWaitsAsAttributesBeforeTheSpans(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses bool // the second request
		want    string
	}{
		{"both answered", false, "GET /first perfline.time.mutex=1, GET /second perfline.time.mutex=1"},
		{"one refused", true, "GET /first, GET /second perfline.time.mutex=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder, sent := &answers{}, &collected{}
			pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
			tracer := pl.TracerProvider().Tracer("t")
			answer := func(root bridge.Root) {
				recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
					Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
				}}})
			}
			outer, first := tracer.Start(ctx, "GET /first", trace.WithSpanKind(trace.SpanKindServer))
			_, second := tracer.Start(outer, "GET /second", trace.WithSpanKind(trace.SpanKindServer))
			second.End()
			answer(recorder.asked[0])
			recorder.refuses = c.refuses
			first.End()
			if !c.refuses {
				answer(recorder.asked[1])
			}
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			if got := sent.text(); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
		})
	}
}

// Each exported root span of a slow request counts once, by what became of its attributes.
func TestWaitsAsAttributesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, sent := &answers{}, &collected{}
		pl, ctx, _ := start(t, perfline.Config{
			Waits: recorder, Traces: exporter.Config{Sender: sent, QueueSize: 4096}, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1},
			Sampler: samplerOf(func(name string) bool { return name != "GET /in memory" }),
		})
		var megabyte []attribute.KeyValue
		for i := range 64 {
			megabyte = append(megabyte, attribute.String(strconv.Itoa(i), strings.Repeat("x", 16<<10)))
		}
		serve := func(name string, attributes ...attribute.KeyValue) {
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)), trace.WithAttributes(attributes...))
			span.End()
		}
		answer := func() {
			for _, root := range recorder.asked {
				recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
					Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
				}}})
			}
			recorder.asked = nil
		}
		const ends = time.Second // of hand-overs
		want := map[string]uint64{"exported": 0, "annotated": 0, "late": 0, "flushed": 0, "no_result": 0, "too_many": 0, "too_large": 0, "pending": 0}
		for _, c := range []struct {
			name string
			run  func()
			more map[string]int
		}{
			{"a result", func() { serve("GET /"); time.Sleep(ends); answer() }, map[string]int{"exported": 1, "annotated": 1}},
			{"a result before the spans", func() { serve("GET /"); answer(); time.Sleep(ends) }, map[string]int{"exported": 1, "annotated": 1}},
			{"refused", func() { recorder.refuses = true; serve("GET /"); time.Sleep(ends); recorder.refuses = false }, map[string]int{"exported": 1, "no_result": 1}},
			{"given up", func() {
				recorder.asked = nil
				serve("GET /")
				time.Sleep(ends)
				recorder.watcher(recorder.asked[0], nil)
			}, map[string]int{"exported": 1, "no_result": 1}},
			{"no answer yet", func() { serve("GET /"); time.Sleep(ends) }, map[string]int{"exported": 1, "pending": 1}},
			{"an answer that is late", func() { time.Sleep(20 * time.Second); answer() }, map[string]int{"pending": -1, "late": 1}},
			{"a flush", func() { serve("GET /"); time.Sleep(ends); _ = pl.Flush(ctx); answer() }, map[string]int{"exported": 1, "flushed": 1}},
			{"in memory only", func() { serve("GET /in memory"); time.Sleep(ends); answer() }, nil},
			{"too large", func() {
				for range 5 {
					serve("GET /", megabyte...)
				}
				time.Sleep(ends)
				answer()
			}, map[string]int{"exported": 5, "annotated": 3, "too_large": 2}},
			{"too many", func() {
				for range 600 {
					serve("GET /")
				}
				time.Sleep(ends)
				answer()
			}, map[string]int{"exported": 600, "annotated": 512, "too_many": 88}},
			{"the end", func() { serve("GET /"); _ = pl.Shutdown(patient(t)) }, map[string]int{"exported": 1, "flushed": 1}},
		} {
			c.run()
			synctest.Wait()
			got, sum := map[string]uint64{}, uint64(0)
			for _, row := range pl.Counts() {
				if row.Group == "perfline.waits.spans" {
					got[row.Name] = row.N
					sum += row.N
				}
			}
			for name, n := range c.more {
				want[name] += uint64(n)
			}
			if !maps.Equal(got, want) || sum != 2*got["exported"] {
				t.Errorf("after %s: %v, want %v", c.name, got, want)
			}
		}
		roots, annotated := 0, 0
		for _, s := range sent.spans {
			if s.GetName() == "GET /" {
				roots++
				if slices.ContainsFunc(s.GetAttributes(), func(kv *commonpb.KeyValue) bool { return kv.GetKey() == "perfline.time.mutex" }) {
					annotated++
				}
			}
		}
		if uint64(roots) != want["exported"] || uint64(annotated) != want["annotated"] {
			t.Errorf("the backend has %d spans, %d with attributes; want %d and %d", roots, annotated, want["exported"], want["annotated"])
		}
	})
}

// samplerOf samples by the names of spans.
type samplerOf func(name string) bool

func (samplerOf) Description() string { return "by name" }

func (s samplerOf) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if s(p.Name) {
		return sdktrace.AlwaysSample().ShouldSample(p)
	}
	return sdktrace.NeverSample().ShouldSample(p)
}

// A request that is kept in memory only has no spans to export. It does not take the place of a request that has.
func TestWaitsAsAttributesOfRequestsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, sent := &answers{}, &collected{}
		pl, ctx, _ := start(t, perfline.Config{
			Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1, PerSecond: -1},
			Sampler: samplerOf(func(name string) bool { return name == "GET /sampled" }),
		})
		serve := func(name string) {
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)))
			span.End()
		}
		answer := func(root bridge.Root) {
			recorder.watcher(root, &waits.Request{TraceID: root.TraceID, RootID: root.SpanID, Duration: time.Second, Goroutines: []waits.Goroutine{{
				Intervals: []waits.Interval{{Kind: waits.Mutex, End: time.Second, SpanID: root.SpanID}},
			}}})
		}
		for range 600 { // more than may wait
			serve("GET /in memory")
		}
		for _, root := range recorder.asked {
			answer(root)
		}
		time.Sleep(2 * time.Second)
		serve("GET /sampled")
		time.Sleep(time.Second) // the spans have been handed over
		answer(recorder.asked[len(recorder.asked)-1])
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if got, want := sent.text(), "GET /sampled perfline.time.mutex=1"; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// An answer that does not come within twenty seconds comes too late.
func TestWaitsAsAttributesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, sent := &answers{}, &collected{}
		pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
		for _, wait := range []time.Duration{0, time.Second} {
			time.Sleep(wait)
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Now().Add(-time.Second)))
			span.End()
		}
		for _, c := range []struct {
			wait time.Duration
			want uint64
		}{{18 * time.Second, 0}, {time.Second + 1, 1}, {time.Second, 2}} {
			time.Sleep(c.wait)
			synctest.Wait()
			if got := pl.Stats().Delivery.Accepted; got != c.want {
				t.Errorf("%v later, %d spans do not wait any more, want %d", c.wait, got, c.want)
			}
		}
		recorder.watcher(recorder.asked[0], &waits.Request{})
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if n := pl.Stats().Delivery.Delivered; n != 2 {
			t.Errorf("%d spans are delivered, want 2", n)
		}
	})
}

// Spans that wait for an answer take 4 MiB at most.
func TestWaitsAsAttributesBytes(t *testing.T) {
	recorder, sent := &answers{}, &collected{}
	pl, ctx, _ := start(t, perfline.Config{Waits: recorder, Traces: exporter.Config{Sender: sent}, Keep: bridge.KeepPolicy{Slow: 1}})
	var megabyte []attribute.KeyValue
	for i := range 64 {
		megabyte = append(megabyte, attribute.String(strconv.Itoa(i), strings.Repeat("x", 16<<10)))
	}
	for range 10 {
		_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(megabyte...))
		span.End()
	}
	if n := pl.Stats().Delivery.Accepted; n != 7 {
		t.Errorf("of ten spans with a megabyte, %d do not wait, want 7", n)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if n := pl.Stats().Delivery; n.Delivered != 10 {
		t.Errorf("%+v, want all ten delivered", n)
	}
}
