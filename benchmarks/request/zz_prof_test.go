package main

import (
	"net/http/httptest"
	"testing"
	"io"
	"net/http"

	"github.com/perfline/perfline/benchmarks/internal/otlp"
)

type sinkw struct{ h http.Header }

func (w *sinkw) Header() http.Header         { return w.h }
func (w *sinkw) WriteHeader(int)             {}
func (w *sinkw) Write(b []byte) (int, error) { return len(b), nil }
func (w *sinkw) WriteString(s string) (int, error) { return len(s), nil }

var _ io.StringWriter = &sinkw{}
var _ = httptest.NewRecorder

func BenchmarkProf(b *testing.B) {
	if err := environment(false); err != nil {
		b.Fatal(err)
	}
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			p, err := v.open(b.Context(), setting{sampler: always, memory: &otlp.Receiver{}})
			if err != nil {
				b.Fatal(err)
			}
			l, err := openHTTP(v.instrumented())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			w := &sinkw{h: http.Header{}}
			n := 0
			for b.Loop() {
				clear(w.h)
				l.handler.ServeHTTP(w, l.next())
				if n++; n%512 == 0 {
					_ = p.flush(b.Context())
				}
			}
			_ = p.shutdown(b.Context())
		})
	}
}
