package timeline_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// Where an entry goes follows from the active span and from the timeline in the context.
func TestPlaceLocate(t *testing.T) {
	tl := newManual()
	process := observer.NewContext(context.Background(), tl.Timeline)
	child := observer.NewContext(process, tl.NewChild())
	var p record.Place // of all cases: Locate leaves nothing of the one before
	where := func(ctx context.Context) string {
		p.Locate(ctx)
		on := map[*observer.Timeline]string{
			observer.ProcessTimeline(): "default", tl.Timeline: "process", observer.FromContext(child): "child",
		}[view(p.Timeline)]
		if on == "" {
			on = "unit"
		}
		if p.Timeline != rec(observer.FromContext(ctx)) {
			t.Errorf("Locate says %p, FromContext %p", p.Timeline, observer.FromContext(ctx))
		}
		if under := ctx != nil && p.To != record.ToTimeline; under != (p.Under != nil) {
			t.Errorf("under %v, destination %v", p.Under, p.To)
		}
		return fmt.Sprintf("%s %d span=%v tracer=%v", on, p.To, p.Span != nil, p.Tracer != nil)
	}
	check := func(what string, ctx context.Context, want string) {
		t.Helper()
		if got := where(ctx); got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	check("without a tracer", child, "child 0 span=false tracer=false")
	tracing := spantest.New(rec(tl.Timeline))
	check("no context", nil, "default 0 span=false tracer=false")
	check("no timeline", context.Background(), "default 0 span=false tracer=false")
	check("no span", process, "process 0 span=false tracer=true")
	check("no span in a request", child, "child 0 span=false tracer=true")
	root := tracing.NewRoot("root")
	check("a unit's span", root.Context(context.Background()), "unit 2 span=true tracer=true")
	check("a timeline under a unit's span", observer.NewContext(root.Context(process), tl.NewChild()), "unit 2 span=true tracer=true")
	check("another tracer's span", tracing.Foreign("f", record.ToSpan).Context(child), "child 3 span=false tracer=true")
	check("one that is not recorded", tracing.Foreign("f", record.ToObservers).Context(child), "child 1 span=false tracer=true")
	check("one on another process's timeline", tracing.Foreign("f", record.ToSpan).Context(context.Background()), "default 0 span=false tracer=false")
	tracing.Detach()
	check("the tracer is detached", child, "child 0 span=false tracer=false")
	check("the tracer of another's span is detached", tracing.Foreign("f", record.ToSpan).Context(child), "child 0 span=false tracer=false")
	check("a unit's span is its own", root.Context(child), "unit 2 span=true tracer=true")
}

// Under a span that is not recorded, only observers and the makers of a timeline want entries.
func TestWants(t *testing.T) {
	tl := newManual()
	tracing := spantest.New(rec(tl.Timeline))
	child, sibling := tl.NewChild(), tl.NewChild()
	ownUnit := &rec(tl.Timeline).NewUnit(time.Now(), nil).Timeline
	ownUnit.Keep(record.Server, "frame")
	unsampled := tracing.Foreign("f", record.ToObservers)
	check := func(what string, on *observer.Timeline, typ observer.Type, want bool) {
		t.Helper()
		ctx := unsampled.Context(observer.NewContext(context.Background(), on))
		var p record.Place
		p.Locate(ctx)
		if got := p.Wants(record.Type(typ)); got != want {
			t.Errorf("%s: wanted is %v, want %v", what, got, want)
		}
		if typ == observer.Mark {
			before := len(on.Entries())
			if got := rec(on).Queue(ctx, record.Entry(entry(t, on, "m"))); got != want || len(on.Entries())-before > 0 != want {
				t.Errorf("%s: Queue says %v, want %v", what, got, want)
			}
		}
	}
	check("without an observer", child, observer.Mark, false)
	obs, _ := watch(t, child, marksOnly)
	check("its observer wants marks", child, observer.Mark, true)
	check("its observer wants no measures", child, observer.Measure, false)
	check("another request's observer", sibling, observer.Mark, false)
	check("a request's observer and the process", tl.Timeline, observer.Mark, false)
	obs.Disconnect()
	check("PT-30 after Disconnect", child, observer.Mark, false)
	check("its maker wants another type", view(ownUnit), observer.Mark, false)
	check("its maker wants the type", view(ownUnit), observer.Server, true)
	check("an unknown type", view(ownUnit), "frame", false)
	watch(t, tl.Timeline, marksOnly)
	check("the process's observer and a request", child, observer.Mark, true)
}

// The last attached tracer counts. Detaching it brings back the one before it, in any order.
func TestAttach(t *testing.T) {
	tl := newManual()
	ctx := observer.NewContext(context.Background(), tl.NewChild())
	tracings := map[string]*spantest.System{}
	for _, name := range []string{"a", "b", "c"} {
		tracings[name] = spantest.New(rec(tl.Timeline))
	}
	measure := func(want string) {
		t.Helper()
		var p record.Place
		p.Locate(ctx)
		p.Record(record.Measure, "to "+want, 0, 0, nil)
	}
	measure("c")
	if got := rec(tl.NewChild()).Tracers(); !slices.Equal(got, []record.Tracer{tracings["a"], tracings["b"], tracings["c"]}) {
		t.Errorf("the tracers are %v", got)
	}
	tracings["b"].Detach()
	measure("c")
	tracings["c"].Detach()
	measure("a")
	tracings["c"].Detach() // again
	measure("a")
	tracings["a"].Detach()
	measure("none")
	for name, w := range map[string][]string{"a": {`measure "to a" []`, `measure "to a" []`}, "b": nil, "c": {`measure "to c" []`, `measure "to c" []`}} {
		want(t, name, tracings[name].Calls(), w...)
	}
}

// Entries say where they belong in a trace.
func TestSpanIDs(t *testing.T) {
	tl := newManual()
	tracing := spantest.New(rec(tl.Timeline))
	var seen []string
	ids := map[record.ID]string{{}: "-"}
	if _, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			seen = append(seen, fmt.Sprintf("%s: %s under %s", e.Name(), ids[recorded(e).Span().Self], ids[recorded(e).Span().Parent]))
		}
	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure, observer.Navigation}}); err != nil {
		t.Fatal(err)
	}
	root := tracing.NewRoot("root")
	inner := root.Child("inner")
	foreign := tracing.Foreign("foreign", record.ToSpan)
	ids[root.IDs().Self], ids[inner.IDs().Self], ids[tracing.IDs(foreign).Self] = "root", "inner", "foreign"
	ctx := observer.NewContext(context.Background(), tl.NewChild())
	add := func(ctx context.Context, typ observer.Type, name string) {
		tl.now++
		var p record.Place
		p.Locate(ctx)
		p.Record(record.Type(typ), name, p.Timeline.Now(), 0, nil)
	}
	add(ctx, observer.Mark, "no span")
	add(root.Context(ctx), observer.Mark, "mark")
	add(inner.Context(ctx), observer.Measure, "measure")
	add(root.Context(ctx), observer.Navigation, "navigation")
	add(foreign.Context(ctx), observer.Mark, "foreign's")
	tl.run()
	want(t, "the observer", seen, "no span: - under -", "mark: - under root", "measure: - under inner", "navigation: root under -", "foreign's: - under foreign")
	var own []string
	for _, e := range view(&root.Unit().Timeline).Entries() {
		own = append(own, fmt.Sprintf("%s: %s under %s", e.Name(), ids[recorded(e).Span().Self], ids[recorded(e).Span().Parent]))
		if recorded(e).Span().Trace != root.IDs().Trace {
			t.Errorf("%s is of the trace %x, want the span's", e.Name(), recorded(e).Span().Trace)
		}
	}
	want(t, "the unit", own, "mark: - under root", "measure: - under inner", "navigation: root under -")
}

