package bridgehttp_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgehttp/internal/servertiming"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// timed serves h with what a Server-Timing may tell.
func (r *rig) timed(timing bridgehttp.ServerTiming, h http.HandlerFunc) http.Handler {
	s := r.server()
	s.ServerTiming = timing
	return s.Middleware(h)
}

// traced serves h and tells the trace in Server-Timing.
func (r *rig) traced(h http.Handler) http.Handler {
	return r.timed(bridgehttp.ServerTiming{Trace: true}, h.ServeHTTP)
}

// metrics are the metrics of Server-Timing values, durations left out.
func metrics(t *testing.T, values []string) (out []string) {
	t.Helper()
	all, malformed, dropped := servertiming.Parse(values)
	if malformed+dropped > 0 {
		t.Errorf("%d of the values %q are malformed, %d metrics are too many", malformed, values, dropped)
	}
	for _, m := range all {
		name := m.Name
		if m.HasDuration {
			name += " dur"
		}
		if m.Description != "" && name != "traceparent" {
			name += " " + m.Description
		}
		out = append(out, name)
	}
	return out
}

// measure records finished measures.
func measure(req *http.Request, names ...string) {
	for _, name := range names {
		marks.Time(req.Context(), name).End()
	}
}

func TestServerTiming(t *testing.T) {
	named := func(names ...string) bridgehttp.ServerTiming {
		return bridgehttp.ServerTiming{Names: names}
	}
	for _, c := range []struct {
		name    string
		timing  bridgehttp.ServerTiming
		handler http.HandlerFunc
		want    string // metrics
	}{
		{"by default nothing", bridgehttp.ServerTiming{}, func(_ http.ResponseWriter, r *http.Request) { measure(r, "db") }, ""},
		{"by default what the handler set", bridgehttp.ServerTiming{}, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server-Timing", "own") }, "own"},
		{"the trace", bridgehttp.ServerTiming{Trace: true}, func(_ http.ResponseWriter, r *http.Request) { measure(r, "db") }, "traceparent"},
		{"trace and measures", bridgehttp.ServerTiming{Trace: true, Names: []string{"db"}}, func(_ http.ResponseWriter, r *http.Request) { measure(r, "db") }, "traceparent,db dur"},
		{"exact names", named("db", "render"), func(_ http.ResponseWriter, r *http.Request) {
			measure(r, "db", "db2", "d", "render", "DB", "db")
		}, "db dur,render dur,db dur"},
		{"beginnings of names", named("db.*", "x"), func(_ http.ResponseWriter, r *http.Request) { measure(r, "db.a", "db", "db.", "xdb.b", "x") }, "db.a dur,db. dur,x dur"},
		{"all names", named("*"), func(_ http.ResponseWriter, r *http.Request) { measure(r, "a", "b") }, "a dur,b dur"},
		{"a star elsewhere is a name's", named("a*b"), func(_ http.ResponseWriter, r *http.Request) { measure(r, "a*b", "axb") }, "a*b dur"},
		{"an empty name tells nothing", named(""), func(_ http.ResponseWriter, r *http.Request) { measure(r, "a") }, ""},
		{"marks are not told", named("*"), func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "m"); measure(r, "a") }, "a dur"},
		{"a description", named("*"), func(_ http.ResponseWriter, r *http.Request) {
			marks.Time(r.Context(), "a", slog.Int("n", 1), slog.String("desc", "first \"query\"")).End()
		}, `a dur first "query"`},
		{"what the handler set stays, behind", named("*"), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server-Timing", "own, other;dur=1")
			measure(r, "a")
		}, "a dur,own,other dur"},
		{"what ended after the first byte is not told", named("*"), func(w http.ResponseWriter, r *http.Request) {
			measure(r, "before")
			w.WriteHeader(http.StatusOK)
			measure(r, "after")
		}, "before dur"},
		{"on a response without a body", named("*"), func(w http.ResponseWriter, r *http.Request) { measure(r, "a"); w.WriteHeader(http.StatusNoContent) }, "a dur"},
		{"on an error", named("*"), func(w http.ResponseWriter, r *http.Request) { measure(r, "a"); http.Error(w, "", 500) }, "a dur"},
	} {
		for sampling, sampler := range map[string]sdktrace.Sampler{"": nil, ", unsampled": unsampled} {
			t.Run(c.name+sampling, func(t *testing.T) {
				r := withProcessor(t, sampler)
				w := httptest.NewRecorder()
				r.timed(c.timing, c.handler).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
				values := w.Result().Header.Values("Server-Timing")
				if got := strings.Join(metrics(t, values), ","); got != c.want {
					t.Errorf("got  %q of %q\nwant %q", got, values, c.want)
				}
			})
		}
	}
}

