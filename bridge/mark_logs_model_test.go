package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A markModel says what becomes of each mark of a random program.
type markModel struct {
	*rapid.T
	provider string
	form     bridge.MarkForm
	keep     *bridge.KeepPolicy
	limit    int // of events

	ctx      context.Context
	traces   bothproviders.Provider
	stats    func() bridge.Stats
	logs     *logRecords
	exported *recorder // or seen by a processor
	recorded *recorder // nil without recorders

	serial int
	spans  []*markedSpan
	marks  []modelMark
}

// A markedSpan is a span of the model, or of a measure.
type markedSpan struct {
	ctx    context.Context
	end    func()
	root   *markedSpan
	name   string
	ended  bool
	remote bool     // its parent is
	events []string // marks in time and other events
	own    []string // the other events
}

// A modelMark is a mark. Without a span, it is a loose one.
type modelMark struct {
	name string
	span *markedSpan
	late bool
}

func (s *markedSpan) sampled() bool { return trace.SpanContextFromContext(s.ctx).IsSampled() }

// isRecorded and isExported say what becomes of a span when it ends.
func (m *markModel) isRecorded(s *markedSpan) bool {
	return s.sampled() || m.keep != nil && m.keep.Share == 1 && s.root.ended
}

func (m *markModel) isExported(s *markedSpan) bool {
	return s.sampled() || m.isRecorded(s) && m.keep.Export && !s.root.remote
}

// Each mark of a random program is the events and the log records that the model says, in time, and counts once.
func TestMarkFormsAgainstModel(t *testing.T) {
	for _, provider := range bothproviders.All() {
		t.Run(provider, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { newMarkModel(t, provider).run() })
			})
		})
	}
}

func newMarkModel(t *rapid.T, provider string) *markModel {
	m := &markModel{T: t, provider: provider, logs: &logRecords{}, exported: &recorder{}}
	m.form = rapid.SampledFrom(allForms).Draw(t, "form")
	m.limit = rapid.SampledFrom([]int{-1, 0, 2}).Draw(t, "limit")
	sampler := rapid.SampledFrom([]sdktrace.Sampler{
		always, sdktrace.ParentBased(never), sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.5)), sdktrace.TraceIDRatioBased(0.5),
	}).Draw(t, "sampler")
	tl := observer.NewTimeline(observer.TimelineOptions{})
	m.ctx = observer.NewContext(context.Background(), tl)
	l := limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit = m.limit })
	if provider != bothproviders.Perfline {
		m.traces, m.stats = bothproviders.Open(provider, bothproviders.Options{Timeline: tl, Sampler: sampler, Limits: l, Marks: m.form, Logs: m.logs}, m.exported)
		return m
	}
	c := bridge.TracerProviderConfig{
		Timeline: tl, Sampler: sampler, Limits: l, Marks: m.form, Logs: m.logs, Exporters: []bridge.Output{bothproviders.Decoded{To: m.exported}},
	}
	if rapid.Bool().Draw(t, "recorders") {
		m.recorded = &recorder{}
		c.Recorders = []bridge.Output{bothproviders.Decoded{To: m.recorded}}
		if rapid.Bool().Draw(t, "keep") {
			m.keep = &bridge.KeepPolicy{
				Slow: -1, PerSecond: -1, Share: rapid.SampledFrom([]float64{0, 1}).Draw(t, "share"), Export: rapid.Bool().Draw(t, "export"),
			}
			c.Keep = m.keep
		}
	}
	tp := bridge.NewTracerProvider(c)
	m.traces, m.stats = tp, tp.Stats
	return m
}

func (m *markModel) run() {
	m.root(m.T)
	m.Repeat(map[string]func(*rapid.T){
		"":        func(*rapid.T) { time.Sleep(time.Microsecond) },
		"root":    m.root,
		"child":   m.child,
		"measure": m.measure,
		"mark":    m.mark,
		"many": func(t *rapid.T) {
			for range rapid.IntRange(1, 6).Draw(t, "marks") {
				m.mark(t)
			}
		},
		"loose": func(*rapid.T) { m.add(m.ctx, nil) },
		"loose on a child timeline": func(*rapid.T) {
			m.add(observer.NewContext(m.ctx, observer.FromContext(m.ctx).NewChild()), nil)
		},
		"remote":       func(*rapid.T) { m.add(trace.ContextWithSpanContext(m.ctx, spanContext(true, true)), nil) },
		"remote, none": func(*rapid.T) { marks.Mark(trace.ContextWithSpanContext(m.ctx, spanContext(false, true)), "none") },
		"event": func(t *rapid.T) {
			s, name := m.pick(t), m.name("own")
			trace.SpanFromContext(s.ctx).AddEvent(name)
			if !s.ended {
				s.events, s.own = append(s.events, name), append(s.own, name)
			}
		},
		"end": func(t *rapid.T) {
			if s := m.pick(t); !s.ended {
				s.ended = true
				s.end()
			}
		},
		"flush": func(t *rapid.T) {
			if err := m.traces.ForceFlush(context.Background()); err != nil {
				t.Fatal(err)
			}
			m.checkRecords()
		},
		"sleep": func(*rapid.T) {
			time.Sleep(5*time.Second + 1)
			synctest.Wait()
			m.checkRecords()
		},
	})
	if err := m.traces.Shutdown(context.Background()); err != nil {
		m.Fatal(err)
	}
	m.checkRecords()
	m.checkSpans("exporters", m.exported, m.isExported, m.form != bridge.LogRecords)
	if m.recorded != nil {
		m.checkSpans("recorders", m.recorded, m.isRecorded, true)
	}
	m.checkStats()
}