// The destination decides what the sink of a place gets beside the timeline.
func TestDestinations(t *testing.T) {
	attrs := []slog.Attr{slog.Int("n", 1)}
	for _, c := range []struct {
		name  string
		under func(*spantest.System) (context.Context, func() []string)
		want  []string
	}{
		{"no span: measures", func(s *spantest.System) (context.Context, func() []string) {
			return context.Background(), s.Calls
		}, []string{`measure "measure" [n=1]`}},
		{"a remote parent: measures", func(s *spantest.System) (context.Context, func() []string) {
			f := s.Foreign("f", record.ToTimeline)
			return f.Context(context.Background()), f.Calls
		}, []string{`measure "measure" [n=1]`}},
		{"another tracer's span: both", func(s *spantest.System) (context.Context, func() []string) {
			f := s.Foreign("f", record.ToSpan)
			return f.Context(context.Background()), f.Calls
		}, []string{`mark "mark" [n=1]`, `measure "measure" [n=1]`}},
		{"a unit's span: nothing", func(s *spantest.System) (context.Context, func() []string) {
			r := s.NewRoot("r")
			return r.Context(context.Background()), r.Calls
		}, nil},
		{"a unit's span whose measures processors see: both", func(s *spantest.System) (context.Context, func() []string) {
			r := s.NewRoot("r")
			r.To = record.ToSpan
			return r.Context(context.Background()), r.Calls
		}, []string{`mark "mark" [n=1]`, `measure "measure" [n=1]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newManual()
			tracing := spantest.New(rec(tl.Timeline))
			ctx, calls := c.under(tracing)
			if ctx.Value(record.ContextKey{}) == nil {
				ctx = observer.NewContext(ctx, tl.Timeline)
			}
			_, got := watch(t, tl.Timeline, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure, observer.Resource}})
			var p record.Place
			p.Locate(ctx)
			p.Record(record.Mark, "mark", 0, 0, attrs)
			p.Record(record.Measure, "measure", 0, 0, attrs)
			p.Record(record.Resource, "resource", 0, 0, attrs)
			want(t, "the sink", calls(), c.want...)
			want(t, "the timeline", names(view(p.Timeline).Entries()), "mark", "measure", "resource")
			tl.run()
			want(t, "the observer", *got, "mark", "measure", "resource")
			if _, ok := p.Span.(*spantest.Span); ok && len(tracing.Take()) > 0 {
				t.Error("something was handed over")
			}
		})
	}
}

// A place on another timeline records there, and its span gets what it would.
func TestPlaceOn(t *testing.T) {
	tl := newManual()
	tracing := spantest.New(rec(tl.Timeline))
	child := tl.NewChild()
	root := tracing.NewRoot("root")
	ctx := root.Context(context.Background())
	if !rec(child).Queue(ctx, record.Entry(entry(t, child, "queued"))) {
		t.Error("refused")
	}
	if !root.Unit().Queue(ctx, record.Entry(entry(t, view(&root.Unit().Timeline), "of the unit"))) {
		t.Error("refused")
	}
	want(t, "the child", names(child.Entries()), "queued")
	want(t, "the unit", names(view(&root.Unit().Timeline).Entries()), "of the unit")
	want(t, "the span's sink", root.Calls(), `mark "queued" []`)
	root.End()
	if part := tracing.Take(); len(part) != 1 || len(part[0][0].Marks) != 1 || part[0][0].Marks[0].Name != "of the unit" {
		t.Errorf("the receiver got %+v", part)
	}
}

func TestStartAtAPlace(t *testing.T) {
	tl := newManual()
	ctx := context.Background()
	start := func(p record.Place) (context.Context, record.Opened) {
		return p.Start(ctx, "s", 5*time.Millisecond)
	}
	if got, opened := start(record.Place{Timeline: rec(tl.Timeline)}); got != ctx || opened != nil {
		t.Errorf("without a tracer: %v, %v", got, opened)
	}
	started := &startTimes{}
	if got, opened := start(record.Place{Timeline: rec(tl.Timeline), To: record.ToObservers, Tracer: started}); got != ctx || opened != nil || started.all != nil {
		t.Errorf("under a span that is not recorded: %v, %v", got, opened)
	}
	child := tl.NewChild()
	start(record.Place{Timeline: rec(child), Tracer: started})
	if w := child.Origin().Add(5 * time.Millisecond); !slices.Equal(started.all, []time.Time{w}) {
		t.Errorf("started at %v, want %v", started.all, w)
	}
}