// The trace's id is written as readers look for it.
func TestServerTimingTrace(t *testing.T) {
	for flags, sampler := range map[string]sdktrace.Sampler{"0[13]": nil, "0[02]": unsampled} {
		r := withProcessor(t, sampler)
		w := httptest.NewRecorder()
		var id string
		r.timed(bridgehttp.ServerTiming{Trace: true}, func(_ http.ResponseWriter, req *http.Request) {
			sc := trace.SpanContextFromContext(req.Context())
			id = "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-"
		}).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
		want := `^traceparent;desc="(` + id + flags + `)"$`
		if !regexp.MustCompile(want).MatchString(w.Header().Get("Server-Timing")) {
			t.Errorf("got %q, want %s", w.Header().Get("Server-Timing"), want)
		}
	}
}

// Metrics that do not fit are counted, and no value exceeds the limit.
func TestServerTimingMaxBytes(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = "measure-" + strings.Repeat("x", i%7)
	}
	for _, c := range []struct {
		name string
		max  int
		fits int // measures at least
		want string
	}{
		{"the default", 0, 30, "omitted"},
		{"negative is the default", -1, 30, "omitted"},
		{"little", 100, 1, "omitted"},
		{"nothing but the count", 24, 0, "omitted 100"},
		{"not even that", 10, 0, ""},
		{"enough for all", 1 << 16, 100, "measure"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			w := httptest.NewRecorder()
			r.timed(bridgehttp.ServerTiming{Names: []string{"*"}, MaxBytes: c.max}, func(_ http.ResponseWriter, req *http.Request) {
				measure(req, names...)
			}).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
			value := w.Header().Get("Server-Timing")
			limit := c.max
			if limit <= 0 {
				limit = 1024
			}
			if len(value) > limit {
				t.Errorf("%d bytes, want at most %d", len(value), limit)
			}
			sent := strings.Count(value, "measure-")
			last := value[strings.LastIndex(value, ",")+1:]
			if sent < c.fits || !strings.HasPrefix(strings.TrimSpace(strings.ReplaceAll(last, ";desc=", " ")), c.want) {
				t.Errorf("%d were told, the last is %q; want at least %d, %q", sent, last, c.fits, c.want)
			}
			if _, n, _ := strings.Cut(value, "omitted;desc="); n != "" && n != strconv.Itoa(len(names)-sent) {
				t.Errorf("%s are omitted of %d, of which %d were told", n, len(names), sent)
			}
		})
	}
}

// No name ends the header or adds another, and the timeline keeps it as it was.
func TestServerTimingHostileNames(t *testing.T) {
	for _, c := range []struct{ name, measure, want string }{
		{"line break", "a\r\nSet-Cookie: x=1", "a__Set-Cookie__x_1 dur a??Set-Cookie: x=1"},
		{"control characters", "a\x00\x7f\tb", "a___b dur a???b"},
		{"separators", `a,b;dur=1;desc="x"`, `a_b_dur_1_desc__x_ dur a,b;dur=1;desc="x"`},
		{"unicode", "größe→", "gr____e___ dur gr??e?"},
		{"not UTF-8", "a\xffb", "a_b dur a?b"},
		{"10 kB", strings.Repeat("n", 10_000), strings.Repeat("n", 64) + " dur " + strings.Repeat("n", 128)},
		{"empty", "", "_ dur"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			s := r.open(t, "http/1.1", r.timed(bridgehttp.ServerTiming{Names: []string{"*"}}, func(_ http.ResponseWriter, req *http.Request) {
				measure(req, c.measure)
				if got := observer.FromContext(req.Context()).Entries()[0].Name(); got != record.Name(c.measure) {
					t.Errorf("on the timeline it is %q", got)
				}
			}))
			resp, _, err := s.do(t, newRequest(t, http.MethodGet, s.url, nil))
			if err != nil {
				t.Fatal(err)
			}
			if got := metrics(t, resp.Header.Values("Server-Timing")); !slices.Equal(got, []string{c.want}) || resp.Header.Get("Set-Cookie") != "" {
				t.Errorf("got %q, header %v, want %q", got, resp.Header, c.want)
			}
		})
	}
}

