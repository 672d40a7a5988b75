package bridge_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A markOutcome is what becomes of marks: the names of events and of log records, and the counts that are not 0.
type markOutcome struct {
	events, records string
	stats           bridge.Stats
}

// A markSituation makes marks. It says what becomes of them with each form, over a provider whose marks wait in journals, and over the others
// if they differ.
type markSituation struct {
	name    string
	options bothproviders.Options
	do      func(*rig)
	want    [3]markOutcome
	atOnce  *[3]markOutcome // of the provider with a processor, and of the SDK's; nil for the same
}

var (
	nothing  = markOutcome{}
	anEvent  = markOutcome{"m", "", bridge.Stats{MarkEvents: 1}}
	aRecord  = markOutcome{"", "m", bridge.Stats{MarkRecords: 1}}
	bothOfIt = markOutcome{"m", "m", bridge.Stats{MarkEvents: 1}}
)

var markSituations = []markSituation{
	{
		name: "under a span",
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			marks.Mark(ctx, "m")
			span.End()
		},
		want: [3]markOutcome{anEvent, aRecord, bothOfIt},
	},
	{
		name: "under a child whose root is open",
		do: func(r *rig) {
			ctx, _ := r.tracer.Start(r.ctx, "root")
			ctx, child := r.tracer.Start(ctx, "child")
			marks.Mark(ctx, "m")
			child.End()
		},
		want: [3]markOutcome{anEvent, aRecord, bothOfIt},
	},
	{
		name: "under a measure",
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			ctx, measure := marks.Start(ctx, "measure")
			marks.Mark(ctx, "m")
			measure.End()
			span.End()
		},
		want: [3]markOutcome{{"m", "", bridge.Stats{MarkEvents: 1, MeasureSpans: 1}}, {"", "m", bridge.Stats{MarkRecords: 1, MeasureSpans: 1}}, {"m", "m", bridge.Stats{MarkEvents: 1, MeasureSpans: 1}}},
	},
	{
		name: "under a span of another provider",
		do: func(r *rig) {
			other := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.got))
			ctx, span := other.Tracer("other").Start(r.ctx, "span")
			marks.Mark(ctx, "m")
			span.End()
		},
		want: [3]markOutcome{anEvent, aRecord, bothOfIt},
	},
	{
		name: "on the timeline of a request, under its span",
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			marks.Mark(observer.NewContext(ctx, r.tl.NewChild()), "m")
			span.End()
		},
		want: [3]markOutcome{anEvent, aRecord, bothOfIt},
	},
	{
		name: "under no span",
		do:   func(r *rig) { marks.Mark(r.ctx, "m") },
		want: [3]markOutcome{aRecord, aRecord, aRecord},
	},
	{
		name: "under no span, on a timeline of its own",
		do:   func(r *rig) { marks.Mark(observer.NewContext(r.ctx, r.tl.NewChild()), "m") },
		want: [3]markOutcome{aRecord, aRecord, aRecord},
	},
	{
		name: "under a span context that is not valid",
		do: func(r *rig) {
			half := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, TraceFlags: trace.FlagsSampled})
			marks.Mark(trace.ContextWithSpanContext(r.ctx, half), "m")
		},
		want: [3]markOutcome{aRecord, aRecord, aRecord},
	},
	{
		name: "under a remote span",
		do:   func(r *rig) { marks.Mark(trace.ContextWithSpanContext(r.ctx, spanContext(true, true)), "m") },
		want: [3]markOutcome{aRecord, aRecord, aRecord},
	},
	{
		name: "under a remote span that is not sampled",
		do:   func(r *rig) { marks.Mark(trace.ContextWithSpanContext(r.ctx, spanContext(false, true)), "m") },
		want: [3]markOutcome{nothing, nothing, nothing},
	},
	{
		name: "under a span that the sampler dropped", options: bothproviders.Options{Sampler: never},
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			marks.Mark(ctx, "m")
			_, err := marks.Measure(ctx, "measure", marks.MeasureOptions{})
			span.End()
			marks.Mark(ctx, "late")
			if err != nil {
				panic(err)
			}
		},
		want: [3]markOutcome{nothing, nothing, nothing},
	},
	{
		name: "under a span that is recorded and not sampled", options: bothproviders.Options{Sampler: recordOnly},
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			marks.Mark(ctx, "m")
			span.End()
			marks.Mark(ctx, "late")
		},
		// The span reaches the processors. It is not exported.
		want: [3]markOutcome{
			{"", "", bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1}}, {"", "", bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1}}, {"", "", bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1}},
		},
		atOnce: &[3]markOutcome{
			{"m", "", bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1}}, {"m", "", bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1}}, {"m", "", bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1}},
		},
	},
	{
		name: "after its span's end",
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			span.End()
			marks.Mark(ctx, "m")
		},
		want: [3]markOutcome{aRecord, aRecord, aRecord},
	},
	{
		name: "after the end of a child, and of the root",
		do: func(r *rig) {
			ctx, root := r.tracer.Start(r.ctx, "root")
			inside, child := r.tracer.Start(ctx, "child")
			child.End()
			marks.Mark(inside, "1")
			root.End()
			marks.Mark(inside, "2")
			marks.Mark(ctx, "3")
		},
		want: [3]markOutcome{{"", "1 2 3", bridge.Stats{MarkRecords: 3}}, {"", "1 2 3", bridge.Stats{MarkRecords: 3}}, {"", "1 2 3", bridge.Stats{MarkRecords: 3}}},
	},
	{
		name: "under a child that ends after the root",
		do: func(r *rig) {
			ctx, root := r.tracer.Start(r.ctx, "root")
			ctx, child := r.tracer.Start(ctx, "child")
			root.End()
			marks.Mark(ctx, "m")
			child.End()
		},
		want: [3]markOutcome{anEvent, aRecord, bothOfIt},
	},
	{
		name: "over the limit of events", options: bothproviders.Options{Limits: limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit = 1 })},
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			for i := range 3 {
				marks.Mark(ctx, fmt.Sprint(i))
			}
			span.End()
		},
		want: [3]markOutcome{
			{"2", "", bridge.Stats{MarkEvents: 1, MarksOverLimit: 2}}, {"", "0 1 2", bridge.Stats{MarkRecords: 3}}, {"2", "0 1 2", bridge.Stats{MarkEvents: 1, MarkRecords: 2}},
		},
		atOnce: &[3]markOutcome{
			{"2", "", bridge.Stats{MarkEvents: 3}}, {"", "0 1 2", bridge.Stats{MarkRecords: 3}}, {"2", "0 1 2", bridge.Stats{MarkEvents: 3}},
		},
	},
	{
		name: "with other events", options: bothproviders.Options{},
		do: func(r *rig) {
			ctx, span := r.tracer.Start(r.ctx, "span")
			span.AddEvent("own")
			marks.Mark(ctx, "m")
			span.RecordError(errors.New("failed"))
			span.End()
		},
		want: [3]markOutcome{
			{"own m exception", "", bridge.Stats{MarkEvents: 1}}, {"own exception", "m", bridge.Stats{MarkRecords: 1}}, {"own m exception", "m", bridge.Stats{MarkEvents: 1}},
		},
	},
	{
		name: "under a span that never ends",
		do: func(r *rig) {
			ctx, _ := r.tracer.Start(r.ctx, "span")
			marks.Mark(ctx, "m")
		},
		want: [3]markOutcome{{"", "", bridge.Stats{MarksOfOpenSpans: 1}}, aRecord, aRecord},
		atOnce: &[3]markOutcome{
			{"", "", bridge.Stats{MarkEvents: 1}}, aRecord, {"", "m", bridge.Stats{MarkEvents: 1}},
		},
	},
}

