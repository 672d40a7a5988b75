//go:build !race

// One goroutine at a time has no races, and the race detector would take minutes.

package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/spanfuzz"
	"github.com/perfline/perfline/marks"
)

// The journal's judge does the same with our provider, whose marks and measures wait in journals, and with the SDK's, where a
// bridge.Processor makes them events and spans at once. The same spans must arrive, with the same parents, events and attributes. Ids are
// random: spans are told apart by their names. Events have no times of their own, because ours are sorted by time.
type journalJudge struct {
	spanfuzz.Source
	t       *testing.T
	keeps   bool            // see newKeepJudge
	sides   [2]*journalSide // ours, the SDK's
	n       int             // of names
	history []string
}

type journalSide struct {
	*rig
	foreign  *sdktrace.TracerProvider // another provider's spans come in between
	contexts []context.Context
	spans    []trace.Span
	timings  []*marks.Timing
}

func newJournalJudge(t *testing.T, data []byte) *journalJudge {
	t.Helper()
	j := &journalJudge{Source: spanfuzz.Source{Data: data, MaxDepth: 4}, t: t}
	l := sdktrace.NewSpanLimits()
	if j.Below(2) == 0 {
		for _, field := range []*int{&l.AttributeValueLengthLimit, &l.AttributeCountLimit, &l.EventCountLimit, &l.LinkCountLimit, &l.AttributePerEventCountLimit} {
			*field = j.Below(7) - 1
		}
	}
	sampler := always
	if j.Below(8) == 0 {
		sampler = sdktrace.ParentBased(never)
	}
	for i, provider := range []string{bothproviders.Perfline, bothproviders.SDK} {
		r := newRig(t, provider, bothproviders.Options{Limits: &l, Sampler: sampler})
		s := &journalSide{rig: r, contexts: []context.Context{r.ctx}}
		s.foreign = sdktrace.NewTracerProvider(sdktrace.WithRawSpanLimits(l), sdktrace.WithSpanProcessor(r.got))
		j.sides[i] = s
	}
	return j
}

// reasonText is the attribute for the reason in the text of a span, after others or alone.
var reasonText = regexp.MustCompile(`(, )?(?: )?` + regexp.QuoteMeta(local.KeepReasonKey) + `=STRING:\w+`)

// newKeepJudge returns a judge of requests that a policy keeps. Our provider samples all on one side. On the other side, its sampler drops
// all, and the policy keeps all. The same spans must arrive, but for their flags. All spans are requests, which end.
func newKeepJudge(t *testing.T, data []byte) *journalJudge {
	t.Helper()
	j := &journalJudge{Source: spanfuzz.Source{Data: data, MaxDepth: 4}, t: t, keeps: true}
	l := sdktrace.NewSpanLimits()
	if j.Below(2) == 0 {
		l.EventCountLimit, l.AttributeCountLimit = j.Below(7)-1, j.Below(7)-1
	}
	for i, o := range []bothproviders.Options{
		{Limits: &l, Sampler: never, Keep: &bridge.KeepPolicy{Share: 1, PerSecond: -1}}, {Limits: &l, Sampler: sdktrace.AlwaysSample()},
	} {
		r := newRig(t, bothproviders.Perfline, o)
		s := &journalSide{rig: r}
		s.foreign = sdktrace.NewTracerProvider(sdktrace.WithRawSpanLimits(l), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(r.got))
		ctx, span := r.tracer.Start(r.ctx, "the first", trace.WithSpanKind(trace.SpanKindConsumer))
		s.contexts, s.spans = []context.Context{ctx}, []trace.Span{span}
		j.sides[i] = s
	}
	return j
}

// both does something on both sides, at a time of its own.
func (j *journalJudge) both(do func(*journalSide), format string, args ...any) {
	j.history = append(j.history, fmt.Sprintf(format, args...))
	for _, s := range j.sides {
		do(s)
	}
	time.Sleep(time.Nanosecond)
}

func (j *journalJudge) name(what string) string {
	j.n++
	return fmt.Sprint(what, " ", j.n)
}

func (j *journalJudge) run() {
	for len(j.Data) > 0 && len(j.history) < 300 {
		j.operation()
	}
	for i := range j.sides[0].spans { // some never end
		if j.keeps || j.Below(4) > 0 {
			j.both(func(s *journalSide) { s.spans[i].End() }, "end %d", i)
		}
	}
	j.compare()
}