// Spans of other instrumentation are told by their entry's name, also if they have left the process meanwhile.
func TestServerTimingOfSpans(t *testing.T) {
	for _, kind := range []trace.SpanKind{trace.SpanKindInternal, trace.SpanKindClient} {
		for _, flushed := range []bool{false, true} {
			r := withProcessor(t)
			w := httptest.NewRecorder()
			r.timed(bridgehttp.ServerTiming{Names: []string{"SELECT", "m"}}, func(_ http.ResponseWriter, req *http.Request) {
				for _, name := range []string{"SELECT", "INSERT"} {
					_, span := r.tracer.Start(req.Context(), name, trace.WithSpanKind(kind))
					span.End()
				}
				if flushed {
					r.flush(t)
				}
				measure(req, "m")
			}).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
			if got := metrics(t, w.Header().Values("Server-Timing")); !slices.Equal(got, []string{"SELECT dur", "m dur"}) {
				t.Errorf("kind %v, flushed %v: got %q", kind, flushed, got)
			}
		}
	}
}

// A request has more measures than its journal: all are counted.
func TestServerTimingOfALongRequest(t *testing.T) {
	const measures = 1500
	r := withProcessor(t)
	w := httptest.NewRecorder()
	r.timed(bridgehttp.ServerTiming{Names: []string{"m"}}, func(_ http.ResponseWriter, req *http.Request) {
		for range measures {
			measure(req, "m")
		}
	}).ServeHTTP(w, newRequest(t, http.MethodGet, "/", nil))
	value := w.Header().Get("Server-Timing")
	sent := strings.Count(value, "m;dur=")
	if want := ", omitted;desc=" + strconv.Itoa(measures-sent); sent == 0 || !strings.HasSuffix(value, want) {
		t.Errorf("%d are told in %q, want %q at the end", sent, value, want)
	}
}

// Measures end on other goroutines while the first byte is written: each is in
// the header or in the trailer.
func TestServerTimingConcurrently(t *testing.T) {
	const workers, each = 4, 25
	for range 20 {
		r := withProcessor(t)
		s := r.open(t, "http/1.1", r.timed(bridgehttp.ServerTiming{Names: []string{"*"}, MaxBytes: 1 << 16}, func(w http.ResponseWriter, req *http.Request) {
			var wg sync.WaitGroup
			for i := range workers {
				wg.Go(func() {
					for j := range each {
						measure(req, "m"+strconv.Itoa(i*each+j))
					}
				})
			}
			w.(http.Flusher).Flush()
			wg.Wait()
		}))
		req := newRequest(t, http.MethodGet, s.url, nil)
		req.Header.Set("TE", "trailers")
		resp, _, err := s.do(t, req)
		if err != nil {
			t.Fatal(err)
		}
		sent := map[string]int{}
		for _, value := range append(resp.Header.Values("Server-Timing"), resp.Trailer.Values("Server-Timing")...) {
			for metric := range strings.SplitSeq(value, ", ") {
				name, _, _ := strings.Cut(metric, ";")
				sent[name]++
			}
		}
		for name, n := range sent {
			if n != 1 {
				t.Errorf("%s was told %d times", name, n)
			}
		}
		if len(sent) != workers*each {
			t.Errorf("%d were told, want %d", len(sent), workers*each)
		}
	}
}
