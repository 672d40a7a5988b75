package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A method is the value of an attribute whose text a function makes.
type method func() string

func (m method) LogValue() slog.Value { return slog.StringValue(m()) }

// onItsGoroutine runs f on a goroutine of its own, and recovers. It returns a channel that is closed when the goroutine has ended.
func onItsGoroutine(f func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		f()
	}()
	return ended
}

// A fault in a value's method stays with the goroutine that records the value. Others record under the same span, flush and end it.
func TestFaultOfAValue(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		for call, record := range map[string]func(context.Context, slog.Attr){
			"Mark":                 func(ctx context.Context, a slog.Attr) { marks.Mark(ctx, "faulty", a) },
			"Time":                 func(ctx context.Context, a slog.Attr) { marks.Time(ctx, "faulty", a).End() },
			"End":                  func(ctx context.Context, a slog.Attr) { marks.Time(ctx, "faulty").End(a) },
			"Start":                func(ctx context.Context, a slog.Attr) { _, t := marks.Start(ctx, "faulty", a); t.End() },
			"the End of a started": func(ctx context.Context, a slog.Attr) { _, t := marks.Start(ctx, "faulty"); t.End(a) },
			"Fail": func(ctx context.Context, a slog.Attr) {
				tm := marks.Time(ctx, "faulty")
				tm.Fail(fault(func() string { return a.Value.LogValuer().LogValue().String() }))
				tm.End()
			},
		} {
			for name, fault := range faults {
				t.Run(call+"/"+name, func(t *testing.T) {
					release := make(chan struct{})
					r := open(bothproviders.Options{})
					ctx, span := r.tracer.Start(r.ctx, "span")
					entered := make(chan struct{})
					var once sync.Once
					ended := onItsGoroutine(func() {
						record(ctx, slog.Any("k", method(func() string {
							once.Do(func() { close(entered) })
							fault(release)
							return "released"
						})))
					})
					<-entered
					if name != "block" {
						<-ended
					}
					marks.Mark(ctx, "of others")
					marks.Time(ctx, "measure of others").End()
					r.flush(t)
					span.End()
					r.flush(t)
					if got := events(r.got.one(t, "span")); !slices.Contains(got, "of others") {
						t.Errorf("events %v", got)
					}
					r.got.one(t, "measure of others")
					close(release)
					<-ended
				})
			}
		}
	})
}

// A fault is an error whose text a function makes.
type fault func() string

func (f fault) Error() string { return f() }

// A fault of a span processor, when a measure starts or ends, stays with the goroutine of the measure, as it does with spans.
func TestFaultOfAProcessor(t *testing.T) {
	for _, provider := range []string{bothproviders.Processors, bothproviders.SDK} { // the other one has no processors
		for _, at := range []string{"OnStart", "OnEnd"} {
			for call, record := range map[string]func(context.Context){
				"Time":  func(ctx context.Context) { marks.Time(ctx, "faulty").End() },
				"Start": func(ctx context.Context) { _, t := marks.Start(ctx, "faulty"); t.End() },
			} {
				for name, fault := range faults {
					t.Run(provider+"/"+at+"/"+call+"/"+name, func(t *testing.T) {
						release := make(chan struct{})
						r := newRig(t, provider, bothproviders.Options{})
						entered := make(chan struct{})
						is := func(when string, s sdktrace.ReadOnlySpan) {
							if when == at && s.Name() == "faulty" {
								close(entered)
								fault(release)
							}
						}
						r.provider.RegisterSpanProcessor(&hook{
							start: func(_ context.Context, s sdktrace.ReadWriteSpan) { is("OnStart", s) },
							end:   func(s sdktrace.ReadOnlySpan) { is("OnEnd", s) },
						})
						ctx, span := r.tracer.Start(r.ctx, "span")
						ended := onItsGoroutine(func() { record(ctx) })
						<-entered
						if name != "block" {
							<-ended
						}
						marks.Mark(ctx, "of others")
						marks.Time(ctx, "measure of others").End()
						span.End()
						if got := events(r.got.one(t, "span")); !slices.Equal(got, []string{"of others"}) {
							t.Errorf("events %v", got)
						}
						r.got.one(t, "measure of others")
						close(release)
						<-ended
					})
				}
			}
		}
	}
}

