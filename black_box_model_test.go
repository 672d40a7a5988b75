package perfline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Random requests are open, end, and wait for a backend, which takes, fails and recovers. At random moments the process
// dies: the reader finds each open request with its newest entries, and invents none. What the backend has, and what the
// next process sends, is each span once.
func TestBlackBoxModel(t *testing.T) {
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "100000000") // the process never gives up
	overBoth(t, func(t *testing.T, start starter) {
		for seed := range uint64(4) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, start, rand.New(rand.NewPCG(seed, 51)))
				for w.step = range 300 {
					w.act()
					if w.random.IntN(10) == 0 {
						w.die(false)
					}
					if t.Failed() {
						t.Fatalf("seed %d, step %d", seed, w.step)
					}
				}
				w.die(true)
				w.end()
				if w.deaths < 15 || w.found < 30 || w.resent < 20 || w.spooled < 20 {
					t.Errorf("seed %d: %d deaths with %d open requests; %d spans of open requests and %d finished ones were left", seed, w.deaths, w.found, w.resent, w.spooled)
				}
			})
		}
	})
}

// A world is a process with a black box, and a model of its requests.
type world struct {
	t       *testing.T
	random  *rand.Rand
	start   starter
	step    int
	pl      *perfline.Pipeline
	config  perfline.Config
	backend *collector
	handler http.Handler
	all     []*servedRequest
	drop    bool // the sampler drops the next request
	n       int  // of names

	deaths, found, resent, spooled int
}

// A servedRequest is a request of the model.
type servedRequest struct {
	root     trace.SpanContext
	kind     string // in the path
	commands chan func(context.Context)
	done     chan bool
	route    string // "" if unknown
	sampled  bool
	kept     bool // by the program
	ended    bool
	at       time.Time       // of the end
	entries  []string        // names of the written entries, the oldest first
	open     []*childPart    // child spans
	late     map[string]bool // ids and names of what ended after the root
	recorded map[string]int  // ids of ended spans and names of measures that a backend gets: their places in entries
}

// A childPart is an open child of a request.
type childPart struct {
	ctx     context.Context
	name    string
	end     func()
	id      string
	context trace.SpanContext
}

const (
	cells  = 13                     // of ended entries in a slot
	opened = 5                      // of open spans, without the one of a measure that ends at once
	delay  = 100 * time.Millisecond // of the hand-over without a later request that ends
)

type dropping struct{ drop *bool }

func (d dropping) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if *d.drop {
		return sdktrace.SamplingResult{Decision: sdktrace.Drop}
	}
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (dropping) Description() string { return "dropping" }

func newWorld(t *testing.T, start starter, random *rand.Rand) *world {
	t.Helper()
	w := &world{t: t, random: random, start: start, backend: &collector{}}
	w.config = perfline.Config{
		BlackBox: t.TempDir(), Traces: exporter.Config{Sender: w.backend, QueueSize: 1 << 20, QueueBytes: 1 << 30}, Keep: bridge.KeepPolicy{Slow: -1, Export: true, PerSecond: -1},
		Sampler: sdktrace.ParentBased(dropping{&w.drop}), Timeline: observer.NewTimeline(observer.TimelineOptions{}),
	}
	w.pl, _, _ = start(t, w.config)
	mux := http.NewServeMux()
	serve := func(_ http.ResponseWriter, r *http.Request) {
		q := w.all[len(w.all)-1]
		q.root = trace.SpanContextFromContext(r.Context())
		for f := range q.commands {
			f(r.Context())
			q.done <- true
		}
	}
	mux.HandleFunc("GET /mux/{id}", serve)
	mux.HandleFunc("/", serve)
	w.handler = bridgehttp.Server{TracerProvider: w.pl.TracerProvider(), Timeline: w.config.Timeline}.Middleware(mux)
	return w
}

func (w *world) name(kind string) string {
	w.n++
	return fmt.Sprint(kind, " ", w.n)
}