// Marks become what the situation says, for each form, over each provider.
func TestMarkForms(t *testing.T) {
	for _, c := range markSituations {
		t.Run(c.name, func(t *testing.T) {
			overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
				overForms(t, func(t *testing.T, form bridge.MarkForm) {
					logs, o := &logRecords{}, c.options
					o.Marks, o.Logs = form, logs
					r := open(o)
					c.do(r)
					r.flush(t)
					if err := r.provider.Shutdown(t.Context()); err != nil {
						t.Fatal(err)
					}
					want := c.want[form]
					if c.atOnce != nil && !strings.HasSuffix(t.Name(), bothproviders.Perfline+"/"+form.String()) {
						want = c.atOnce[form]
					}
					got := markOutcome{records: strings.Join(logs.names(t), " "), stats: r.stats()}
					for _, s := range r.got.all() {
						got.events = strings.TrimSpace(got.events + " " + strings.Join(events(s), " "))
					}
					got.stats.OtherSpans = 0
					if got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
				})
			})
		})
	}
}

// Without an output for log records, each form is span events.
func TestMarkFormsWithoutOutput(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		overForms(t, func(t *testing.T, form bridge.MarkForm) {
			r := open(bothproviders.Options{Marks: form})
			marks.Mark(r.ctx, "loose")
			ctx, span := r.tracer.Start(r.ctx, "span")
			marks.Mark(ctx, "m")
			span.End()
			marks.Mark(ctx, "late")
			marks.Mark(trace.ContextWithSpanContext(r.ctx, spanContext(true, true)), "remote")
			r.flush(t)
			if got := events(r.got.one(t, "span")); !slices.Equal(got, []string{"m"}) {
				t.Errorf("events %q, want m", got)
			}
			got := r.stats()
			got.OtherSpans = 0
			if want := (bridge.Stats{MarkEvents: 1, MarksAfterEnd: 1, MarksWithoutSpan: 2}); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	})
}