func (j *journalJudge) operation() {
	ours := j.sides[0]
	under := len(ours.contexts) - 1 - j.Below(min(len(ours.contexts), 6))
	attrs, more, fails := j.attrs(), j.attrs(), j.Below(4) == 0
	failure := error(nil)
	if fails {
		failure = errors.New(j.name("failure"))
	}
	switch j.Below(16) {
	case 0, 1:
		j.start(under)
	case 2, 3, 4:
		name := j.name("mark")
		j.both(func(s *journalSide) { marks.Mark(s.contexts[under], name, attrs...) }, "%s under %d", name, under)
	case 5:
		name := j.name("measure")
		j.both(func(s *journalSide) {
			t := marks.Time(s.contexts[under], name, attrs...)
			t.Fail(failure)
			t.End(more...)
		}, "%s under %d, fails %t", name, under, fails)
	case 6:
		name := j.name("timed")
		j.both(func(s *journalSide) { s.timings = append(s.timings, marks.Time(s.contexts[under], name, attrs...)) }, "%s under %d", name, under)
	case 7, 8:
		name := j.name("started")
		j.both(func(s *journalSide) {
			ctx, t := marks.Start(s.contexts[under], name, attrs...)
			s.contexts, s.timings = append(s.contexts, ctx), append(s.timings, t)
		}, "context %d: %s under %d", len(ours.contexts), name, under)
	case 9, 10:
		if n := len(ours.timings); n > 0 {
			i := j.Below(n)
			j.both(func(s *journalSide) {
				s.timings[i].Fail(failure)
				s.timings[i].End(more...)
			}, "end of timing %d, fails %t", i, fails)
		}
	case 11:
		j.act(under, failure)
	case 12:
		if n := len(ours.spans); n > 0 {
			i := n - 1 - j.Below(min(n, 6))
			j.both(func(s *journalSide) { s.spans[i].End() }, "end %d", i)
		}
	case 13:
		d := []time.Duration{1, time.Millisecond, 3 * time.Second, 11 * time.Second}[j.Below(4)]
		j.both(func(*journalSide) {}, "sleep %v", d)
		time.Sleep(d)
	case 14:
		j.both(func(s *journalSide) { s.flush(j.t) }, "flush")
	default:
		j.look(under)
	}
}

// start starts a span, perhaps of another provider, or under a remote span.
func (j *journalJudge) start(under int) {
	kind, name := j.Below(8), j.name("span")
	caller := func(flags trace.TraceFlags) trace.SpanContext { // each another one: a request's own caller read again is TestCallerReadAgain's
		return remoteSpan(flags).WithSpanID(trace.SpanID{2, byte(j.n >> 8), byte(j.n)})
	}
	j.both(func(s *journalSide) {
		ctx, tracer := s.contexts[under], s.tracer
		var options []trace.SpanStartOption
		if j.keeps {
			options = append(options, trace.WithSpanKind(trace.SpanKindConsumer))
		}
		switch kind {
		case 0:
			options = append(options, trace.WithNewRoot())
		case 1:
			ctx = trace.ContextWithRemoteSpanContext(ctx, caller(trace.FlagsSampled))
		case 2:
			ctx = trace.ContextWithRemoteSpanContext(ctx, caller(0))
		case 3:
			if j.keeps { // the SDK's provider has other rules: TestAnotherProvidersSpanInBetween
				tracer = s.foreign.Tracer("foreign")
			}
		}
		ctx, span := tracer.Start(ctx, name, options...)
		s.contexts, s.spans = append(s.contexts, ctx), append(s.spans, span)
	}, "context %d, span %d: %s under %d, kind %d", len(j.sides[0].contexts), len(j.sides[0].spans), name, under, kind)
}

// act does what other libraries do with the active span.
func (j *journalJudge) act(under int, failure error) {
	kind, name := j.Below(5), j.name("own")
	value := attribute.String(fmt.Sprint("k", j.Below(6)), name)
	j.both(func(s *journalSide) {
		span := trace.SpanFromContext(s.contexts[under])
		switch kind {
		case 0, 1:
			span.AddEvent(name, trace.WithAttributes(value))
		case 2:
			span.SetAttributes(value)
		case 3:
			span.SetStatus(codes.Error, name)
			span.RecordError(failure)
		default:
			span.AddLink(trace.Link{SpanContext: remoteSpan(0), Attributes: []attribute.KeyValue{value}})
		}
	}, "%s under %d, kind %d", name, under, kind)
}

// look reads or clears the timeline, which changes no span, or registers a processor, so that marks do not wait any more.
func (j *journalJudge) look(under int) {
	switch j.Below(4) {
	case 0:
		j.both(func(s *journalSide) { marks.ClearMarks(s.contexts[under]) }, "clear")
	case 1:
		if j.Below(4) == 0 {
			j.both(func(s *journalSide) { s.provider.RegisterSpanProcessor(&hook{}) }, "a processor")
		}
	default:
		j.both(func(s *journalSide) { entriesOf(s.contexts[under]) }, "look")
	}
}

func (j *journalJudge) attrs() (attrs []slog.Attr) {
	for range max(0, j.Below(8)-4) {
		key := fmt.Sprint("k", j.Below(6))
		switch j.Below(3) {
		case 0:
			attrs = append(attrs, slog.String(key, strings.Repeat("ä", j.Below(8))))
		case 1:
			attrs = append(attrs, slog.Any(key, []string{"one", "two"}))
		default:
			attrs = append(attrs, slog.Int(key, j.Below(256)))
		}
	}
	return attrs
}

