//go:build !race

// The race detector allocates on its own account.

package bridgehttp_test

import (
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A request allocates as often with the black box as without: also with a slot, a route, marks, measures and children.
func TestMirrorAllocs(t *testing.T) {
	eachProvider(t, func(t *testing.T, tp trace.TracerProvider, tl *observer.Timeline) {
		tracer := tp.Tracer("t")
		mux := http.NewServeMux()
		mux.HandleFunc("GET /items/{id}", func(w http.ResponseWriter, r *http.Request) {
			ctx, span := tracer.Start(r.Context(), "child")
			marks.Mark(ctx, "mark")
			marks.Time(ctx, "measure").End()
			bridgehttp.SetRoute(r.Context(), "/items/{number}")
			span.End()
			_, started := marks.Start(r.Context(), "started")
			started.End()
			_, _ = w.Write([]byte("hello"))
		})
		h := bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware(mux)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example:8080/items/5", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		w := quietWriter{newHTTP1(newPlainWriter())}
		serve := bothproviders.HandedOver(tp, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		})
		const runs = 1000
		serve()
		without := testing.AllocsPerRun(runs, serve)
		mem := mirrored(t, tl, 1)
		serve()
		with := testing.AllocsPerRun(runs, serve)
		if strings.HasSuffix(t.Name(), "/SDK") {
			without += 2 // the slot's own unit, and the SDK's copy of the attributes
		}
		if with > without || mem[len(mem)/2] == 0 && string(mem) == string(make([]byte, len(mem))) {
			t.Errorf("%v allocations with the black box, and %v without", with, without)
		}
		(*record.Timeline)(tl).SetMirror(nil)
		if err := (*record.Timeline)(tl).FlushUnits(t.Context()); err != nil { // with slots
			t.Fatal(err)
		}
		before := string(mem)
		if again := testing.AllocsPerRun(runs, serve); again > without || string(mem) != before {
			t.Errorf("%v allocations after the black box, and %v before", again, without)
		}
	})
}
