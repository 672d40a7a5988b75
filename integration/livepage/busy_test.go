package livepage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// startBusy starts the page of a program whose request of 100 ms has eleven equal queries, of which the fifth failed and the eighth is the slowest,
// and then renders. The renderer waited for a mutex of another request, and between 28 and 32 ms states change every 10 µs.
func startBusy(t *testing.T) (page, request string) {
	t.Helper()
	w := &waiting{recent: requests.NewRecent(requests.Config{})}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	t.Cleanup(tl.Close)
	w.sessions = sessions.NewRecorder(sessions.Config{Timeline: tl, Policy: profiling.Policy{Remote: true}})
	t.Cleanup(w.sessions.Close)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.recent)).Tracer("shop")
	began := time.Now().Add(-time.Second)
	span := func(ctx context.Context, name string, kind trace.SpanKind, from, to time.Duration, with ...func(trace.Span)) (context.Context, trace.SpanContext) {
		ctx, s := tracer.Start(ctx, name, trace.WithTimestamp(began.Add(from)), trace.WithSpanKind(kind))
		for _, f := range with {
			f(s)
		}
		defer s.End(trace.WithTimestamp(began.Add(to)))
		return ctx, s.SpanContext()
	}
	_, holder := span(t.Context(), "POST /index", trace.SpanKindServer, 0, 75*ms)
	ctx, root := tracer.Start(t.Context(), "GET /report", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindServer))
	for i := range 11 {
		at, took := time.Duration(5+4*i)*ms, 2*ms
		if i == 7 {
			took = 3 * ms
		}
		span(ctx, "sql.conn.query", trace.SpanKindClient, at, at+took, func(s trace.Span) {
			s.SetAttributes(attribute.String("db.system.name", "sqlite"), attribute.Int("row", i))
			if i == 4 {
				s.SetStatus(codes.Error, "no such table: prices")
			}
		})
	}
	below, render := span(ctx, "render", trace.SpanKindInternal, 60*ms, 95*ms, func(s trace.Span) {
		s.AddEvent("template.miss", trace.WithTimestamp(began.Add(70*ms)), trace.WithAttributes(attribute.String("key", "home page")))
	})
	span(below, "encode", trace.SpanKindInternal, 85*ms, 95*ms)
	root.End(trace.WithTimestamp(began.Add(100 * ms)))
	id := root.SpanContext()

	stack := []waits.Frame{{Function: "sync.(*Mutex).Lock"}, {Function: "main.(*Index).Search", File: "/src/app/index.go", Line: 7}}
	by := &waits.Party{Goroutine: 99, Function: "main.(*Index).rebuild", Request: "POST /index", TraceID: holder.TraceID(), RootID: holder.SpanID()}
	var did []waits.Interval
	at := time.Duration(0)
	do := func(kind waits.Kind, took time.Duration, span trace.SpanID, by *waits.Party) {
		did = append(did, waits.Interval{Kind: kind, Start: at, End: at + took, SpanID: span, Stack: stack, By: by})
		at += took
	}
	do(waits.OnCPU, 28*ms, id.SpanID(), nil)
	for range 200 {
		do(waits.OnCPU, 12*time.Microsecond, id.SpanID(), nil)
		do(waits.Network, 8*time.Microsecond, id.SpanID(), nil)
	}
	do(waits.OnCPU, 28*ms, id.SpanID(), nil)
	do(waits.Mutex, 15*ms, render.SpanID(), by)
	do(waits.OnCPU, 25*ms, render.SpanID(), nil)
	w.recorder = &waitsRecorder{state: waits.State{Status: waits.Disarmed}, result: &waits.Request{
		TraceID: id.TraceID(), RootID: id.SpanID(), Name: "GET /report", Start: began, Duration: 100 * ms,
		Goroutines: []waits.Goroutine{{ID: 7, Function: "net/http.(*conn).serve", Intervals: did}},
		Causes:     []waits.Cause{{Kind: waits.Mutex, Duration: 15 * ms, Function: "main.(*Index).Search", SpanID: render.SpanID(), By: by}},
	}}
	return w.serve(t), fmt.Sprintf("#/requests/%s/%s", id.TraceID(), id.SpanID())
}

// openBusy opens that request.
func openBusy(t *testing.T, query string) tab {
	t.Helper()
	return openBusyIn(t, query, View{})
}