func (m *markModel) name(what string) string {
	m.serial++
	return fmt.Sprint(what, " ", m.serial)
}

func (m *markModel) pick(t *rapid.T) *markedSpan {
	return m.spans[len(m.spans)-1-rapid.IntRange(0, min(len(m.spans), 5)-1).Draw(t, "span")]
}

func (m *markModel) root(t *rapid.T) {
	s := &markedSpan{name: m.name("root"), remote: rapid.Bool().Draw(t, "remote")}
	s.root = s
	parent := m.ctx
	if s.remote {
		parent = trace.ContextWithSpanContext(parent, spanContext(rapid.Bool().Draw(t, "sampled"), true))
	}
	m.begin(s, parent, trace.WithSpanKind(trace.SpanKindServer))
}

func (m *markModel) child(t *rapid.T) {
	parent := m.pick(t)
	m.begin(&markedSpan{name: m.name("child"), root: parent.root}, parent.ctx)
}

func (m *markModel) begin(s *markedSpan, parent context.Context, options ...trace.SpanStartOption) {
	ctx, span := m.traces.Tracer("test").Start(parent, s.name, options...)
	s.ctx, s.end = ctx, func() { span.End() }
	m.spans = append(m.spans, s)
}

func (m *markModel) measure(t *rapid.T) {
	parent := m.pick(t)
	s := &markedSpan{name: m.name("measure"), root: parent.root}
	ctx, timing := marks.Start(parent.ctx, s.name)
	if trace.SpanContextFromContext(ctx).SpanID() == trace.SpanContextFromContext(parent.ctx).SpanID() {
		return // no span, because the parent is not recorded
	}
	s.ctx, s.end = ctx, func() { timing.End() }
	m.spans = append(m.spans, s)
}

func (m *markModel) mark(t *rapid.T) {
	s := m.pick(t)
	m.add(s.ctx, s)
}

func (m *markModel) add(ctx context.Context, s *markedSpan) {
	time.Sleep(time.Microsecond)
	mark := modelMark{name: m.name("mark"), span: s, late: s != nil && s.ended}
	marks.Mark(ctx, mark.name)
	m.marks = append(m.marks, mark)
	if s != nil && !mark.late {
		s.events = append(s.events, mark.name)
	}
}

// checkRecords compares the log records with the ones that must have come by now.
func (m *markModel) checkRecords() {
	m.Helper()
	var want []string
	for _, mark := range m.marks {
		if mark.span == nil || m.isExported(mark.span) && (mark.late || m.form != bridge.SpanEvents) {
			want = append(want, mark.name)
		}
	}
	slices.Sort(want)
	if got := m.logs.names(m); !slices.Equal(got, want) {
		m.Fatalf("the records are %q, want %q", got, want)
	}
}

// checkSpans compares the events of the spans that an output got.
func (m *markModel) checkSpans(output string, got *recorder, gets func(*markedSpan) bool, withMarks bool) {
	m.Helper()
	all := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range got.all() {
		if all[s.Name()] != nil {
			m.Fatalf("the %s got %q twice", output, s.Name())
		}
		all[s.Name()] = s
	}
	n := 0
	for _, s := range m.spans {
		if !s.ended || !gets(s) {
			continue
		}
		n++
		want := s.own
		if withMarks {
			want = s.events
		}
		if m.limit >= 0 {
			want = want[max(0, len(want)-m.limit):]
		}
		if all[s.name] == nil {
			m.Fatalf("the %s did not get %q", output, s.name)
		}
		if got := events(all[s.name]); !slices.Equal(got, want) {
			m.Fatalf("the %s got %q with the events %q, want %q", output, s.name, got, want)
		}
	}
	if n != len(all) {
		m.Fatalf("the %s got %d spans, want %d", output, len(all), n)
	}
}

// checkStats checks that each mark counts once.
func (m *markModel) checkStats() {
	m.Helper()
	recorded := 0
	for _, mark := range m.marks {
		if mark.span == nil || m.isRecorded(mark.span) {
			recorded++
		}
	}
	s, records := m.stats(), uint64(len(m.logs.names(m)))
	if n := s.MarkEvents + s.MarkRecords + s.MarksWithoutSpan + s.Lost(); n != uint64(recorded) || s.MarksWithoutSpan > 0 {
		m.Fatalf("%+v are %d marks, want %d", s, n, recorded)
	}
	want := records
	if m.form == bridge.SpanEventsAndLogRecords {
		if m.keep != nil {
			return // it has events of spans that are not exported
		}
		want -= s.MarkEvents
	}
	if s.MarkRecords != want {
		m.Fatalf("%+v; there are %d records", s, records)
	}
}