// native reports whether perfline's provider makes the spans.
func (w *world) native() bool {
	_, ok := w.pl.TracerProvider().(*bridge.TracerProvider)
	return ok
}

// begin begins a request, on a goroutine of its own.
func (w *world) begin() {
	q := &servedRequest{commands: make(chan func(context.Context)), done: make(chan bool), late: map[string]bool{}, recorded: map[string]int{}}
	q.kind = []string{"mux", "set", "other"}[w.random.IntN(3)]
	w.drop = w.random.IntN(4) == 0
	q.sampled = !w.drop
	q.kept = w.drop && w.native() && w.random.IntN(2) == 0
	w.all = append(w.all, q)
	go func() {
		r := httptest.NewRequest(http.MethodGet, "/"+q.kind+"/5", nil)
		w.handler.ServeHTTP(httptest.NewRecorder(), r)
		close(q.done)
	}()
	w.do(q, func(ctx context.Context) {
		if q.kept {
			marks.Keep(ctx)
		}
	})
	if w.drop && !w.native() {
		q.root = q.root.WithTraceFlags(0)
	}
}

// do runs f on the request's goroutine.
func (w *world) do(q *servedRequest, f func(context.Context)) {
	q.commands <- f
	<-q.done
}

// within returns the context of a random open span of a request.
func (q *servedRequest) within(ctx context.Context, random *rand.Rand) context.Context {
	if n := random.IntN(len(q.open) + 1); n < len(q.open) {
		return q.open[n].ctx
	}
	return ctx
}

// wrote notes an entry of a request: recorded is what a backend gets of it, or "".
func (q *servedRequest) wrote(name, recorded string) {
	q.entries = append(q.entries, name)
	q.matched()
	if recorded != "" {
		q.recorded[recorded] = len(q.entries) - 1
	}
}

// matched notes that the black box looks for the route.
func (q *servedRequest) matched() {
	if q.route == "" {
		q.route = map[string]string{"mux": "/mux/{id}", "other": "/", "set": "/"}[q.kind]
	}
}

// act does something at random.
func (w *world) act() {
	var open []*servedRequest
	for _, q := range w.all {
		if !q.ended {
			open = append(open, q)
		}
	}
	if len(open) == 0 || len(open) < 12 && w.random.IntN(10) == 0 {
		w.begin()
		return
	}
	q := open[w.random.IntN(len(open))]
	traced := q.sampled || w.native() // otherwise spans leave no entry
	switch w.random.IntN(12) {
	case 0, 1:
		name := w.name("mark")
		w.do(q, func(ctx context.Context) { marks.Mark(q.within(ctx, w.random), name) })
		q.wrote(name, "")
	case 2, 3:
		w.measures(q, 1)
	case 4:
		w.measures(q, w.random.IntN(30))
	case 5:
		if w.random.IntN(10) == 0 { // more than a journal has
			w.measures(q, 530)
		}
	case 6, 7:
		if len(q.open) == opened || !traced {
			return
		}
		p := &childPart{name: w.name("child")}
		w.do(q, func(ctx context.Context) {
			ctx = q.within(ctx, w.random)
			if w.random.IntN(3) == 0 {
				var m *marks.Timing
				p.ctx, m = marks.Start(ctx, p.name)
				p.end = func() { m.End() }
			} else {
				var span trace.Span
				p.ctx, span = w.pl.TracerProvider().Tracer("t").Start(ctx, p.name, trace.WithSpanKind(trace.SpanKind(1+w.random.IntN(5))))
				p.end = func() { span.End() }
			}
		})
		p.context = trace.SpanContextFromContext(p.ctx)
		p.id = p.context.SpanID().String()
		q.open = append(q.open, p)
		q.matched()
	case 8, 9:
		if len(q.open) > 0 {
			i := w.random.IntN(len(q.open))
			p := q.open[i]
			q.open = slices.Delete(q.open, i, i+1)
			w.do(q, func(context.Context) { p.end() })
			q.wrote(p.name, p.id)
		}
	case 10:
		if q.kind == "set" {
			w.do(q, func(ctx context.Context) { bridgehttp.SetRoute(ctx, "/set/{id}") })
			q.route = "/set/{id}"
		}
	case 11:
		w.finish(q)
	}
	switch w.random.IntN(12) {
	case 0, 1, 2:
		time.Sleep(time.Duration(w.random.IntN(8)) * time.Millisecond)
	case 3:
		time.Sleep(3 * time.Second)
	case 4:
		w.backend.set(w.random.IntN(3) == 0)
	case 5:
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Millisecond)
		_ = w.pl.Flush(ctx)
		cancel()
	}
}

