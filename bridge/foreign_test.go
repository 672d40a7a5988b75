package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// joined are the entries of a timeline that came of spans.
func joined(tl *observer.Timeline) (out []string) {
	for _, e := range tl.Entries() {
		s := string(e.Type()) + " " + e.Name()
		if kind, ok := attr(&e, observer.InitiatorKey).(string); ok {
			s += " " + kind
		}
		out = append(out, s)
	}
	return out
}

// only is the one entry there is.
func only(t *testing.T, entries []observer.Entry) *observer.Entry {
	t.Helper()
	if len(entries) != 1 {
		t.Fatalf("%d entries, want 1: %v", len(entries), entries)
	}
	return &entries[0]
}

// attr is one attribute of an entry's detail, nil if it is not there.
func attr(e *observer.Entry, key string) any {
	for _, a := range e.Detail() {
		if a.Key == key {
			return a.Value.Any()
		}
	}
	return nil
}

// Spans of other instrumentation are entries of their request's timeline: calls
// are resources, by whom they call.
func TestForeignSpans(t *testing.T) { overAll(t, foreignSpans) }

func foreignSpans(t *testing.T, open func(bothproviders.Options) *rig) {
	for _, c := range []struct {
		kind  trace.SpanKind
		attrs []attribute.KeyValue
		want  string
	}{
		{trace.SpanKindInternal, nil, "measure s"},
		{trace.SpanKindServer, nil, "measure s"},
		{trace.SpanKindConsumer, []attribute.KeyValue{attribute.String("messaging.system", "kafka")}, "measure s"},
		{trace.SpanKindClient, nil, "resource s other"},
		{trace.SpanKindClient, []attribute.KeyValue{attribute.String("a", "b"), attribute.String("db.system.name", "postgresql")}, "resource s db"},
		{trace.SpanKindClient, []attribute.KeyValue{attribute.String("db.system", "redis")}, "resource s db"},
		{trace.SpanKindClient, []attribute.KeyValue{attribute.String("rpc.system.name", "grpc")}, "resource s grpc"},
		{trace.SpanKindClient, []attribute.KeyValue{attribute.String("rpc.system", "connect_rpc")}, "resource s connect_rpc"},
		{trace.SpanKindProducer, []attribute.KeyValue{attribute.String("messaging.system", "kafka")}, "resource s messaging"},
		{trace.SpanKindProducer, nil, "resource s other"},
		{trace.SpanKindClient, []attribute.KeyValue{attribute.String("http.request.method", "GET")}, "resource s fetch"},
		{trace.SpanKindClient, []attribute.KeyValue{attribute.String("http.method", "GET")}, "resource s fetch"},
	} {
		t.Run(fmt.Sprint(c.kind, c.attrs), func(t *testing.T) {
			r := open(bothproviders.Options{})
			ctx, end := r.request()
			defer end()
			tl := observer.FromContext(ctx)
			_, span := r.tracer.Start(ctx, "s", trace.WithSpanKind(c.kind), trace.WithAttributes(c.attrs...))
			if got := joined(tl); len(got) != 0 {
				t.Errorf("before its end there is %q", got)
			}
			span.End()
			if got := joined(tl); !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			ended := span.(sdktrace.ReadOnlySpan)
			e := tl.Entries()[0]
			if !e.Time().Equal(ended.StartTime()) || e.Duration() != ended.EndTime().Sub(ended.StartTime()) {
				t.Errorf("%v, want the span's times", e)
			}
			r.flush(t)
			r.got.one(t, "s") // not a second one of the entry
		})
	}
}

// A span outside of requests joins none, and no span joins twice.
func TestForeignSpansJoinOnce(t *testing.T) { overAll(t, foreignSpansJoinOnce) }

func foreignSpansJoinOnce(t *testing.T, open func(bothproviders.Options) *rig) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *rig, context.Context)
		want []string
	}{
		{"under the process's timeline", func(t *testing.T, r *rig, _ context.Context) {
			_, span := r.tracer.Start(r.ctx, "s")
			span.End()
			if got := joined(r.tl); len(got) != 0 {
				t.Errorf("the process's timeline has %q", got)
			}
		}, nil},
		{"of this module", func(_ *testing.T, r *rig, ctx context.Context) {
			_, span := r.provider.Tracer(scope.Name).Start(ctx, "s")
			span.End()
		}, nil},
		{"a measure's own span", func(_ *testing.T, _ *rig, ctx context.Context) {
			_, m := marks.Start(ctx, "m")
			m.End()
			marks.Time(ctx, "leaf").End()
		}, []string{"measure m", "measure leaf"}},
		{"ended twice", func(_ *testing.T, r *rig, ctx context.Context) {
			_, span := r.tracer.Start(ctx, "s")
			span.End()
			span.End()
		}, []string{"measure s"}},
		{"one inside another", func(_ *testing.T, r *rig, ctx context.Context) {
			ctx, outer := r.tracer.Start(ctx, "outer")
			_, inner := r.tracer.Start(ctx, "inner")
			inner.End()
			outer.End()
		}, []string{"measure outer", "measure inner"}},
		{"two processors at one provider", func(t *testing.T, r *rig, ctx context.Context) {
			second := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: r.tl})
			defer func() { _ = second.Shutdown(t.Context()) }()
			r.provider.RegisterSpanProcessor(second)
			_, span := r.tracer.Start(ctx, "s")
			span.End()
		}, []string{"measure s"}},
		{"a second timeline's processor at the provider", func(t *testing.T, r *rig, ctx context.Context) {
			other := observer.NewTimeline(observer.TimelineOptions{})
			r.provider.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: other}))
			_, span := r.tracer.Start(ctx, "s")
			span.End()
			theirs := other.NewChild()
			_, span = r.tracer.Start(observer.NewContext(r.ctx, theirs), "theirs")
			span.End()
			if got := joined(theirs); !slices.Equal(got, []string{"measure theirs"}) {
				t.Errorf("the other request has %q", got)
			}
		}, []string{"measure s"}},
		{"a provider without a processor", func(t *testing.T, _ *rig, ctx context.Context) {
			other := sdktrace.NewTracerProvider()
			_, span := other.Tracer("t").Start(ctx, "s")
			span.End()
			if err := other.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}, nil},
		{"not sampled", func(t *testing.T, r *rig, ctx context.Context) {
			_, span := r.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, remoteSpan(0)), "s")
			span.End()
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(bothproviders.Options{})
			ctx, end := r.request()
			defer end()
			tl := observer.FromContext(ctx)
			c.run(t, r, ctx)
			if got := joined(tl); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A span that outlives its request reaches the process's observers, with its
