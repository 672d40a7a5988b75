package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A request's second middleware lets it pass.
func TestRequestIsSeenOnce(t *testing.T) {
	r := withProcessor(t)
	entries := watch(t, r.tl, observer.Navigation)
	w := httptest.NewRecorder()
	r.traced(r.traced(http.NotFoundHandler())).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
	r.flush(t)
	r.got.one(t, "GET")
	only(t, entries())
	if got := w.Header().Values("Server-Timing"); len(got) != 1 {
		t.Errorf("Server-Timing is %q, want one value", got)
	}
}

// Under other instrumentation's server span a request gets no other; what the
// handler measures is that one's child.
func TestRequestUnderAServerSpan(t *testing.T) {
	r := withProcessor(t)
	entries := watch(t, r.tl, observer.Navigation)
	ctx, span := r.tracer.Start(r.ctx, "theirs", trace.WithSpanKind(trace.SpanKindServer))
	w := httptest.NewRecorder()
	var origin trace.SpanContext
	r.traced(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		origin = trace.SpanContextFromContext(req.Context())
		everything(t, req.Context())
		http.Error(w, "", http.StatusInternalServerError)
	})).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil).WithContext(ctx))
	span.End()
	r.flush(t)
	theirs := r.got.one(t, "theirs")
	if !origin.Equal(span.SpanContext()) || len(r.got.all()) != 4 {
		t.Errorf("the handler's span is %v, spans %v", origin.SpanID(), r.got.names())
	}
	if got := r.got.one(t, "leaf").Parent().SpanID(); got != span.SpanContext().SpanID() {
		t.Errorf("the measure's parent is %v", got)
	}
	if theirs.Status().Code != codes.Unset || len(theirs.Attributes()) != 0 {
		t.Errorf("their span was changed: %v, %s", theirs.Status(), text(theirs.Attributes()))
	}
	if got := attr(only(t, entries()), "responseStatus"); got != int64(500) {
		t.Errorf("responseStatus is %v", got)
	}
	if !strings.Contains(w.Header().Get("Server-Timing"), span.SpanContext().SpanID().String()) {
		t.Errorf("Server-Timing is %q", w.Header())
	}
}

// theirs is other instrumentation's middleware: it starts a server span.
func (r *rig) theirs(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, span := r.tracer.Start(req.Context(), "theirs", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		h.ServeHTTP(w, req.WithContext(ctx))
	})
}

// Under a span that serves nothing, as the program's own in the server's BaseContext, each request has a timeline of its
// own. So it has if other instrumentation makes the server span.
func TestRequestsUnderASpanThatServesNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  trace.SpanKind
		ended bool
		other bool // instrumentation makes the server span
	}{
		{"a running one", trace.SpanKindInternal, false, false},
		{"an ended one", trace.SpanKindServer, true, false},
		{"a running one, and other instrumentation", trace.SpanKindInternal, false, true},
		{"an ended one, and other instrumentation", trace.SpanKindInternal, true, true},
	} {
		for sampling, sampler := range map[string]sdktrace.Sampler{"": nil, ", unsampled": unsampled} {
			t.Run(c.name+sampling, func(t *testing.T) {
				r := withProcessor(t, sampler)
				entries := watch(t, r.tl, observer.Navigation)
				ctx, program := r.tracer.Start(r.ctx, "program", trace.WithSpanKind(c.kind))
				if c.ended {
					program.End()
				}
				var timelines []*observer.Timeline
				h := r.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
					tl := observer.FromContext(req.Context())
					if (*record.Timeline)(tl).Parent() != (*record.Timeline)(r.tl) || slices.Contains(timelines, tl) {
						t.Errorf("the request has no timeline of its own")
					}
					timelines = append(timelines, tl)
					marks.Mark(req.Context(), "mark")
					if n := len(tl.EntriesByType(observer.Mark)); sampler == nil && n != 1 {
						t.Errorf("%d marks on the request's timeline, want 1", n)
					}
				}))
				if c.other {
					h = r.theirs(h)
				}
				const requests = 3
				for range requests {
					before := time.Now()
					h.ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil).WithContext(ctx))
					if origin := timelines[len(timelines)-1].Origin(); origin.Before(before) {
						t.Errorf("the timeline begins %v before the request", before.Sub(origin))
					}
				}
				program.End()
				r.flush(t)
				if n := len(entries()); n != requests {
					t.Errorf("%d navigation entries, want %d", n, requests)
				}
				servers, spans := 0, map[bool]int{true: requests}[sampler == nil]
				for _, s := range r.got.all() {
					if s.SpanKind() != trace.SpanKindServer || s.Name() == "program" {
						continue
					}
					servers++
					if s.Parent().SpanID() != program.SpanContext().SpanID() || len(s.Events()) != 1 {
						t.Errorf("%q is under %v with %d events, want the program's span and a mark", s.Name(), s.Parent().SpanID(), len(s.Events()))
					}
				}
				if servers != spans {
					t.Errorf("%d server spans, want %d; there are %v", servers, spans, r.got.names())
				}
			})
		}
	}
}

