package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// marksDifferences are differences of marks and measures, with a bridge.Processor beside the SDK's provider. They are there while no processor
// is registered with perfline's provider and its sampler samples children as their parents.
var marksDifferences = []providerDifference{
	{
		what: "`Events()` of an open span, by type assertion, after `marks.Mark`", sdk: "has the mark", perfline: "lacks the mark",
		why: "Marks wait in the journal until the span ends.",
		observe: func(t *testing.T, start newProvider) string {
			ctx, s := startUnder(t, start, nil)
			marks.Mark(ctx, "mark")
			return either(len(readEvents(s)) == 1, "has the mark", "lacks the mark")
		},
	},
	{
		what: "A processor that is registered while a span is open sees, at its end,", sdk: "all marks of the span", perfline: "the later marks of the span",
		why: "The earlier ones wait in the journal. Exporters receive all.",
		observe: func(t *testing.T, start newProvider) string {
			tl := observer.NewTimeline(observer.TimelineOptions{})
			p := start(t, providerConfig{timeline: tl})
			ctx, s := p.Tracer("test").Start(observer.NewContext(t.Context(), tl), "span")
			marks.Mark(ctx, "earlier")
			var seen string
			p.RegisterSpanProcessor(&hook{end: func(s sdktrace.ReadOnlySpan) { seen = strings.Join(events(s), " ") }})
			marks.Mark(ctx, "later")
			s.End()
			switch seen {
			case "earlier later":
				return "all marks of the span"
			case "later":
				return "the later marks of the span"
			default:
				return seen
			}
		},
	},
	{
		what: "The events of a span with marks are in the order of", sdk: "the calls", perfline: "their times",
		why: "Marks and events are put together when the span is encoded. It matters for events with `trace.WithTimestamp`.",
		observe: func(t *testing.T, start newProvider) string {
			exported := &exportedSpans{}
			got := &recorder{}
			ctx, s := startUnder(t, start, func(c *providerConfig) { c.exporter = exported })
			if p, ok := s.TracerProvider().(*sdktrace.TracerProvider); ok {
				p.RegisterSpanProcessor(got)
			}
			marks.Mark(ctx, "mark")
			s.AddEvent("earlier", trace.WithTimestamp(time.Now().Add(-time.Hour)))
			s.End()
			var first string
			for _, s := range got.all() {
				first = s.Events()[0].Name
			}
			for _, s := range exported.all() {
				first = s.Events[0].Name
			}
			return either(first == "mark", "the calls", "their times")
		},
	},
	{
		what: "With `Logs`, a mark under an open span becomes a log record", sdk: "at once", perfline: "with the next part of its unit, within 5 s",
		why: "Marks wait in the journal. A mark under no span, or after its span's end, does not wait.",
		observe: func(t *testing.T, start newProvider) string {
			logs := &logRecords{}
			ctx, s := startUnder(t, start, func(c *providerConfig) { c.logs = logs })
			marks.Mark(ctx, "mark")
			before := len(logs.all(t))
			if err := s.TracerProvider().(anyProvider).ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(either(before == 1, "at once", "with the next part of its unit, within 5 s"), either(len(logs.all(t)) == 1, "", ", or never"))
		},
	},
	{
		what: "An `IDGenerator` makes the id of a measure of `marks.Time`", sdk: "when the measure ends", perfline: "when its unit is handed over",
		why: "Most measures become spans while they are encoded.",
		observe: func(t *testing.T, start newProvider) string {
			ids := &counter{}
			ctx, _ := startUnder(t, start, func(c *providerConfig) { c.ids = ids })
			before := ids.spans
			marks.Time(ctx, "measure").End()
			return either(ids.spans > before, "when the measure ends", "when its unit is handed over")
		},
	},
	{
		what: "ChildSpanCount of a span counts, of a measure of `marks.Time` and one of `marks.Start`,", sdk: "2", perfline: "1",
		why: "The former is no span before it is encoded. OTLP does not carry the count.",
		observe: func(t *testing.T, start newProvider) string {
			ctx, s := startUnder(t, start, nil)
			marks.Time(ctx, "measure").End()
			_, m := marks.Start(ctx, "measure")
			m.End()
			return fmt.Sprint(s.(sdktrace.ReadOnlySpan).ChildSpanCount())
		},
	},
}

// startUnder starts a span of a provider that has joined a timeline.
func startUnder(t *testing.T, start newProvider, change func(*providerConfig)) (context.Context, trace.Span) {
	c := providerConfig{timeline: observer.NewTimeline(observer.TimelineOptions{})}
	if change != nil {
		change(&c)
	}
	return start(t, c).Tracer("test").Start(observer.NewContext(t.Context(), c.timeline), "span")
}