// A logger that fails or blocks holds up no one that records: only the delivery to observers waits.
func TestFaultOfALogger(t *testing.T) {
	overAllNames(t, func(t *testing.T, provider string) {
		for name, fault := range faults {
			t.Run(name, func(t *testing.T) {
				release, entered := make(chan struct{}), make(chan struct{})
				tl := observer.NewTimeline(observer.TimelineOptions{
					Logger: slog.New(&handler{Handler: slog.NewTextHandler(io.Discard, nil), handle: func() {
						close(entered)
						fault(release)
					}}),
					Scheduler: func(func()) {}, // the fault comes on the goroutine of Deliver
				})
				r := newRig(t, provider, bothproviders.Options{Timeline: tl})
				_, err := tl.Observe(func(observer.List) { panic("so that something is logged") }, observer.Options{Type: observer.Mark})
				if err != nil {
					t.Fatal(err)
				}
				ctx, span := r.tracer.Start(r.ctx, "span")
				marks.Mark(ctx, "mark")
				delivered := onItsGoroutine(tl.Deliver)
				<-entered
				marks.Mark(ctx, "another")
				marks.Time(ctx, "measure").End()
				span.End()
				r.flush(t)
				if got := events(r.got.one(t, "span")); !slices.Equal(got, []string{"mark", "another"}) {
					t.Errorf("events %v", got)
				}
				r.got.one(t, "measure")
				close(release)
				<-delivered
			})
		}
	})
}

// overAllNames runs a test for the name of each provider.
func overAllNames(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	for _, name := range bothproviders.All() {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

// A handler of log records calls a function first, once.
type handler struct {
	slog.Handler
	once   sync.Once
	handle func()
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	h.once.Do(h.handle)
	return h.Handler.Handle(ctx, r)
}

var errFull = errors.New("full")

// A measure that failed has OpenTelemetry's status and exception, and its entry the attribute "error".
func TestFail(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		rootCtx, root := r.tracer.Start(r.ctx, "root")
		for name, under := range map[string]context.Context{"under a span": rootCtx, "under no span": r.ctx} {
			timed := marks.Time(under, "timed "+name, slog.Int("n", 1))
			timed.Fail(errors.New("the first counts not"))
			timed.Fail(fmt.Errorf("order 7: %w", errFull))
			timed.Fail(nil)
			timed.End()
			timed.Fail(errors.New("too late"))
			ctx, started := marks.Start(under, "started "+name, slog.Int("n", 1))
			marks.Mark(ctx, "mark")
			started.Fail(errFull)
			started.End()
			tl := observer.FromContext(under)
			for entry, want := range map[string]string{"timed " + name: "order 7: full", "started " + name: "full"} {
				e := only(t, tl.EntriesByName(entry))
				if attr(e, "error") != want || attr(e, "n") != int64(1) {
					t.Errorf("%q has the error %v and n=%v", entry, attr(e, "error"), attr(e, "n"))
				}
			}
		}
		ok := marks.Time(rootCtx, "succeeded")
		ok.Fail(nil)
		ok.End()
		root.End()
		r.flush(t)
		for _, name := range []string{"under a span", "under no span"} {
			for span, want := range map[string]struct {
				message, kind string
				events        []string
			}{
				"timed " + name:   {"order 7: full", "fmt.wrapError", []string{"exception"}},
				"started " + name: {"full", "errors.errorString", []string{"mark", "exception"}},
			} {
				s := r.got.one(t, span)
				if s.Status() != (sdktrace.Status{Code: codes.Error, Description: want.message}) || !slices.Equal(events(s), want.events) || text(s.Attributes()) != "n=INT64:1" {
					t.Errorf("%q has the status %v, the events %v and the attributes %s", span, s.Status(), events(s), text(s.Attributes()))
					continue
				}
				exception := s.Events()[len(want.events)-1]
				if got := text(exception.Attributes); got != "exception.type=STRING:*"+want.kind+" exception.message=STRING:"+want.message {
					t.Errorf("%q has the exception %s", span, got)
				}
			}
		}
		if s := r.got.one(t, "succeeded"); s.Status().Code != codes.Unset || len(s.Events()) != 0 {
			t.Errorf("the measure that succeeded has the status %v and the events %v", s.Status(), events(s))
		}
		if s := r.stats(); s.MeasureSpans != 5 || s.MarkEvents != 2 || s.Lost() != 0 {
			t.Errorf("stats %+v, want 5 measures and 2 marks", s)
		}
	})
}

// A measure that failed under an unsampled span makes no span.
func TestFailUnsampled(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{Sampler: never})
		ctx, span := r.tracer.Start(r.ctx, "root")
		_, started := marks.Start(ctx, "started")
		timed := marks.Time(ctx, "timed")
		for _, m := range []*marks.Timing{started, timed} {
			m.Fail(errFull)
			m.End()
		}
		span.End()
		r.flush(t)
		if got := r.got.names(); len(got) != 0 || r.stats() != (bridge.Stats{}) {
			t.Errorf("spans %v, stats %+v", got, r.stats())
		}
	})
}