// A handler that calls another one, perhaps within a measure, makes no further request of it.
func TestRequestWithinARequest(t *testing.T) {
	for sampling, sampler := range map[string]sdktrace.Sampler{"": nil, ", unsampled": unsampled} {
		t.Run("marks.Start"+sampling, func(t *testing.T) {
			r := withProcessor(t, sampler)
			entries := watch(t, r.tl, observer.Navigation)
			var outer *observer.Timeline
			inner := r.traced(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				if observer.FromContext(req.Context()) != outer {
					t.Error("the inner handler has another timeline")
				}
			}))
			w := httptest.NewRecorder()
			r.traced(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				outer = observer.FromContext(req.Context())
				ctx, part := marks.Start(req.Context(), "part")
				defer part.End()
				inner.ServeHTTP(w, req.WithContext(ctx))
			})).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
			r.flush(t)
			only(t, entries())
			if got := r.got.names(); sampler == nil && len(got) != 2 || sampler != nil && len(got) != 0 {
				t.Errorf("spans %v", got)
			}
			if got := w.Header().Values("Server-Timing"); len(got) != 1 {
				t.Errorf("Server-Timing is %q, want one value", got)
			}
		})
		t.Run("other instrumentation"+sampling, func(t *testing.T) {
			r := withProcessor(t, sampler)
			entries := watch(t, r.tl, observer.Navigation)
			w := httptest.NewRecorder()
			var inner *observer.Timeline
			h := r.theirs(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				inner = observer.FromContext(req.Context())
				measure(req, "inside")
			}))
			r.timed(bridgehttp.ServerTiming{Names: []string{"inside"}}, func(w http.ResponseWriter, req *http.Request) {
				h.ServeHTTP(w, req)
				if inner != observer.FromContext(req.Context()) {
					t.Error("the inner handler has another timeline")
				}
			}).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
			r.flush(t)
			only(t, entries())
			if got := metrics(t, w.Header().Values("Server-Timing")); !slices.Equal(got, []string{"inside dur"}) {
				t.Errorf("Server-Timing tells %q", got)
			}
		})
	}
}

// A handler between other instrumentation and the middleware may record while the middleware begins.
func TestRequestIsRecordedWhileItBegins(t *testing.T) {
	for _, sampler := range []sdktrace.Sampler{nil, unsampled} {
		r := withProcessor(t, sampler)
		inner := r.timed(bridgehttp.ServerTiming{Names: []string{"*"}}, func(http.ResponseWriter, *http.Request) {})
		r.theirs(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			begun, stop, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				close(begun)
				for {
					select {
					case <-stop:
						measure(req, "last")
						return
					default:
						measure(req, "more")
					}
				}
			}()
			<-begun
			inner.ServeHTTP(w, req)
			close(stop)
			<-done
		})).ServeHTTP(httptest.NewRecorder(), newRequest(t, http.MethodGet, "/", nil))
	}
}

// A context that outlives its request records into nothing of it, and into no other request.
func TestRequestIsRecordedAfterItsEnd(t *testing.T) {
	for sampling, sampler := range map[string]sdktrace.Sampler{"sampled": nil, "unsampled": unsampled} {
		t.Run(sampling, func(t *testing.T) {
			r := withProcessor(t, sampler)
			var detached context.Context
			w := httptest.NewRecorder()
			r.serve(func(_ http.ResponseWriter, req *http.Request) { detached = req.Context() }, "/", newRequest(t, http.MethodGet, "/", nil))
			everything(t, detached)
			var others int
			r.timedServe(t, w, func(_ http.ResponseWriter, req *http.Request) {
				everything(t, detached)
				others = len(observer.FromContext(req.Context()).Entries())
			})
			r.flush(t)
			if others != 0 {
				t.Errorf("%d entries on another request's timeline", others)
			}
			if got := w.Header().Values("Server-Timing"); len(got) != 0 {
				t.Errorf("another request's Server-Timing is %q", got)
			}
			for _, s := range r.got.all() {
				if s.SpanKind() == trace.SpanKindServer && len(s.Events()) != 0 {
					t.Errorf("%q has events %v", s.Name(), s.Events())
				}
			}
		})
	}
}

func (r *rig) timedServe(t *testing.T, w http.ResponseWriter, h http.HandlerFunc) {
	t.Helper()
	r.timed(bridgehttp.ServerTiming{Names: []string{"*"}}, h).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
}
