package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A durations is a histogram of measures whose points a test reads.
type durations struct {
	*bridge.MeasureHistogram
	reader *sdkmetric.ManualReader
}

func newDurations(t testing.TB, c bridge.MeasureConfig, more ...sdkmetric.Option) durations {
	t.Helper()
	d := durations{reader: sdkmetric.NewManualReader()}
	c.MeterProvider = sdkmetric.NewMeterProvider(append(more, sdkmetric.WithReader(d.reader))...)
	h, err := bridge.NewMeasureHistogram(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	d.MeasureHistogram = h
	return d
}

// points returns the points by their attributes, which are written as "k=v,l=w".
func (d durations) points(t testing.TB) map[string]metricdata.HistogramDataPoint[float64] {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := d.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	points := map[string]metricdata.HistogramDataPoint[float64]{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if m.Name != "perfline.measure.duration" || m.Unit != "s" {
				t.Errorf("got the metric %s in %q", m.Name, m.Unit)
			}
			for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints { //nolint:forcetypeassert // it panics then
				var attrs []string
				for _, kv := range p.Attributes.ToSlice() {
					attrs = append(attrs, string(kv.Key)+"="+kv.Value.String())
				}
				points[strings.Join(attrs, ",")] = p
			}
		}
	}
	return points
}

// counts returns the count of each point.
func (d durations) counts(t testing.TB) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for key, p := range d.points(t) {
		counts[key] = p.Count
	}
	return counts
}

func TestMeasureConfigErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		config bridge.MeasureConfig
		want   string // empty: no error
	}{
		{"names", bridge.MeasureConfig{Names: []string{"stock.query", "payment.*", "*"}, Attributes: []string{"k", "req.method"}, MaxSeries: 2000}, ""},
		{"an empty name", bridge.MeasureConfig{Names: []string{"a", ""}}, `MeasureConfig.Names[1] "": must be a name`},
		{"* within a name", bridge.MeasureConfig{Names: []string{"a.*.b"}}, `MeasureConfig.Names[0] "a.*.b": must be`},
		{"two *", bridge.MeasureConfig{Names: []string{"a**"}}, `MeasureConfig.Names[0] "a**": must be`},
		{"a name that is not UTF-8", bridge.MeasureConfig{Names: []string{"\xff"}}, `MeasureConfig.Names[0] "\xff": must be`},
		{"an empty key", bridge.MeasureConfig{Attributes: []string{""}}, `MeasureConfig.Attributes[0] "": must be`},
		{"the name's key", bridge.MeasureConfig{Attributes: []string{"k", "perfline.measure.name"}}, `MeasureConfig.Attributes[1] "perfline.measure.name": must be another`},
		{"the error's key", bridge.MeasureConfig{Attributes: []string{"error.type"}}, `"error.type": must be another`},
		{"the overflow's key", bridge.MeasureConfig{Attributes: []string{"otel.metric.overflow"}}, `"otel.metric.overflow": must be another`},
		{"a key twice", bridge.MeasureConfig{Attributes: []string{"k", "l", "k"}}, `MeasureConfig.Attributes[2] "k": must not be listed twice`},
		{"a negative bound", bridge.MeasureConfig{MaxSeries: -1}, "MeasureConfig.MaxSeries -1: must be from 1 to 2000"},
		{"a bound over the SDK's", bridge.MeasureConfig{MaxSeries: 2001}, "MeasureConfig.MaxSeries 2001: must be from 1 to 2000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.MeterProvider, c.config.Timeline = noopmetric.NewMeterProvider(), observer.NewTimeline(observer.TimelineOptions{})
			h, err := bridge.NewMeasureHistogram(c.config)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("the error is %v, want none", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if err == nil {
				h.Stop()
				h.Stop()
			}
		})
	}
}