// compare compares what has arrived, and the counts.
func (j *journalJudge) compare() {
	j.t.Helper()
	var texts [2][]string
	var stats [2]bridge.Stats
	for i, s := range j.sides {
		if err := s.provider.Shutdown(context.Background()); err != nil {
			j.t.Error(err)
		}
		names := map[trace.SpanID]string{}
		for _, span := range append(s.got.all(), liveSpans(s)...) {
			names[span.SpanContext().SpanID()] = span.Name()
		}
		for _, span := range s.got.all() {
			text := journalText(span, names)
			if j.keeps {
				text = reasonText.ReplaceAllString(strings.Replace(text, ", flags 00,", ", flags 01,", 1), "$1")
			}
			texts[i] = append(texts[i], text)
		}
		slices.Sort(texts[i])
		stats[i] = s.stats()
		stats[i].MarkEvents, stats[i].MarksOverLimit, stats[i].MarksOfOpenSpans = stats[i].MarkEvents+stats[i].MarksOverLimit+stats[i].MarksOfOpenSpans, 0, 0
		stats[i].OtherSpans = 0 // counted by our provider alone
	}
	ours, sdk := texts[0], texts[1]
	for i := range max(len(ours), len(sdk)) {
		a, b := "nothing", "nothing"
		if i < len(ours) {
			a = ours[i]
		}
		if i < len(sdk) {
			b = sdk[i]
		}
		if a != b {
			j.t.Fatalf("a span is\n%s\nwant\n%s\nafter\n  %s", a, b, strings.Join(j.history, "\n  "))
		}
	}
	if stats[0] != stats[1] {
		j.t.Fatalf("stats %+v, want %+v\nafter\n  %s", stats[0], stats[1], strings.Join(j.history, "\n  "))
	}
}

// liveSpans returns the spans of a side's contexts, which may be parents that have not ended.
func liveSpans(s *journalSide) (all []sdktrace.ReadOnlySpan) {
	for _, ctx := range s.contexts {
		if span, ok := trace.SpanFromContext(ctx).(sdktrace.ReadOnlySpan); ok {
			all = append(all, span)
		}
	}
	return all
}

func journalText(s sdktrace.ReadOnlySpan, names map[trace.SpanID]string) string {
	parent := "no span"
	switch id := s.Parent().SpanID(); {
	case s.Parent().IsRemote():
		parent = id.String()
	case id.IsValid():
		parent = names[id]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s under %s of %s, kind %d, flags %s, status %v, from %v to %v, %s, dropped %d\n", s.Name(), parent, s.InstrumentationScope().Name, s.SpanKind(),
		s.SpanContext().TraceFlags().WithRandom(false), s.Status(), s.StartTime().UnixNano(), s.EndTime().UnixNano(), text(s.Attributes()), s.DroppedAttributes())
	for _, e := range s.Events() {
		fmt.Fprintf(&b, "  %s at %v %s, dropped %d\n", e.Name, e.Time.UnixNano(), text(e.Attributes), e.DroppedAttributeCount)
	}
	if len(s.Events()) > 0 { // the SDK forgets how many it dropped if the limit is 0
		fmt.Fprintf(&b, "  dropped %d events\n", s.DroppedEvents())
	}
	if len(s.Links()) > 0 {
		fmt.Fprintf(&b, "  %d links, dropped %d\n", len(s.Links()), s.DroppedLinks())
	}
	return b.String()
}

// A few thousand random programs.
func TestJournalIsLikeTheSDKs(t *testing.T) { judgePrograms(t, 20, newJournalJudge) }

// A request that is kept is the same as a sampled one.
func TestKeptIsLikeSampled(t *testing.T) { judgePrograms(t, 23, newKeepJudge) }

// The bytes say what a program does with marks, measures and spans.
func FuzzJournal(f *testing.F) { fuzzPrograms(f, 20, newJournalJudge) }

// The same, of requests that are kept.
func FuzzKept(f *testing.F) { fuzzPrograms(f, 23, newKeepJudge) }

func judgePrograms(t *testing.T, seed uint64, judge func(*testing.T, []byte) *journalJudge) {
	t.Helper()
	source := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		data := randomBytes(source, 100+source.IntN(2000))
		synctest.Test(t, func(t *testing.T) { judge(t, data).run() })
		if t.Failed() {
			t.Fatalf("the bytes are %q", data)
		}
	}
}

func fuzzPrograms(f *testing.F, seed uint64, judge func(*testing.T, []byte) *journalJudge) {
	f.Helper()
	source := rand.New(rand.NewPCG(seed, 1))
	for n := range 40 {
		f.Add(randomBytes(source, 50*(n+1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) { judge(t, data).run() })
	})
}