// times and attributes.
func TestForeignSpanOutlivesItsRequest(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) { outlives(t, open(bothproviders.Options{})) })
}

func outlives(t *testing.T, r *rig) {
	var measures []observer.Entry
	obs, err := r.tl.Observe(func(l observer.List) { measures = append(measures, l.Entries()...) }, observer.Options{Type: observer.Measure})
	if err != nil {
		t.Fatal(err)
	}
	defer obs.Disconnect()
	ctx, end := r.request()
	request := observer.FromContext(ctx)
	_, span := r.tracer.Start(ctx, "late")
	end()
	r.tl.Deliver()
	if n := len(measures); n != 0 {
		t.Errorf("%d entries before its end", n)
	}
	span.SetAttributes(attribute.Int64("n", 1))
	span.End()
	r.tl.Deliver()
	if e := only(t, measures); e.Name() != "late" || e.Timeline() != request || attr(e, "n") != int64(1) {
		t.Errorf("got %v with n=%v", e, attr(e, "n"))
	}
}

// The attributes of a span are the entry's, frozen as if they had been given to it.
func TestForeignAttributes(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		foreignAttributes(t, open(bothproviders.Options{}))
	})
}

func foreignAttributes(t *testing.T, r *rig) {
	request, end := r.request()
	defer end()
	ctx, span := r.tracer.Start(request, "s", trace.WithAttributes(
		attribute.String("a", "b"), attribute.StringSlice("list", []string{"x", "y"}), attribute.Bool("yes", true),
		attribute.ByteSlice("bytes", []byte("ab")), attribute.Map("map", attribute.Int("n", 1)), attribute.Float64("f", .5)))
	span.End()
	e := only(t, entriesOf(request))
	if b, ok := attr(e, "bytes").([]byte); !ok || string(b) != "ab" {
		t.Errorf("bytes are %v, want bytes", attr(e, "bytes"))
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name, EntryType string
		Detail          map[string]any
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"span_id": trace.SpanContextFromContext(ctx).SpanID().String(), "scope": "test", "a": "b", "list": []any{"x", "y"},
		"yes": true, "bytes": "YWI=", "map": `{"n":1}`, "f": 0.5,
	}
	if got.Name != "s" || got.EntryType != "measure" || !reflect.DeepEqual(got.Detail, want) {
		t.Errorf("got  %s\nwant the detail %v", data, want)
	}
}

// Spans made with times of their own keep them.
func TestForeignSpanOfAnotherTime(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		ctx, end := r.request()
		defer end()
		start := observer.FromContext(ctx).Origin().Add(-time.Hour)
		_, span := r.tracer.Start(ctx, "s", trace.WithTimestamp(start))
		span.End(trace.WithTimestamp(start.Add(time.Minute)))
		if e := only(t, entriesOf(ctx)); e.StartTime() != -time.Hour || e.Duration() != time.Minute {
			t.Errorf("got %v, want one hour before the request, for a minute", e)
		}
	})
}

// A context may contain the ids of a span without the span. A measure is then a child of these ids.
func TestMeasureUnderASpanContext(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := sdktrace.NewTracerProvider()
	tp.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl, TracerProvider: tp}))
	t.Cleanup(func() { _ = tp.Shutdown(context.Background()) })
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	_, timing := marks.Start(observer.NewContext(trace.ContextWithSpanContext(t.Context(), parent), tl), "m")
	timing.End()
	entries := tl.Entries()
	if len(entries) != 1 || (*record.Entry)(&entries[0]).Span().Self == (record.ID{}) || (*record.Entry)(&entries[0]).Span().Parent != record.ID(parent.SpanID()) {
		t.Errorf("entries %v with the ids %+v, want one with an id of its own, under the parent", entries, (*record.Entry)(&entries[0]).Span())
	}
}
