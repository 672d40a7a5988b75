package live_test

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/runtimestats"

	otelattribute "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// canaries are texts of a single request, by their origin. None of them is in a summary.
var canaries = map[string]string{
	"a path":             "canary-path",
	"a header":           "canary-agent",
	"an attribute":       "canary-attribute",
	"an attribute's key": "canary-key",
	"a mark":             "canary-mark",
	"a measure":          "canary-measure",
	"an error":           "canary-error",
	"a background span":  "canary-background",
	"a function":         "canaryFunction",
	"a crash":            "canary-crash",
	"an open request":    "canary-open",
	"a cause of a wait":  "main.canaryWaited",
}

func canaryFunction() { burn(300 * time.Millisecond) }

// withCanaries returns a program with a request, a recording, a background span and a result of the waits recorder that have
// all canaries, and the canaries with the request's ids.
func withCanaries(t *testing.T, c live.Config) (p *program, all map[string]string) {
	t.Helper()
	p, f := withWaits(t, allowed)
	c.Logger = slog.New(slog.DiscardHandler)
	p.page = live.Handler(afterDeaths(p.pl, died(t, "fatal error: canary-crash\n\n", func(r *mirror.Region) { openIn(r, 1, "canary-open", "") })), c)
	p.recording(func() {
		p.serve("GET /items/{id}", "/items/canary-path", func(_ http.ResponseWriter, r *http.Request) {
			span := trace.SpanFromContext(r.Context())
			span.SetAttributes(otelattribute.String("canary-key", "canary-attribute"), otelattribute.String("user_agent.original", "canary-agent"))
			span.SetStatus(codes.Error, "canary-error")
			marks.Mark(r.Context(), "canary-mark")
			defer marks.Time(r.Context(), "canary-measure").End()
			canaryFunction()
		})
	})
	_, background := p.pl.TracerProvider().Tracer("test").Start(t.Context(), "canary-background")
	background.End()
	if err := p.pl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := stored(p.pl).Requests()[0].Request()
	f.mu.Lock()
	f.results[q.Root.SpanID] = &waits.Request{
		TraceID: q.TraceID(), RootID: q.Root.SpanID, Name: q.Root.Name, Duration: q.Root.Duration(),
		Causes: []waits.Cause{{Kind: waits.Mutex, Duration: q.Root.Duration(), Function: "main.canaryWaited", SpanID: q.Root.SpanID}},
	}
	f.mu.Unlock()
	all = maps.Clone(canaries)
	all["a trace id"], all["a span id"] = q.TraceID().String(), q.Root.SpanID.String()
	for len((*runtimestats.History)(p.pl.Runtime()).Samples()) == 0 { // the first comes from another goroutine
		time.Sleep(time.Millisecond)
	}
	return p, all
}

// recording runs f in session 1, which it starts and stops without the page.
func (p *program) recording(f func()) {
	p.t.Helper()
	s := p.pl.Sessions()
	id, err := s.Start(p.t.Context(), sessions.StartOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	f()
	if _, err := s.Stop(p.t.Context(), id); err != nil {
		p.t.Fatal(err)
	}
}

// A pattern is of a route of data.
type pattern struct{ method, path string }

// patterns returns the patterns in the code.
func patterns(t *testing.T) (all []pattern) {
	t.Helper()
	inCode := regexp.MustCompile(`"(GET|POST) /((?:data|waits)/[^"]+)"`)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inCode.FindAllStringSubmatch(string(text), -1) {
			all = append(all, pattern{m[1], m[2]})
		}
	}
	return all
}