// Only allowed names and allowed attributes are in the histogram, and texts have a bound.
func TestMeasureAttributes(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, c := range []struct {
		name  string
		attrs []slog.Attr
		want  string
	}{
		{"none", nil, ""},
		{"not allowed", []slog.Attr{slog.String("other", "x"), slog.String("site.", "x"), slog.String("req", "x")}, ""},
		{"text", []slog.Attr{slog.String("site", "north")}, ",site=north"},
		{"two", []slog.Attr{slog.Int("n", 3), slog.String("site", "north")}, ",n=3,site=north"},
		{"other types", []slog.Attr{slog.Bool("site", true), slog.Float64("n", 1.5)}, ",n=1.5,site=true"},
		{"times", []slog.Attr{slog.Duration("n", 5), slog.Time("site", time.Unix(0, 7))}, ",n=5,site=7"},
		{"a large number", []slog.Attr{slog.Uint64("n", math.MaxUint64)}, ",n=18446744073709551615"},
		{"not a number", []slog.Attr{slog.Float64("n", math.NaN())}, ",n=NaN"},
		{"the last value counts", []slog.Attr{slog.Int("n", 1), slog.Int("n", 2)}, ",n=2"},
		{"a member", []slog.Attr{slog.Group("req", slog.Group("", slog.String("method", "GET")))}, ",req.method=GET"},
		{"a key like a member", []slog.Attr{slog.String("req.method", "PUT")}, ",req.method=PUT"},
		{"a member's group", []slog.Attr{slog.Group("req.method", slog.String("method", "GET"))}, ""},
		{"a list", []slog.Attr{slog.Any("n", []int64{1, 2})}, ""},
		{"a list after a scalar", []slog.Attr{slog.Int("n", 1), slog.Any("n", []byte("x"))}, ""},
		{"an error", []slog.Attr{slog.Any("n", errors.New("no stock"))}, ",n=no stock"},
		{"long text", []slog.Attr{slog.String("site", long)}, ",site=" + long[:124] + "…"},
		{"not UTF-8", []slog.Attr{slog.String("site", "a\xffb")}, ",site=a\uFFFDb"},
		{"a method that panics", []slog.Attr{slog.Any("n", panicking{})}, ",n=%!v(PANIC=Error method: no text)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := observer.NewTimeline(observer.TimelineOptions{})
			d := newDurations(t, bridge.MeasureConfig{Names: []string{"a", "b.*"}, Attributes: []string{"site", "n", "req.method"}, Timeline: tl})
			ctx := observer.NewContext(t.Context(), tl)
			want := map[string]uint64{}
			for _, name := range []string{"a", "aa", "b.", "b.c", "b", ""} {
				for range 2 {
					marks.Time(ctx, name).End(c.attrs...)
				}
				if name == "a" || strings.HasPrefix(name, "b.") {
					// The SDK sorts by key.
					all := append([]string{"perfline.measure.name=" + name}, strings.Split(strings.TrimPrefix(c.want, ","), ",")...)
					all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
					slices.Sort(all)
					want[strings.Join(all, ",")] = 2
				}
			}
			if got := d.counts(t); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if s := d.Stats(); s.Series != 3 || s.Overflow != 0 || s.Panics != 0 {
				t.Errorf("the counts are %+v, want 3 series", s)
			}
		})
	}
}

// Texts that differ only in what a series does not have of them are in the same series, and its text says that it was cut.
func TestMeasureLongTexts(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	d := newDurations(t, bridge.MeasureConfig{Names: []string{"a"}, Attributes: []string{"site"}, Timeline: tl})
	ctx := observer.NewContext(t.Context(), tl)
	for _, begin := range []string{strings.Repeat("x", 200), strings.Repeat("\xff", 200)} { // the latter becomes one U+FFFD
		for _, end := range []string{"north", "south"} {
			marks.Time(ctx, "a", slog.String("site", begin+end)).End()
		}
	}
	want := map[string]uint64{
		"perfline.measure.name=a,site=" + strings.Repeat("x", 125) + "…": 2, "perfline.measure.name=a,site=\uFFFD…": 2,
	}
	if got := d.counts(t); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

type panicking struct{}

func (panicking) Error() string { panic("no text") }

// Failed measures have error.type, and measures that ran backwards a positive duration.
func TestMeasureValues(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	d := newDurations(t, bridge.MeasureConfig{Names: []string{"*"}, Timeline: tl})
	ctx := observer.NewContext(t.Context(), tl)
	failed := marks.Time(ctx, "a")
	failed.Fail(errors.New("no stock"))
	failed.End()
	if _, err := marks.Measure(ctx, "b", marks.MeasureOptions{Start: marks.At(3 * time.Second), End: marks.At(time.Second)}); err != nil {
		t.Fatal(err)
	}
	points := d.points(t)
	if p := points["error.type=*errors.errorString,perfline.measure.name=a"]; p.Count != 1 {
		t.Errorf("there is no failed measure among %v", d.counts(t))
	}
	p := points["perfline.measure.name=b"]
	if p.Count != 1 || p.Sum != 2 {
		t.Errorf("%d measures of %v s, want 1 of 2 s", p.Count, p.Sum)
	}
	if want := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}; !slices.Equal(p.Bounds, want) {
		t.Errorf("the bounds are %v, want %v", p.Bounds, want)
	}
}