// A log record has what the event would have: name, time, attributes, and the context of the span.
func TestMarkRecordIsLikeItsEvent(t *testing.T) {
	attrs := []slog.Attr{
		slog.String("text", "ä"), slog.Bool("bool", true), slog.Int("int", -1), slog.Uint64("large", 1<<63), slog.Float64("float", 1.5),
		slog.Duration("duration", time.Second), slog.Time("time", time.Unix(1, 2)), slog.Group("group", slog.Int("a", 1), slog.Group("b", slog.Int("c", 2))),
		slog.Any("texts", []string{"a", "b\xff"}), slog.Any("bytes", []byte{1, 2}), slog.Any("error", errors.New("failed")),
		slog.Int("", 1), slog.String("twice", "first"), slog.String("bad\xff", "\xfe"), slog.String("twice", "last"),
	}
	for name, attrs := range map[string][]slog.Attr{"no attributes": nil, "plain": attrs[:5], "all kinds": attrs} {
		t.Run(name, func(t *testing.T) {
			overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
				logs := &logRecords{}
				r := open(bothproviders.Options{Marks: bridge.SpanEventsAndLogRecords, Logs: logs})
				ctx, span := r.tracer.Start(r.ctx, "span")
				marks.Mark(ctx, "na\xffme", attrs...)
				span.End()
				marks.Mark(ctx, "late", attrs...)
				marks.Mark(r.ctx, "loose", attrs...)
				remote := spanContext(true, true)
				marks.Mark(trace.ContextWithSpanContext(r.ctx, remote), "remote", attrs...)
				r.flush(t)
				e := r.got.one(t, "span").Events()[0]
				for name, sc := range map[string]trace.SpanContext{
					"na\ufffdme": span.SpanContext(), "late": span.SpanContext(), "loose": {}, "remote": remote,
				} {
					l := logs.one(t, name)
					context := "  00"
					if sc.IsValid() {
						context = flatContext(sc)
					}
					if got := contextOf(l); got != context {
						t.Errorf("%s: the context is %s, want %s", name, got, context)
					}
					if got, want := recordText(l), text(e.Attributes); got != want {
						t.Errorf("%s: the attributes are\n%s, want\n%s", name, got, want)
					}
					if l.GetTimeUnixNano() == 0 || l.GetObservedTimeUnixNano() != l.GetTimeUnixNano() || l.GetBody() != nil || l.GetSeverityNumber() != 0 || l.GetDroppedAttributesCount() != 0 {
						t.Errorf("%s: %v", name, l)
					}
				}
				if l := logs.one(t, e.Name); l.GetTimeUnixNano() != uint64(e.Time.UnixNano()) {
					t.Errorf("the record is of %d, the event of %d", l.GetTimeUnixNano(), e.Time.UnixNano())
				}
				for i, s := range logs.scopes {
					if s.GetScope().GetName() != scope.Name || len(logs.resource[i].GetResource().GetAttributes()) != resource.Default().Len() {
						t.Errorf("the scope is %v, and the resource %v", s.GetScope(), logs.resource[i].GetResource())
					}
				}
			})
		})
	}
}

// Limits of log records are read from the environment. They hold for log records alone.
func TestMarkRecordLimits(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "2", "a=STRING:äöüß b=INT64:1 dropped 1"},
		{"OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "0", " dropped 3"},
		{"OTEL_ATTRIBUTE_COUNT_LIMIT", "1", "a=STRING:äöüß dropped 2"},
		{"OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2", "a=STRING:äö b=INT64:1 c=STRINGSLICE:[xy z] dropped 0"},
		{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1", "a=STRING:ä b=INT64:1 c=STRINGSLICE:[x z] dropped 0"},
		{"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "1", "a=STRING:äöüß b=INT64:1 c=STRINGSLICE:[xyz z] dropped 0"},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
				logs := &logRecords{}
				r := open(bothproviders.Options{Marks: bridge.LogRecords, Logs: logs})
				ctx, span := r.tracer.Start(r.ctx, "span")
				attrs := []slog.Attr{slog.String("a", "äöüß"), slog.Int("b", 1), slog.Any("c", []string{"xyz", "z"})}
				marks.Mark(ctx, "m", attrs...)
				marks.Mark(r.ctx, "loose", attrs...)
				span.End()
				for _, name := range []string{"m", "loose"} {
					l := logs.one(t, name)
					if got := fmt.Sprint(recordText(l), " dropped ", l.GetDroppedAttributesCount()); got != c.want {
						t.Errorf("%s: %s, want %s", name, got, c.want)
					}
				}
			})
		})
	}
}

