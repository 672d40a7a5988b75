package bridgehttp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// mirrored lets the requests of a timeline have slots, and returns the memory of as many large ones.
func mirrored(tb testing.TB, tl *observer.Timeline, slots int) []byte {
	tb.Helper()
	mem := make([]byte, slots*mirror.LargeSlot+mirror.RegionTail)
	m := mirror.NewMemory(mem, func(err error) { tb.Error(err) })
	(*record.Timeline)(tl).SetMirror(mirror.NewRegion(m, 0, slots, 0, goruntime.GoroutineID, func() {}))
	return mem
}

// eachProvider runs a test over perfline's provider and over the SDK's.
func eachProvider(t *testing.T, test func(t *testing.T, tp trace.TracerProvider, tl *observer.Timeline)) {
	t.Helper()
	always := sdktrace.ParentBased(sdktrace.AlwaysSample())
	t.Run("perfline", func(t *testing.T) {
		tl := quietTimeline()
		test(t, ownProvider(t, tl, always), tl)
	})
	t.Run("a processor", func(t *testing.T) { // measures become spans at once
		tl := quietTimeline()
		tp := ownProvider(t, tl, always)
		tp.RegisterSpanProcessor(&recorder{})
		test(t, tp, tl)
	})
	t.Run("SDK", func(t *testing.T) {
		tl := quietTimeline()
		test(t, sdkProvider(t, tl, always), tl)
	})
}

// The black box has each entry of a request once, with the ids of its span and of the span around it, whoever makes the
// spans. A span that is open is there as such.
func TestMirrorsEachEntryOnce(t *testing.T) {
	eachProvider(t, func(t *testing.T, tp trace.TracerProvider, tl *observer.Timeline) {
		mem := mirrored(t, tl, 1)
		var root, child, measure trace.SpanContext
		var got []mirror.Request
		mux := http.NewServeMux()
		mux.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			root = trace.SpanContextFromContext(ctx)
			marks.Mark(ctx, "mark", slog.Int("n", 1))
			marks.Time(ctx, "measure").End()
			failed := marks.Time(ctx, "failed")
			failed.Fail(errors.New("broken"))
			failed.End()
			within, span := tp.Tracer("t").Start(ctx, "child", trace.WithAttributes(attribute.Int("rows", 5)))
			child = trace.SpanContextFromContext(within)
			marks.Mark(within, "inner mark")
			span.End()
			within, started := marks.Start(ctx, "started")
			measure = trace.SpanContextFromContext(within)
			_, open := tp.Tracer("t").Start(within, "open")
			got = append(got, mirror.Requests(slices.Clone(mem), 1, 0)...)
			open.End()
			started.End()
			got = append(got, mirror.Requests(slices.Clone(mem), 1, 0)...)
		})
		h := bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware(mux)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/items/5", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(quietWriter{newHTTP1(newPlainWriter())}, r)
		if len(got) != 2 {
			t.Fatalf("%d requests", len(got))
		}
		for i, q := range got {
			if q.Trace != mirror.TraceID(root.TraceID()) || q.Span != mirror.SpanID(root.SpanID()) || q.Route != "/items/{id}" || !slices.Equal(q.Attributes, []mirror.Attribute{{Key: "url.path", Value: "/items/5"}}) || q.LeftOut > 0 || q.Flags != mirror.Sampled {
				t.Errorf("the request is %+v", q)
			}
			want := []string{"mark", "measure", "failed", "inner mark", "child", "started", "open"}
			if i > 0 {
				want = []string{"mark", "measure", "failed", "inner mark", "child", "open", "started"}
			}
			var names []string
			for _, e := range q.Entries {
				names = append(names, e.Name)
				if e.Kind == mirror.Open != (i == 0 && (e.Name == "started" || e.Name == "open")) {
					t.Errorf("%s has the kind %d", e.Name, e.Kind)
				}
				parent, self := root, trace.SpanContext{}
				switch e.Name {
				case "inner mark":
					parent = child
				case "child":
					self = child
				case "started":
					self = measure
				case "open":
					parent = measure
				}
				if e.Parent != mirror.SpanID(parent.SpanID()) || self.IsValid() && e.Span != mirror.SpanID(self.SpanID()) {
					t.Errorf("%s is %x under %x, want %s under %s", e.Name, e.Span, e.Parent, self.SpanID(), parent.SpanID())
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("the entries are %q, want %q", names, want)
			}
		}
		if left := mirror.Requests(mem, 1, 0); len(left) > 1 || len(left) == 1 && !left[0].Ended {
			t.Errorf("after the request, the slot has %+v", left)
		}
	})
}

// Many requests at a time, with marks, children and routes from several goroutines: the slots are whole at any moment.
func TestMirrorsConcurrently(t *testing.T) {
	eachProvider(t, func(t *testing.T, tp trace.TracerProvider, tl *observer.Timeline) {
		const clients, requests = 8, 50
		mem := mirrored(t, tl, clients/2) // the others have no slot
		h := bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					ctx, span := tp.Tracer("t").Start(r.Context(), "child")
					marks.Mark(ctx, "mark")
					marks.Time(ctx, "measure").End()
					bridgehttp.SetRoute(r.Context(), "/items/{id}")
					span.End()
				})
			}
			wg.Go(func() { _ = (*record.Timeline)(tl).FlushUnits(r.Context()) })
			wg.Wait()
		}))
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range requests {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/items/5", http.NoBody)
					if err != nil {
						t.Error(err)
						return
					}
					h.ServeHTTP(quietWriter{newHTTP1(newPlainWriter())}, r)
				}
			})
		}
		wg.Wait()
		if p, ok := tp.(*bridge.TracerProvider); ok {
			if err := p.ForceFlush(context.Background()); err != nil {
				t.Error(err)
			}
		}
		if left := mirror.Requests(mem, clients/2, 0); len(left) > 0 {
			t.Errorf("left are %+v", left)
		}
	})
}

// Long requests have most slots. The requests that end give theirs back at once, so that each later one has a slot, too.
func TestScarceSlots(t *testing.T) {
	const slots, long, requests = 8, 7, 100
	tl := quietTimeline()
	tp := ownProvider(t, tl, sdktrace.AlwaysSample())
	mem := mirrored(t, tl, slots)
	h := bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range long {
		_, span := tp.Tracer("t").Start(t.Context(), "long")
		defer span.End()
	}
	for range requests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(quietWriter{newHTTP1(newPlainWriter())}, r)
	}
	if n := mirror.LeftOutIn(mem, slots, 0); n > 0 {
		t.Errorf("%d of %d requests had no slot beside %d long ones", n, requests, long)
	}
}