// Measures over the bound go to one series and are counted, also when goroutines add series at once.
func TestMeasureOverflow(t *testing.T) {
	const most, workers, each = 5, 8, 100
	tl := observer.NewTimeline(observer.TimelineOptions{})
	d := newDurations(t, bridge.MeasureConfig{Names: []string{"m*"}, Attributes: []string{"n"}, MaxSeries: most, Timeline: tl})
	ctx := observer.NewContext(t.Context(), tl)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range each {
				marks.Time(ctx, fmt.Sprintf("m%d", i%2), slog.Int("n", i)).End()
			}
		})
	}
	wg.Wait()
	counts := d.counts(t)
	if len(counts) != most {
		t.Errorf("%d series, want %d: %v", len(counts), most, counts)
	}
	var sum uint64
	for _, n := range counts {
		sum += n
	}
	beyond := counts["otel.metric.overflow=true"]
	if s := d.Stats(); sum != workers*each || beyond != workers*(each-most+1) || s.Overflow != beyond || s.Series != most {
		t.Errorf("%d measures, %d of them over the bound, and the counts are %+v; want %d and %d", sum, beyond, s, workers*each, workers*(each-most+1))
	}
}

// faultyProvider makes histograms that do what a test says instead of recording.
type faultyProvider struct {
	noopmetric.MeterProvider
	record func(context.Context)
	err    error
}

func (p faultyProvider) Meter(string, ...metric.MeterOption) metric.Meter { return faultyMeter{p: p} }

type faultyMeter struct {
	noopmetric.Meter
	p faultyProvider
}

func (m faultyMeter) Float64Histogram(string, ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return faultyHistogram{record: m.p.record}, m.p.err
}

type faultyHistogram struct {
	noopmetric.Float64Histogram
	record func(context.Context)
}

func (h faultyHistogram) Enabled(context.Context) bool { return true }

func (h faultyHistogram) Record(ctx context.Context, _ float64, _ ...metric.RecordOption) {
	h.record(ctx)
}

// A meter provider that panics or ends the goroutine takes no measure from the trace.
func TestMeasureFaultyProvider(t *testing.T) {
	overAll(t, testMeasureFaultyProvider)
	_, err := bridge.NewMeasureHistogram(bridge.MeasureConfig{MeterProvider: faultyProvider{err: errors.New("no instrument")}})
	if err == nil || !strings.Contains(err.Error(), "no instrument") {
		t.Errorf("the error is %v, want the provider's", err)
	}
}

func testMeasureFaultyProvider(t *testing.T, open func(bothproviders.Options) *rig) {
	t.Helper()
	for name, fault := range map[string]func(context.Context){
		"panic":  func(context.Context) { panic("a bug") },
		"goexit": func(context.Context) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			var reports []string
			before := otel.GetErrorHandler()
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reports = append(reports, err.Error()) }))
			defer otel.SetErrorHandler(before)
			r := open(bothproviders.Options{Sampler: always})
			h, err := bridge.NewMeasureHistogram(bridge.MeasureConfig{Names: []string{"*"}, Timeline: r.tl, MeterProvider: faultyProvider{record: fault}})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Stop()
			ctx, span := r.tracer.Start(r.ctx, "root")
			for range 3 {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					marks.Time(ctx, "time").End()
				}()
				<-ended
				ended = make(chan struct{})
				go func() {
					defer close(ended)
					_, tm := marks.Start(ctx, "start")
					tm.End(slog.Any("e", errors.New("text")))
				}()
				<-ended
			}
			span.End()
			r.flush(t)
			names := r.got.names()
			slices.Sort(names)
			if want := []string{"root", "start", "start", "start", "time", "time", "time"}; !slices.Equal(names, want) {
				t.Errorf("the spans are %q, want %q", names, want)
			}
			if name == "panic" && (h.Stats().Panics != 6 || len(reports) != 1 || !strings.Contains(reports[0], "a bug")) {
				t.Errorf("%d panics counted and %q reported, want 6 and the first one", h.Stats().Panics, reports)
			}
		})
	}
}

