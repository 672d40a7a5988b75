package peers_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// watch keeps what an observer of the rig's timeline is shown.
func (r *rig) watch(t *testing.T, types ...observer.Type) (entries func() []observer.Entry) {
	t.Helper()
	var mu sync.Mutex
	var all []observer.Entry
	obs, err := r.tl.Observe(func(l observer.List) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, l.Entries()...)
	}, observer.Options{Types: types})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(obs.Disconnect)
	return func() []observer.Entry {
		r.tl.Deliver()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// request is a GET through the handler of a real server. It returns the header of
// the response when the handler is done.
func request(t *testing.T, h http.Handler, target string, header http.Header) http.Header {
	t.Helper()
	done := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		h.ServeHTTP(w, r)
	}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	<-done
	return resp.Header
}

// get is a GET by a client, read to its end.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func sampled(yes bool) http.Header {
	if yes {
		return http.Header{"Traceparent": {traceparent}}
	}
	return http.Header{"Traceparent": {strings.TrimSuffix(traceparent, "1") + "0"}}
}

// A program that keeps otelhttp has otelhttp's span and metrics. The middleware below it
// adds the rest.
func TestUnderOtelhttp(t *testing.T) {
	for name, yes := range map[string]bool{"sampled": true, "not sampled": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, true)
			observed := r.watch(t, observer.Navigation)
			mux := http.NewServeMux()
			mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, req *http.Request) {
				marks.Mark(req.Context(), "mark")
				marks.Time(req.Context(), "leaf").End()
				greet(w, req)
			})
			ours := bridgehttp.Server{
				TracerProvider: r.provider, MeterProvider: r.meters, Propagators: propagation.TraceContext{}, Timeline: r.tl,
				ServerTiming: bridgehttp.ServerTiming{Trace: true},
			}.Middleware(mux)
			header := request(t, otelhttp.NewHandler(ours, "server", otelhttp.WithTracerProvider(r.provider), otelhttp.WithMeterProvider(r.meters),
				otelhttp.WithPropagators(propagation.TraceContext{})), "/items/7", sampled(yes))

			spans, navigations := r.ended(t), observed()
			timing := header.Values("Server-Timing")
			if yes {
				wantTheirSpan(t, spans)
				if len(navigations) > 0 && !navigations[0].Time().Equal(spans[0].StartTime()) {
					t.Errorf("the navigation entry starts at %v, otelhttp's span at %v", navigations[0].Time(), spans[0].StartTime())
				}
				sc := spans[0].SpanContext()
				id := "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-01"
				if want := []string{`traceparent;desc="` + id + `"`}; !slices.Equal(timing, want) {
					t.Errorf("Server-Timing is %q, want %q", timing, want)
				}
			} else {
				if len(spans) > 0 {
					t.Errorf("%d spans of a request that is not sampled", len(spans))
				}
				// The id is of a span that was not recorded.
				if len(timing) != 1 || !strings.HasPrefix(timing[0], `traceparent;desc="`+traceparent[:36]) || !strings.HasSuffix(timing[0], `-00"`) {
					t.Errorf("Server-Timing is %q, want the caller's trace, not sampled", timing)
				}
			}
			if len(navigations) != 1 || navigations[0].Name() != "/items/7" || attr(navigations[0], "route") != pattern {
				t.Errorf("navigation entries %v, want one of /items/7 with its route", navigations)
			}
			metrics, instruments := metricRecords(t, r.measured(t), "PORT")
			if len(metrics) != 1 || len(instruments) != 3 || metrics[0]["http.server.request.duration"] != "1 times" || metrics[0]["http.route"] != pattern {
				t.Errorf("metrics %v, want the request once, with its route", metrics)
			}
		})
	}
}

func wantTheirSpan(t *testing.T, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	if len(spans) != 2 || spans[1].Name() != "leaf" {
		t.Fatalf("spans %v, want otelhttp's and the measure's", names(spans))
	}
	s, leaf := spans[0], spans[1]
	if s.InstrumentationScope().Name != otelhttp.ScopeName || s.Name() != "GET "+pattern {
		t.Errorf("span %q is of %s, want otelhttp's with the route", s.Name(), s.InstrumentationScope().Name)
	}
	if len(s.Events()) != 1 || s.Events()[0].Name != "mark" {
		t.Errorf("events %v, want the mark", s.Events())
	}
	if leaf.Parent().SpanID() != s.SpanContext().SpanID() {
		t.Errorf("the parent of %q is %s, want otelhttp's %s", leaf.Name(), leaf.Parent().SpanID(), s.SpanContext().SpanID())
	}
}

func names(spans []sdktrace.ReadOnlySpan) (out []string) {
	for _, s := range spans {
		out = append(out, s.Name())
	}
	return out
}

// attr is an attribute of an entry as text.
func attr(e observer.Entry, key string) string {
	for _, a := range e.Detail() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}
