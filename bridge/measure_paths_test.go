package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// measurePlaces are contexts under which measures are recorded. sampled says whether the active span is.
var measurePlaces = []struct {
	name    string
	sampled bool
	open    func(open func(bothproviders.Options) *rig) (context.Context, *rig)
}{
	{"no span", false, func(open func(bothproviders.Options) *rig) (context.Context, *rig) {
		r := open(bothproviders.Options{Sampler: always})
		return r.ctx, r
	}},
	{"sampled", true, spanWith(always, nil)},
	{"sampled by a sampler of the program", true, spanWith(fixed{Decision: sdktrace.RecordAndSample}, nil)},
	{"sampled with a keep policy", true, spanWith(always, &bridge.KeepPolicy{})},
	{"not sampled", false, spanWith(never, nil)},
	{"not sampled, and may be kept", false, spanWith(never, &bridge.KeepPolicy{})},
	{"recorded and not sampled", false, spanWith(recordOnly, nil)},
	{"below a remote span", false, func(open func(bothproviders.Options) *rig) (context.Context, *rig) {
		r := open(bothproviders.Options{Sampler: always})
		return trace.ContextWithRemoteSpanContext(r.ctx, remoteSpan(0)), r
	}},
	{"below a sampled remote span", true, func(open func(bothproviders.Options) *rig) (context.Context, *rig) {
		r := open(bothproviders.Options{Sampler: always})
		return trace.ContextWithRemoteSpanContext(r.ctx, remoteSpan(trace.FlagsSampled)), r
	}},
}

func spanWith(s sdktrace.Sampler, keep *bridge.KeepPolicy) func(open func(bothproviders.Options) *rig) (context.Context, *rig) {
	return func(open func(bothproviders.Options) *rig) (context.Context, *rig) {
		r := open(bothproviders.Options{Sampler: s, Keep: keep})
		ctx, _ := r.tracer.Start(r.ctx, "root", trace.WithSpanKind(trace.SpanKindServer))
		return ctx, r
	}
}

// measureWays are the ways to record a measure. Those that fail have the error's type.
var measureWays = []struct {
	name   string
	fails  bool
	record func(ctx context.Context, name string, attrs ...slog.Attr)
}{
	{"Time", false, func(ctx context.Context, name string, attrs ...slog.Attr) { marks.Time(ctx, name, attrs...).End() }},
	{"Time, End with attributes", false, func(ctx context.Context, name string, attrs ...slog.Attr) { marks.Time(ctx, name).End(attrs...) }},
	{"Time with text to freeze", false, func(ctx context.Context, name string, attrs ...slog.Attr) {
		marks.Time(ctx, name, attrs...).End(slog.Any("error", errors.New("text")))
	}},
	{"Time that failed", true, func(ctx context.Context, name string, attrs ...slog.Attr) {
		tm := marks.Time(ctx, name, attrs...)
		tm.Fail(errors.New("no stock"))
		tm.End()
	}},
	{"Start", false, func(ctx context.Context, name string, attrs ...slog.Attr) {
		_, tm := marks.Start(ctx, name, attrs...)
		tm.End()
		tm.End()
	}},
	{"Start that failed", true, func(ctx context.Context, name string, attrs ...slog.Attr) {
		_, tm := marks.Start(ctx, name)
		tm.Fail(errors.New("no stock"))
		tm.End(attrs...)
	}},
	{"Start, ended elsewhere", false, func(ctx context.Context, name string, attrs ...slog.Attr) {
		_, tm := marks.Start(ctx, name, attrs...)
		var wg sync.WaitGroup
		wg.Go(func() { tm.End() })
		wg.Wait()
	}},
	{"StartJob", false, func(ctx context.Context, name string, attrs ...slog.Attr) {
		_, tm := marks.StartJob(ctx, name, attrs...)
		tm.End()
	}},
	{"Timerify", true, func(ctx context.Context, name string, attrs ...slog.Attr) {
		f := marks.Timerify(name, func(context.Context, int) (int, error) { return 0, errors.New("no stock") }, marks.TimerifyOptions{Attrs: attrs})
		_, _ = f(ctx, 1)
	}},
	{"Measure", false, func(ctx context.Context, name string, attrs ...slog.Attr) {
		_, _ = marks.Measure(ctx, name, marks.MeasureOptions{Start: marks.At(3), End: marks.At(5), Detail: attrs})
	}},
}

