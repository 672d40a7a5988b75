package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Requests come and go on several goroutines. Others mark and measure under contexts that are kept long after their request has ended,
// while its storage serves new requests. Nothing ever gets into another request's data, and each mark is counted once.
func TestNothingGetsIntoAnotherRequest(t *testing.T) {
	const servers, requests, background = 4, 200, 3
	tl := observer.NewTimeline(observer.TimelineOptions{})
	var observed []observer.Entry
	obs, err := tl.Observe(func(l observer.List) { observed = append(observed, l.Entries()...) },
		observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}, MaxBuffer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	tp, got := ownProvider(t, bridge.TracerProviderConfig{Timeline: tl})
	tracer := tp.Tracer("t")
	var mu sync.Mutex
	var contexts []context.Context // of all requests
	keep := func(ctx context.Context) {
		mu.Lock()
		defer mu.Unlock()
		contexts = append(contexts, ctx)
	}
	var wg, others sync.WaitGroup
	stop := make(chan struct{})
	for range background {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				var ctx context.Context
				if n := len(contexts); n > 0 {
					ctx = contexts[n-1-rand.IntN(min(n, 64))]
					if rand.IntN(4) == 0 {
						ctx = contexts[rand.IntN(n)]
					}
				}
				mu.Unlock()
				if ctx != nil {
					recordAll(ctx)
				}
			}
		})
	}
	for g := range servers {
		wg.Go(func() {
			for i := range requests {
				id := fmt.Sprintf("%d/%d", g, i)
				ctx := context.WithValue(context.Background(), requestKey{}, id)
				ctx, root := tracer.Start(ctx, "root "+id, trace.WithAttributes(attribute.String("request", id)))
				keep(ctx)
				recordAll(ctx)
				childCtx, child := tracer.Start(ctx, "child "+id)
				keep(childCtx)
				recordAll(childCtx)
				started, measure := marks.Start(childCtx, "started "+id, slog.String("request", id))
				keep(started)
				recordAll(started)
				for _, e := range entriesOf(ctx) {
					checkRequest(t, id, &e)
				}
				ends := []func(){func() { child.End() }, func() { measure.End() }, func() { root.End() }}
				rand.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
				for _, end := range ends {
					end()
				}
				recordAll(ctx)
				if i%100 == 0 {
					if err := tp.ForceFlush(context.Background()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	others.Wait()
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	of := map[trace.TraceID]string{}
	spans := got.decoded(t)
	for _, s := range spans {
		if id, ok := strings.CutPrefix(s.Name, "root "); ok {
			of[s.TraceID] = id
		}
	}
	events := 0
	for _, s := range spans {
		id := of[s.TraceID]
		_, request, _ := strings.Cut(s.Name, " ")
		if id == "" || request != id {
			t.Fatalf("%q is in the trace of %q", s.Name, id)
		}
		for _, e := range s.Events {
			events++
			if r := e.Attributes[0].Value.AsString(); r != id || e.Name != "mark "+id {
				t.Fatalf("%q of %q is in %q", e.Name, r, s.Name)
			}
		}
		for _, a := range s.Attributes {
			if r := a.Value.AsString(); r != id {
				t.Fatalf("%q has an attribute of %q", s.Name, r)
			}
		}
	}
	recorded := tl.Stats()
	if s := tp.Stats(); int(s.MarkEvents) != events || s.MarkEvents+s.Lost() != recorded[observer.Mark].Recorded || s.MeasureSpans != recorded[observer.Measure].Recorded-servers*requests || len(of) != servers*requests {
		t.Errorf("stats %+v of %+v; %d events arrived, of %d requests", s, recorded, events, len(of))
	}
	tl.Deliver()
	obs.Disconnect()
	for i := range observed {
		_, id, _ := strings.Cut(observed[i].Name(), " ")
		checkRequest(t, id, &observed[i])
	}
	if n := recorded[observer.Mark].ObserverFull + recorded[observer.Mark].Overflow; n == 0 && len(observed) == 0 {
		t.Error("the observer has nothing")
	}
}

type requestKey struct{}

// recordAll records a mark and measures whose names and attributes say the request of ctx.
func recordAll(ctx context.Context) {
	id := ctx.Value(requestKey{}).(string)
	request := slog.String("request", id)
	marks.Mark(ctx, "mark "+id, request)
	marks.Time(ctx, "leaf "+id, request).End()
	in, t := marks.Start(ctx, "started "+id)
	marks.Mark(in, "mark "+id, request)
	t.End(request)
}

func checkRequest(t *testing.T, id string, e *observer.Entry) {
	t.Helper()
	if _, request, _ := strings.Cut(e.Name(), " "); request != id {
		t.Errorf("the timeline of request %q has the entry %q", id, e.Name())
	}
	if request := attr(e, "request"); request != nil && request != id {
		t.Errorf("the entry %q has the attribute of request %q", e.Name(), request)
	}
}