// With both kinds of outputs, the recorders get the events, and the exporters get spans with the same ids without them.
func TestMarkFormsOfRecorders(t *testing.T) {
	overForms(t, func(t *testing.T, form bridge.MarkForm) {
		recorded, logs := &exportedSpans{}, &logRecords{}
		tp, exported := ownProvider(t, bridge.TracerProviderConfig{Recorders: []bridge.Output{recorded}, Marks: form, Logs: logs})
		ctx, root := tp.Tracer("t").Start(t.Context(), "root")
		root.AddEvent("own")
		marks.Mark(ctx, "m", slog.Any("texts", []string{"a"}))
		for i := range 3 {
			marks.Time(ctx, fmt.Sprint("measure ", i), slog.Any("texts", []string{"a"})).End()
			_, child := tp.Tracer(fmt.Sprint("other ", i)).Start(ctx, fmt.Sprint("child ", i), trace.WithAttributes(attribute.Int("i", i)))
			child.End()
		}
		root.End()
		spans := exported.byName(t)
		if len(recorded.all()) != 7 || len(spans) != 7 {
			t.Fatalf("%d spans were recorded, and %d exported; want 7", len(recorded.all()), len(spans))
		}
		for _, s := range recorded.all() {
			e := spans[s.Name]
			if s.SpanID != e.SpanID || s.ParentID != e.ParentID || text(s.Attributes) != text(e.Attributes) || s.Group != e.Group {
				t.Errorf("%s is recorded as %v under %v, and exported as %v under %v", s.Name, s.SpanID, s.ParentID, e.SpanID, e.ParentID)
			}
			if s.Name != "root" {
				continue
			}
			want := "own m"
			if got := strings.Join(eventNames(s.Events), " "); got != want {
				t.Errorf("the recorded events are %q, want %q", got, want)
			}
			if form == bridge.LogRecords {
				want = "own"
			}
			if got := strings.Join(eventNames(e.Events), " "); got != want || e.DroppedEvents != 0 {
				t.Errorf("the exported events are %q, want %q; %d are dropped", got, want, e.DroppedEvents)
			}
		}
		want := [...]bridge.Stats{{MarkEvents: 1}, {MarkRecords: 1}, {MarkEvents: 1}}[form]
		want.MeasureSpans, want.OtherSpans = 3, 4
		if got := tp.Stats(); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// Log records need no other output.
func TestMarkRecordsAlone(t *testing.T) {
	overForms(t, func(t *testing.T, form bridge.MarkForm) {
		logs := &logRecords{}
		tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}), Marks: form, Logs: logs, Limits: limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit = 1 }),
		})
		ctx, span := tp.Tracer("t").Start(t.Context(), "span")
		marks.Mark(ctx, "1")
		marks.Mark(ctx, "2")
		if err := tp.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		marks.Mark(ctx, "3")
		span.End()
		marks.Mark(ctx, "late")
		open, _ := tp.Tracer("t").Start(t.Context(), "open")
		marks.Mark(open, "open")
		if err := tp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		marks.Mark(ctx, "after Shutdown")
		want, records := "1 2 3 late open", uint64(6) // the output knows of the one after its Shutdown
		lost := uint64(0)
		if form == bridge.SpanEvents {
			want, records, lost = "late", 2, 1 // of the span that is open; no output takes the other
		}
		if got := strings.Join(logs.names(t), " "); got != want || logs.flushes != 2 || logs.downs != 1 || logs.late != 1 {
			t.Errorf("records %q, want %q; %d flushes, %d shutdowns, %d records after it", got, want, logs.flushes, logs.downs, logs.late)
		}
		if s := tp.Stats(); s.MarkRecords != records || s.Lost() != lost || s.MarkEvents != 0 {
			t.Errorf("%+v, want %d records and %d lost", s, records, lost)
		}
	})
}

// A form that does not exist is span events.
func TestUnknownMarkForm(t *testing.T) {
	const unknown = bridge.MarkForm(3)
	logs := &logRecords{}
	tp, got := ownProvider(t, bridge.TracerProviderConfig{Marks: unknown, Logs: logs})
	ctx, span := tp.Tracer("t").Start(t.Context(), "span")
	marks.Mark(ctx, "m")
	span.End()
	if s := got.byName(t)["span"]; len(s.Events) != 1 || len(logs.all(t)) != 0 || unknown.String() != "MarkForm(3)" {
		t.Errorf("%d events, %d records, form %v", len(s.Events), len(logs.all(t)), unknown)
	}
}
