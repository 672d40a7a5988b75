package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
)

// A site is a service whose requests are spans, measures and calls, and a recorder.
type site struct {
	*studio
	provider trace.TracerProvider
	server   *httptest.Server
}

// The providers of sites.
const (
	own     = "perfline's provider"
	sdk     = "the SDK's provider"
	partial = "the SDK's provider, which tells no processor of other instrumentation's spans"
)

// build makes a site. A nil sampler is the default.
func build(t *testing.T, provider string, sampler sdktrace.Sampler) *site {
	s := &site{studio: open(t, sessions.Config{})}
	s.play()
	if provider == own {
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: s.tl, Sampler: sampler})
		t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
		s.provider = p
	} else {
		p := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))
		joined := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: s.tl, TracerProvider: p})
		t.Cleanup(func() { _ = errors.Join(joined.Shutdown(context.Background()), p.Shutdown(context.Background())) })
		if provider == sdk {
			p.RegisterSpanProcessor(joined)
		} else { // without a processor, it would record no spans
			p.RegisterSpanProcessor(sdktrace.NewSimpleSpanProcessor(tracetest.NewNoopExporter()))
		}
		s.provider = p
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /upstream", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	mux.HandleFunc("GET /shop/{id}", s.shop)
	b := bridgehttp.Server{TracerProvider: s.provider, Propagators: propagation.TraceContext{}, Timeline: s.tl, ServerTiming: bridgehttp.ServerTiming{Trace: true}}
	s.server = httptest.NewServer(b.Middleware(mux))
	t.Cleanup(s.server.Close)
	return s
}

func (s *site) shop(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	marks.Mark(ctx, "first")
	outer, m := marks.Start(ctx, "outer")
	inner, n := marks.Start(outer, "inner")
	marks.Time(inner, "leaf").End()
	marks.Mark(inner, "in inner")
	n.End()
	foreign, span := s.provider.Tracer("driver").Start(outer, "foreign")
	marks.Time(foreign, "in foreign").End()
	span.End()
	m.End()

	client := http.Client{Transport: bridgehttp.Client{TracerProvider: s.provider, Propagators: propagation.TraceContext{}}.Transport(s.server.Client().Transport)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/upstream", nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Error(err)
		return
	}
	_, _ = io.Copy(w, resp.Body)
	_ = resp.Body.Close()

	// Two at the same time, the right one's within the left one's.
	var wg sync.WaitGroup
	begun, over := make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		in, m := marks.Start(ctx, "left")
		close(begun)
		<-over
		marks.Time(in, "in left").End()
		m.End()
	})
	wg.Go(func() {
		<-begun
		in, m := marks.Start(ctx, "right")
		marks.Time(in, "in right").End()
		m.End()
		close(over)
	})
	wg.Wait()
}

// visit makes a request to the shop under a session.
func (s *site) visit(o sessions.StartOptions) *sessions.Session {
	s.t.Helper()
	id := s.start(o)
	resp, err := s.server.Client().Get(s.server.URL + "/shop/7")
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	s.server.Close() // its handlers are over
	return s.stop(id)
}

// treesOf are the paths of all events, for each timeline but the collector's.
func treesOf(s *sessions.Session) (all []string) {
	for _, tl := range s.Timelines() {
		if tl.Name == "gc" {
			continue
		}
		paths := map[sessions.EventID]string{}
		for e := range s.All(tl.ID) {
			if e.Type != sessions.Samples {
				name, _, _ := strings.Cut(e.Name, ":") // without a port
				paths[e.ID] = paths[e.ParentID] + "/" + name
				all = append(all, fmt.Sprintf("%s%s", tl.Title(), paths[e.ID]))
			}
		}
	}
	slices.Sort(all)
	return all
}