// A meter provider may keep the contexts that it gets: each leads to its own span for ever.
func TestMeasureContextsAreKept(t *testing.T) { overAll(t, testMeasureContextsAreKept) }

func testMeasureContextsAreKept(t *testing.T, open func(bothproviders.Options) *rig) {
	t.Helper()
	var contexts []context.Context
	r := open(bothproviders.Options{Sampler: always})
	h, err := bridge.NewMeasureHistogram(bridge.MeasureConfig{
		Names: []string{"*"}, Timeline: r.tl, MeterProvider: faultyProvider{record: func(ctx context.Context) { contexts = append(contexts, ctx) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop()
	var want []trace.SpanContext
	for range 3 {
		ctx, span := r.tracer.Start(r.ctx, "root")
		marks.Time(ctx, "a").End()
		span.End()
		want = append(want, span.SpanContext())
	}
	for i, ctx := range contexts {
		if got := trace.SpanContextFromContext(ctx); !got.Equal(want[i]) {
			t.Errorf("measure %d: the context has the span %v, want %v", i, got, want[i])
		}
		if _, ok := ctx.Deadline(); ok || ctx.Err() != nil || ctx.Done() != nil || ctx.Value(observer.Mark) != nil {
			t.Errorf("measure %d: the context ends or has more than a span", i)
		}
	}
	if len(contexts) != len(want) {
		t.Errorf("%d contexts, want %d", len(contexts), len(want))
	}
}

// Without metrics, a histogram wants nothing: under a span that is not recorded, a measure is not even timed.
func TestMeasureWithoutMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		meters metric.MeterProvider
		want   bool
	}{"no metrics": {noopmetric.NewMeterProvider(), false}, "metrics": {sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())), true}} {
		t.Run(name, func(t *testing.T) {
			timed := false
			tl := observer.NewTimeline(observer.TimelineOptions{
				Clock: func() time.Duration { timed = true; return 0 }, Scheduler: func(func()) {},
			})
			h, err := bridge.NewMeasureHistogram(bridge.MeasureConfig{Names: []string{"*"}, Timeline: tl, MeterProvider: c.meters})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Stop()
			spans := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: never})
			ctx, span := spans.Tracer("test").Start(observer.NewContext(t.Context(), tl), "dropped")
			timed = false
			marks.Time(ctx, "a").End()
			if timed != c.want {
				t.Errorf("the measure was timed: %t, want %t", timed, c.want)
			}
			span.End()
			if err := spans.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A view of the SDK keeps fewer attributes, or makes the histogram exponential.
func TestMeasureViews(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	reader := sdkmetric.NewManualReader()
	h, err := bridge.NewMeasureHistogram(bridge.MeasureConfig{
		Names: []string{"*"}, Timeline: tl,
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(sdkmetric.NewView(
			sdkmetric.Instrument{Name: "perfline.measure.*"},
			sdkmetric.Stream{
				Aggregation:     sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20},
				AttributeFilter: attribute.NewDenyKeysFilter("perfline.measure.name"),
			}))),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Stop()
	ctx := observer.NewContext(t.Context(), tl)
	marks.Time(ctx, "a").End()
	marks.Time(ctx, "b").End()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got, ok := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.ExponentialHistogram[float64])
	if !ok || len(got.DataPoints) != 1 || got.DataPoints[0].Count != 2 {
		t.Errorf("got %+v, want one exponential point of 2 measures", all.ScopeMetrics[0].Metrics[0].Data)
	}
}