// paths returns all paths of data, made from the patterns in the code, with a trace id and a span id.
func paths(t *testing.T, traceID, spanID string) (all []string) {
	t.Helper()
	for _, p := range patterns(t) {
		for _, format := range []string{"svg", "json", "firefox", "speedscope", "pprof", "perfetto", "otlp"} {
			path := strings.NewReplacer("{trace}", traceID, "{span}", spanID, "{id}", "1", "{format}", format).Replace(p.path)
			if strings.Contains(path, "{") {
				t.Fatalf("no value for %s", path)
			}
			if path = p.method + " " + path + "?session=1&a=" + traceID + "/" + spanID; !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	for _, procedure := range []string{"ListSessions", "GetSession", "GetEvents", "StartProfiler", "StopProfiler", "ReleaseSession"} {
		all = append(all, "POST rpc/perfline.profiler.v1.ProfilerService/"+procedure)
	}
	if len(all) < 15 {
		t.Fatalf("only %d paths are in the code: %q", len(all), all)
	}
	return all
}

// firstEvents returns the first event of each kind from the stream.
func (p *program) firstEvents() string {
	p.t.Helper()
	server, served := serveStreams(p)
	s, status := open(p.t, server)
	if status != http.StatusOK {
		p.t.Fatalf("the stream has status %d", status)
	}
	event := ""
	var body strings.Builder
	for event != "runtime" { // the last kind
		var data string
		if event, data = s.next(); event == "" {
			p.t.Fatal("the stream ended")
		}
		body.WriteString(event + " " + data + "\n")
	}
	s.close()
	<-served
	return body.String()
}

// everyAnswer returns the bodies and the statuses of all paths. The body of the stream is the first event of each kind.
func (p *program) everyAnswer(traceID, spanID string) (bodies map[string]string, statuses map[string]int) {
	p.t.Helper()
	bodies, statuses = map[string]string{}, map[string]int{}
	for _, path := range paths(p.t, traceID, spanID) {
		method, to, _ := strings.Cut(path, " ")
		if strings.HasPrefix(to, "data/v1/stream") {
			bodies[path], statuses[path] = p.firstEvents(), http.StatusOK
			continue
		}
		body := ""
		if method == http.MethodPost {
			body = `{"sessionID":1}`
		}
		rec := p.do(ask(method, to, body))
		bodies[path], statuses[path] = rec.Body.String(), rec.Code
	}
	return bodies, statuses
}

// A summary has nothing of a single request, whatever is asked. The same program serves all of it as Everything.
func TestSummaryHasNoRequest(t *testing.T) {
	me := func(*http.Request) error { return nil }
	for _, c := range []struct {
		name    string
		config  live.Config
		summary bool
	}{
		{"without Authorize", live.Config{}, false},
		{"with Authorize and everything", live.Config{Authorize: me, Data: guard.Everything}, false},
		{"with Authorize", live.Config{Authorize: me}, true},
		{"a summary for the same machine", live.Config{Data: guard.Summary}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, all := withCanaries(t, c.config)
			bodies, statuses := p.everyAnswer(all["a trace id"], all["a span id"])
			var served []string
			for path, status := range statuses {
				if status == http.StatusOK {
					served = append(served, strings.TrimPrefix(strings.Split(path, "?")[0], "GET data/v1/"))
				} else if c.summary && (status != http.StatusNotFound || !strings.Contains(bodies[path], "live.Config{Data: guard.Everything}")) {
					t.Errorf("%s: status %d, %s: want 404 and the remedy", path, status, bodies[path])
				}
			}
			for origin, text := range all {
				found := ""
				for path, body := range bodies {
					// An error may repeat the path that the client sent.
					if statuses[path] == http.StatusOK && strings.Contains(body, text) {
						found = path
					}
				}
				if (found == "") != c.summary {
					t.Errorf("%s is at %q, want it only with everything", origin, found)
				}
			}
			slices.Sort(served)
			if want := []string{"overview", "routes", "routes/heat", "runtime", "stream"}; c.summary && !slices.Equal(served, want) {
				t.Errorf("a summary serves %q, want %q", served, want)
			}
			if c.summary {
				overview := bodies["GET data/v1/overview?session=1&a="+all["a trace id"]+"/"+all["a span id"]]
				for _, want := range []string{`{"route":"GET /items/{id}","class":"requests","count":1,`, `"data":"summary"`, `"service":"shop"`, `"group":"perfline.marks"`, `"heap":`} {
					if !strings.Contains(overview, want) {
						t.Errorf("the overview lacks %s: %s", want, overview)
					}
				}
				if n := p.pl.Sessions().Counts()["started"]; n != 1 {
					t.Errorf("%d sessions began, want the one before", n)
				}
			}
		})
	}
}

// A wrong value of Data is a programmer's error.
func TestDataIsChecked(t *testing.T) {
	p := start(t, allowed, live.Config{})
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "Config.Data 7: must be Everything or Summary") {
			t.Errorf("it panics with %q", text)
		}
	}()
	live.Handler(p.pl, live.Config{Data: 7})
}

// A client without access to a summary gets nothing of it.
func TestSummaryIsGuarded(t *testing.T) {
	p := start(t, allowed, live.Config{Authorize: func(*http.Request) error { return errors.New("no") }})
	for _, path := range []string{"", "data/v1/overview", "data/v1/runtime", "data/v1/profile/flame"} {
		if rec := p.do(ask(http.MethodGet, path, "")); rec.Code != http.StatusForbidden {
			t.Errorf("%s: status %d", path, rec.Code)
		}
	}
}