// A session over requests as they are has each request as a frame, and its events as they were called.
func TestLive_SP7_SP11(t *testing.T) {
	const root = "GET /shop/{id}/GET /shop/{id}"
	common := []string{
		"GET /upstream/GET /upstream", root, root + "/first",
		root + "/GET 127.0.0.1", root + "/GET 127.0.0.1/traceparent", // what upstream's Server-Timing says
		root + "/outer", root + "/outer/inner", root + "/outer/inner/in inner", root + "/outer/inner/leaf",
		root + "/left", root + "/left/in left",
	}
	foreign := []string{root + "/outer/foreign", root + "/outer/foreign/in foreign"}
	unseen := []string{root + "/outer/in foreign"} // the timeline does not know the foreign span
	beside := []string{"GET /shop/{id} · 2/right", "GET /shop/{id} · 2/right/in right"}
	within := []string{root + "/left/right", root + "/left/right/in right"} // what they run on cannot be told
	for _, c := range []struct {
		provider string
		sampler  sdktrace.Sampler
		want     [][]string
	}{
		{own, sdktrace.AlwaysSample(), [][]string{common, foreign, beside}},
		{own, nil, [][]string{common, foreign, beside}}, // marks and measures wait in the journal
		{sdk, sdktrace.AlwaysSample(), [][]string{common, foreign, beside}},
		{partial, sdktrace.AlwaysSample(), [][]string{common, unseen, beside}},
		{own, sdktrace.NeverSample(), [][]string{common, unseen, within}},
		{sdk, sdktrace.NeverSample(), [][]string{common, unseen, within}},
	} {
		t.Run(fmt.Sprintf("%s %T", c.provider, c.sampler), func(t *testing.T) {
			s := build(t, c.provider, c.sampler)
			got, want := s.visit(sessions.StartOptions{}), slices.Concat(c.want...)
			slices.Sort(want)
			if trees := treesOf(got); !slices.Equal(trees, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(trees, "\n"), strings.Join(want, "\n"))
			}
			for _, tl := range got.Timelines() {
				if tl.Name == "GET /shop/{id}" && (tl.TraceID.IsValid() != (c.sampler != sdktrace.NeverSample()) || tl.Interval.Start < 0) {
					t.Errorf("%+v", tl)
				}
			}
		})
	}
}

// reticent is a provider of spans that do not tell what is above them.
type reticent struct{ trace.TracerProvider }

func (r reticent) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return reticentTracer{r.TracerProvider.Tracer(name, o...), r}
}

type reticentTracer struct {
	trace.Tracer
	by reticent
}

type reticentSpan struct {
	trace.Span
	by reticent
}

func (s reticentSpan) TracerProvider() trace.TracerProvider { return s.by }

func (r reticentTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := r.Tracer.Start(ctx, name, o...)
	span = reticentSpan{span, r.by}
	return trace.ContextWithSpan(ctx, span), span
}

// Where spans do not tell what is above them, what lies within counts as called.
func TestLiveReticentSpans_SP11(t *testing.T) {
	s := open(t, sessions.Config{})
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(tracetest.NewNoopExporter()))
	joined := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: s.tl, TracerProvider: reticent{tp}})
	defer func() { _ = joined.Shutdown(t.Context()) }()
	id := s.start(entriesOnly)
	ctx, outer := marks.Start(s.ctx, "outer")
	_, inner := marks.Start(ctx, "inner")
	inner.End()
	outer.End()
	got := s.stop(id)
	if want := []string{"process/outer", "process/outer/inner"}; !slices.Equal(treesOf(got), want) {
		t.Errorf("got\n%s", draw(got))
	}
}

// With a route the session is that request's, and begins when it came (SP-25).
func TestLiveRoute_SP25(t *testing.T) {
	s := build(t, own, nil)
	got := s.visit(sessions.StartOptions{Route: "GET /shop/{id}", NoSamples: true})
	for _, tl := range got.Timelines() {
		if tl.Name == "GET /shop/{id}" && tl.Interval.Start == 0 && tl.Lane == 0 {
			return
		}
	}
	t.Errorf("got\n%s", draw(got))
}