// Every measure of an allowed name counts once, whatever records it and wherever. A model counts them, too.
func TestMeasuresCountOnce(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		t.Helper()
		tl := observer.NewTimeline(observer.TimelineOptions{})
		var contexts []context.Context
		for _, place := range measurePlaces {
			ctx, _ := place.open(func(o bothproviders.Options) *rig { o.Timeline = tl; return open(o) })
			contexts = append(contexts, ctx)
		}
		rapid.Check(t, func(rt *rapid.T) {
			d := newDurations(t, bridge.MeasureConfig{Names: []string{"a", "b.*"}, Attributes: []string{"n"}, Timeline: tl})
			defer d.Stop()
			want := map[string]uint64{}
			for range rapid.IntRange(1, 30).Draw(rt, "measures") {
				place := rapid.IntRange(0, len(contexts)-1).Draw(rt, "place")
				way := measureWays[rapid.IntRange(0, len(measureWays)-1).Draw(rt, "way")]
				name := rapid.SampledFrom([]string{"a", "aa", "b.c", "b", "b.d"}).Draw(rt, "name")
				n := rapid.IntRange(0, 2).Draw(rt, "n")
				attrs := []slog.Attr{slog.String("other", "x")}
				if n > 0 {
					attrs = append(attrs, slog.Int("n", n))
				}
				rt.Logf("%s, %s", measurePlaces[place].name, way.name)
				way.record(contexts[place], name, attrs...)
				if name == "aa" || name == "b" {
					continue
				}
				key := "perfline.measure.name=" + name
				if n > 0 {
					key = fmt.Sprintf("n=%d,%s", n, key)
				}
				if way.fails {
					key = "error.type=*errors.errorString," + key
				}
				want[key]++
			}
			if got := d.counts(t); fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Errorf("got %v, want %v", got, want)
			}
		})
	})
}

// A measure that only the histogram wants is no span, no event and no entry.
func TestUnsampledMeasuresStayAway(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		t.Helper()
		r := open(bothproviders.Options{Sampler: never})
		d := newDurations(t, bridge.MeasureConfig{Names: []string{"*"}, Timeline: r.tl})
		ctx, end := r.request()
		ctx, span := r.tracer.Start(ctx, "below")
		for _, way := range measureWays {
			if way.name == "StartJob" {
				continue // it is not under the span
			}
			way.record(ctx, "a")
		}
		entries := append(r.tl.Entries(), observer.FromContext(ctx).Entries()...)
		span.End()
		end()
		r.flush(t)
		var counted uint64
		for _, n := range d.counts(t) {
			counted += n
		}
		if s := r.stats(); counted != uint64(len(measureWays)-1) || len(entries) > 0 || len(r.got.all()) > 0 || s.MeasureSpans > 0 {
			t.Errorf("%d measures counted, %d entries, spans %q, %+v; want %d, none, none and no measure", counted, len(entries), r.got.names(), s, len(measureWays)-1)
		}
	})
}

// An exemplar leads to the measure's own span, or to the one around it, if that is sampled. Otherwise it leads nowhere, also if the
// program wants exemplars of all measurements.
func TestMeasureExemplars(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		t.Helper()
		for name, filter := range map[string]exemplar.Filter{"trace_based": exemplar.TraceBasedFilter, "always_on": exemplar.AlwaysOnFilter} {
			for _, place := range measurePlaces {
				t.Run(name+"/"+place.name, func(t *testing.T) {
					ctx, r := place.open(open)
					d := newDurations(t, bridge.MeasureConfig{Names: []string{"*"}, Attributes: []string{"n"}, Timeline: r.tl}, sdkmetric.WithExemplarFilter(filter))
					around := trace.SpanContextFromContext(ctx)
					if around.IsSampled() != place.sampled {
						t.Fatalf("the span is sampled: %t, want %t", around.IsSampled(), place.sampled)
					}
					marks.Time(ctx, "time", slog.Int("n", 1), slog.Int("l", 2)).End()
					failed := marks.Time(ctx, "failed")
					failed.Fail(errors.New("no stock"))
					failed.End()
					within, started := marks.Start(ctx, "started")
					own := trace.SpanContextFromContext(within)
					started.End()
					_, _ = marks.Measure(ctx, "measured", marks.MeasureOptions{Start: marks.At(0), End: marks.At(3 * time.Second)})

					points := d.points(t)
					check := func(key string, want trace.SpanContext) {
						t.Helper()
						if p, ok := points[key]; !ok || p.Count != 1 || !leadsTo(p, want, name == "always_on") {
							t.Errorf("%s: got %d measures of %v s with the exemplars %+v, want 1 that leads to %s %s", key, p.Count, p.Sum, p.Exemplars, want.TraceID(), want.SpanID())
						}
					}
					check("n=1,perfline.measure.name=time", around)
					check("error.type=*errors.errorString,perfline.measure.name=failed", around)
					check("perfline.measure.name=started", own)
					check("perfline.measure.name=measured", around)
					if points["perfline.measure.name=measured"].Sum != 3 {
						t.Errorf("the measure took %v s, want 3", points["perfline.measure.name=measured"].Sum)
					}
				})
			}
		}
	})
}

// leadsTo reports whether the exemplar of a point of one measure has the ids of a span if that is sampled. Otherwise there must be none, or, with
// anyway, one without ids.
func leadsTo(p metricdata.HistogramDataPoint[float64], to trace.SpanContext, anyway bool) bool {
	if !to.IsSampled() {
		to = trace.SpanContext{}
		if !anyway {
			return len(p.Exemplars) == 0
		}
	}
	if len(p.Exemplars) != 1 || p.Exemplars[0].Value != p.Sum || p.Exemplars[0].FilteredAttributes != nil {
		return false
	}
	traceID, spanID := to.TraceID(), to.SpanID()
	e := p.Exemplars[0]
	if !to.IsValid() {
		return len(e.TraceID)+len(e.SpanID) == 0
	}
	return string(e.TraceID) == string(traceID[:]) && string(e.SpanID) == string(spanID[:])
}