func (w *world) measures(q *servedRequest, n int) {
	for range n {
		name := w.name("measure")
		w.do(q, func(ctx context.Context) { marks.Time(q.within(ctx, w.random), name).End() })
		if q.sampled || w.native() {
			q.wrote(name, name)
		} else {
			q.wrote(name, "")
		}
	}
}

// finish ends a request. Some of its spans end later, or never.
func (w *world) finish(q *servedRequest) {
	close(q.commands)
	<-q.done
	q.ended, q.at = true, time.Now()
	q.recorded[q.root.SpanID().String()] = len(q.entries)
	for _, p := range q.open {
		if w.random.IntN(2) == 0 {
			p.end()
			q.late[p.id] = true
		}
	}
}

// exported reports whether a backend gets the request.
func (q *servedRequest) exported() bool { return q.sampled || q.kept }

// die reads a copy of the black box, as the next process does. With next, a next process reads and sends it.
func (w *world) die(next bool) {
	synctest.Wait()
	to := w.t.TempDir()
	died(w.t, w.config.BlackBox, to)
	spans := w.backend.taken()
	d := readDied(w.t, to)
	w.deaths++
	w.compare(d)
	items, open := []*tracepb.Span{}, []*tracepb.Span{}
	for _, it := range d.Items {
		items = append(items, spansIn(it.Body)...)
	}
	for _, it := range d.Exported() {
		open = append(open, spansIn(it.Body)...)
	}
	w.spooled += len(items)
	w.resent += len(open)
	if next {
		c := w.config
		c.BlackBox, c.Timeline = to, observer.NewTimeline(observer.TimelineOptions{})
		backend := &collector{}
		c.Traces.Sender = backend
		pl, _, _ := w.start(w.t, c)
		if err := pl.Shutdown(w.t.Context()); err != nil {
			w.t.Error(err)
		}
		if got := backend.taken(); len(got) != len(items)+len(open) {
			w.t.Errorf("the next process sends %d spans, want %d finished ones and %d of open requests", len(got), len(items), len(open))
		}
		spans = append(spans, backend.taken()...)
	} else {
		spans = append(append(spans, items...), open...)
	}
	w.merge(spans)
	if err := os.RemoveAll(to); err != nil {
		w.t.Error(err)
	}
}