func openBusyIn(t *testing.T, query string, v View) tab {
	t.Helper()
	page, request := startBusy(t)
	p := open(t, page+request+query, v)
	p.wait(`document.querySelector("#waterfall tbody tr") && document.querySelector("#goroutines .goroutine")`)
	return p
}

// part waits until the page shows from one time to another, in milliseconds, and its address has them. The bars must be there, too.
func (p tab) part(from, to float64) {
	p.t.Helper()
	p.wait(fmt.Sprintf(`(() => {
		const near = (a, b) => Math.abs(a - b) < 0.6;
		const now = new URLSearchParams(location.hash.split("?")[1]);
		const axis = document.querySelector("#waterfall .axis").getBoundingClientRect();
		const end = (100 - %[1]g) / (%[2]g - %[1]g) * axis.width + axis.left;
		const root = document.querySelector("#waterfall tbody tr .bar").getBoundingClientRect();
		return near(now.get("from") ?? 0, %[1]g) && near(now.get("to") ?? 100, %[2]g) &&
			Math.abs(Math.min(root.right, axis.left + 2 * axis.width) - Math.min(end, axis.left + 2 * axis.width)) < 12 &&
			[...document.querySelectorAll("#minimap [role=slider]")].every((s, i) => near(s.ariaValueNow, [%[1]g, %[2]g][i]));
	})()`, from, to))
}

// A spot is a place on the axis, by the part of its width, in the row of an index; -1 is the axis itself.
type spot struct {
	row int
	at  float64
}

// place returns where a spot is, in pixels.
func (p tab) place(s spot) (x, y float64) {
	p.t.Helper()
	at := eval[[2]float64](p, fmt.Sprintf(`(() => {
		const axis = document.querySelector("#waterfall .axis").getBoundingClientRect();
		const row = %d < 0 ? axis : document.querySelectorAll("#waterfall tbody tr:not([hidden]) td.lane")[%[1]d].getBoundingClientRect();
		return [axis.left + %g * axis.width, row.top + row.height / 2];
	})()`, s.row, s.at))
	return at[0], at[1]
}

// mouse sends one event of the mouse.
func (p tab) mouse(kind input.DispatchMouseEventType, s spot, with ...chromedp.MouseOption) {
	p.t.Helper()
	x, y := p.place(s)
	p.mouseAt(kind, x, y, with...)
}

func (p tab) mouseAt(kind input.DispatchMouseEventType, x, y float64, with ...chromedp.MouseOption) {
	p.t.Helper()
	p.must(p.do(chromedp.MouseEvent(kind, x, y, with...)))
}

// wheel turns the wheel by some pixels. The protocol wants both, and a number that is 0 is not sent.
func (p tab) wheel(s spot, x, y float64, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.mouse(input.DispatchMouseEventTypeMouseWheel, s, chromedp.ButtonModifiers(modifiers...), func(e *input.DispatchMouseEventParams) { e.DeltaX, e.DeltaY = x+1e-6, y+1e-6 })
}

// drag drags from one spot to another.
func (p tab) drag(from, to spot, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	ax, ay := p.place(from)
	bx, by := p.place(to)
	p.dragBy(ax, ay, bx, by, modifiers...)
}

func (p tab) dragBy(ax, ay, bx, by float64, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	with := []chromedp.MouseOption{chromedp.ButtonLeft, chromedp.ButtonModifiers(modifiers...), chromedp.ClickCount(1), func(e *input.DispatchMouseEventParams) { e.Buttons = 1 }}
	p.mouseAt(input.DispatchMouseEventTypeMouseMoved, ax, ay)
	p.mouseAt(input.DispatchMouseEventTypeMousePressed, ax, ay, with...)
	for _, part := range []float64{0.3, 0.6, 1} {
		p.mouseAt(input.DispatchMouseEventTypeMouseMoved, ax+(bx-ax)*part, ay+(by-ay)*part, with...)
	}
	p.mouseAt(input.DispatchMouseEventTypeMouseReleased, bx, by, chromedp.ButtonLeft, chromedp.ClickCount(1))
}

// touch sends one event of two fingers in the root's row, of none at the end of it.
func (p tab) touch(kind input.DispatchTouchEventType, fingers ...float64) {
	p.t.Helper()
	points := []*input.TouchPoint{}
	for i, at := range fingers {
		x, y := p.place(spot{0, at})
		id := float64(i)
		points = append(points, &input.TouchPoint{X: x, Y: y, ID: &id})
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.Call(ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
	p.must(err)
}
