package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// onEnd is a processor that calls itself with each span.
type onEnd func(sdktrace.ReadOnlySpan)

func (f onEnd) OnEnd(s sdktrace.ReadOnlySpan)                 { f(s) }
func (onEnd) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (onEnd) ForceFlush(context.Context) error                { return nil }
func (onEnd) Shutdown(context.Context) error                  { return nil }

// When the request's span ends, all there is to say of the request has been said.
func TestRequestIsToldBeforeItsSpanEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		then    func() // at the handler's end
		trailer string // metrics
		tags    []string
	}{
		{"returns", func() {}, "late dur", []string{"http.request.body.size", "http.response.body.size", "http.response.status_code", "http.route"}},
		{"panics", func() { panic("boom") }, "late dur", []string{"error.type", "http.request.body.size", "http.response.body.size", "http.response.status_code", "http.route"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := observer.NewTimeline(observer.TimelineOptions{})
			navigations := watch(t, tl, observer.Navigation)
			w := httptest.NewRecorder()
			var request *observer.Timeline
			ended := 0
			tp := bothproviders.New(t, tl, nil, onEnd(func(s sdktrace.ReadOnlySpan) {
				if s.SpanKind() != trace.SpanKindServer {
					return
				}
				ended++
				if e := only(t, navigations()); (*record.Entry)(e).Span().Self != record.ID(s.SpanContext().SpanID()) || attr(e, record.ResponseEnd) == nil {
					t.Errorf("entry %v of span %x", e, (*record.Entry)(e).Span().Self)
				}
				if _, ok := (*record.Timeline)(request).Timing(record.ResponseEnd); !ok {
					t.Error("responseEnd is not known")
				}
				if got := metrics(t, w.Result().Header.Values("Server-Timing")); strings.Join(got, ",") != "early dur" {
					t.Errorf("the header tells %q", got)
				}
				if got := metrics(t, w.Header().Values("Server-Timing")); strings.Join(got, ",") != c.trailer {
					t.Errorf("the trailer tells %q, want %q", got, c.trailer)
				}
				for _, key := range c.tags {
					if tag(s, key) == "" {
						t.Errorf("the span has no %s: %s", key, text(s.Attributes()))
					}
				}
				if !slices.ContainsFunc(s.Events(), func(e sdktrace.Event) bool { return e.Name == "mark" }) {
					t.Errorf("events %v", s.Events())
				}
			}))
			defer func() {
				if err := tp.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			mux := http.NewServeMux()
			mux.HandleFunc("POST /x", func(w http.ResponseWriter, req *http.Request) {
				request = observer.FromContext(req.Context())
				_, _ = req.Body.Read(make([]byte, 10))
				measure(req, "early")
				_, _ = w.Write([]byte("hello"))
				measure(req, "late")
				marks.Mark(req.Context(), "mark")
				c.then()
			})
			req := newRequest(t, http.MethodPost, "/x", strings.NewReader("body"))
			req.Header.Set("Te", "trailers")
			func() {
				defer func() { _ = recover() }()
				bridgehttp.Server{
					TracerProvider: tp, Timeline: tl, ServerTiming: bridgehttp.ServerTiming{Names: []string{"*"}},
				}.Middleware(mux).ServeHTTP(w, req)
			}()
			if err := tp.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
			if ended != 1 {
				t.Errorf("%d server spans ended, want 1", ended)
			}
		})
	}
}