// readDied reads the only black box in a directory.
func readDied(t *testing.T, dir string) *blackbox.Death {
	t.Helper()
	names, err := blackbox.Find(dir)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	f, err := blackbox.Take(names[0])
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	defer f.Close()
	d, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// compare compares the requests of a report with those of the model.
func (w *world) compare(d *blackbox.Death) {
	w.t.Helper()
	found := map[mirror.SpanID]*mirror.Request{}
	for i := range d.Open {
		r := &d.Open[i]
		if found[r.Span] != nil {
			w.t.Errorf("two requests have the id %x", r.Span)
		}
		found[r.Span] = r
	}
	for _, q := range w.all {
		r := found[mirror.SpanID(q.root.SpanID())]
		delete(found, mirror.SpanID(q.root.SpanID()))
		switch {
		case q.ended && r == nil:
		case r == nil:
			w.t.Errorf("the open request %s %s is missing", q.kind, q.root.SpanID())
		case q.ended && time.Since(q.at) > delay:
			w.t.Errorf("the request %s %s ended %v ago, and is in the file: %+v", q.kind, q.root.SpanID(), time.Since(q.at), r)
		case !q.sampled && !w.native(): // the provider tells nothing of the request
		case r.Ended != q.ended, r.Trace != mirror.TraceID(q.root.TraceID()), r.Flags&mirror.Sampled > 0 != q.sampled, !q.ended && r.Route != q.route:
			w.t.Errorf("the request %+v is %+v", q, r)
		default:
			w.found++
			w.compareEntries(q, r)
		}
	}
	for _, r := range found {
		w.t.Errorf("invented: %+v", r)
	}
}

func (w *world) compareEntries(q *servedRequest, r *mirror.Request) {
	w.t.Helper()
	var got, open []string
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Kind == mirror.Open {
			open = append(open, e.Name)
		} else {
			got = append(got, e.Name)
		}
	}
	want, opens := q.entries[max(0, len(q.entries)-cells):], []string{}
	for _, p := range q.open {
		opens = append(opens, p.name)
	}
	slices.Sort(open)
	slices.Sort(opens)
	if !slices.Equal(got, want) || r.LeftOut != len(q.entries)-len(want) {
		w.t.Errorf("the request %s %s has %q and left %d out, want %q of %d", q.kind, q.root.SpanID(), got, r.LeftOut, want, len(q.entries))
	}
	if !q.ended && !slices.Equal(open, opens) {
		w.t.Errorf("open in %s %s are %q, want %q", q.kind, q.root.SpanID(), open, opens)
	}
}

// merge checks that a backend has each span once: an entry may be missing only if it had no room in the file, and did not
// leave the process before.
func (w *world) merge(spans []*tracepb.Span) {
	w.t.Helper()
	ids, names := map[string]int{}, map[string]int{}
	for _, s := range spans {
		ids[fmt.Sprintf("%x", s.GetSpanId())]++
		names[s.GetName()]++
	}
	for id, n := range ids {
		if n > 1 {
			w.t.Errorf("the backend has span %s %d times", id, n)
		}
	}
	for name, n := range names {
		if n > 1 && (len(name) < 3 || name[:3] != "GET") {
			w.t.Errorf("the backend has %s %d times", name, n)
		}
	}
	for _, q := range w.all {
		open := q.sampled || w.native() // what a backend gets of an open request
		has := func(key string) bool { return ids[key]+names[key] > 0 }
		room := 0
		if !q.ended {
			room = len(q.entries) - cells // older entries may be missing
		}
		for key, at := range q.recorded {
			must := q.exported() || !q.ended && open
			switch {
			case has(key) && !must:
				w.t.Errorf("the backend has %s of the request %+v", key, q)
			case !has(key) && must && at >= room:
				w.t.Errorf("the backend lacks %s of the request %s %s, ended %t: %q", key, q.kind, q.root.SpanID(), q.ended, q.entries)
			}
		}
		if id := q.root.SpanID().String(); !q.ended && has(id) != open {
			w.t.Errorf("the backend has %t of the open request %+v", has(id), q)
		}
		for _, p := range q.open {
			if !q.ended && has(p.id) != open {
				w.t.Errorf("the backend has %t of the open span %s of %+v", has(p.id), p.name, q)
			}
		}
		for id := range q.late {
			if q.sampled && !has(id) {
				w.t.Errorf("the backend lacks the late span %s of %+v", id, q)
			}
		}
	}
}

// end ends the process.
func (w *world) end() {
	w.backend.set(false)
	for _, q := range w.all {
		if !q.ended {
			w.finish(q)
		}
		for _, p := range q.open {
			p.end()
		}
	}
	if err := w.pl.Shutdown(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if _, err := os.Stat(w.config.BlackBox); err != nil {
		w.t.Error(err)
	}
}
