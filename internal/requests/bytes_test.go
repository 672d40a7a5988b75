package requests_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

func ofText(n int) func(*tracetest.SpanStub) {
	return func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attribute.String("text", strings.Repeat("x", n)))
	}
}

func decoded(all []requests.Snapshot) []requests.Request {
	list := make([]requests.Request, 0, len(all))
	for _, s := range all {
		list = append(list, s.Request())
	}
	return list
}

func rootNames(all []requests.Request) (out []string) {
	for _, q := range all {
		out = append(out, q.Root.Name)
	}
	return out
}

// sizeOf returns what a Recent counts for spans.
func sizeOf(spans ...sdktrace.ReadOnlySpan) int {
	r := requests.NewRecent(requests.Config{})
	for _, s := range spans {
		r.OnEnd(s)
	}
	return int(r.Stats().Bytes)
}

// Room is made by the oldest, whether it has ended or not.
func TestRecentLetsTheOldestGo(t *testing.T) {
	each := sizeOf(span(1, 1, 0, "name", 0, ms, ofText(850)))
	pending := span(3, 2, 1, "of the second", 0, ms, ofText(800)) // older than the third
	r := requests.NewRecent(requests.Config{MaxBytes: sizeOf(pending) + 15*each, Slowest: 1})
	r.OnEnd(span(1, 1, 0, "slow", 0, 100*ms, ofText(850)))
	r.OnEnd(span(2, 1, 0, "1st.", 0, ms, ofText(850)))
	r.OnEnd(pending)
	r.OnEnd(span(4, 1, 0, "3rd.", 0, ms, ofText(850)))
	for i := range 12 {
		r.OnEnd(span(10+i, 1, 0, "new.", 0, ms, ofText(850)))
	}
	for i, want := range []struct {
		requests      []string
		late, evicted uint64
	}{
		{[]string{"3rd.", "1st.", "slow"}, 0, 0},
		{[]string{"3rd."}, 0, 1}, // the slow one is still among the slowest
		{[]string{"3rd."}, 1, 1},
		{nil, 1, 2},
	} {
		if i > 0 {
			r.OnEnd(span(100+i, 1, 0, "new.", 0, ms, ofText(850)))
		}
		got := slices.DeleteFunc(rootNames(decoded(r.Requests())), func(name string) bool { return name == "new." })
		if s := r.Stats(); !slices.Equal(got, want.requests) || s.Late != want.late || s.Evicted != want.evicted {
			t.Errorf("%d: %q and %+v, want %+v", i, got, s, want)
		}
		if got := rootNames(decoded(r.Slowest())); !slices.Equal(got, []string{"slow"}) {
			t.Errorf("%d: the slowest are %q", i, got)
		}
	}
}

// When there are slow requests only, the fastest of them goes.
func TestRecentLetsTheFastestOfTheSlowestGo(t *testing.T) {
	each := sizeOf(span(1, 1, 0, "10", 0, ms, ofText(850)))
	r := requests.NewRecent(requests.Config{MaxBytes: 16 * each, Requests: 1, Slowest: 100})
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(40) {
		r.OnEnd(span(i, 1, 0, fmt.Sprint(i), 0, time.Duration(i+1)*ms, ofText(850)))
	}
	got := rootNames(decoded(r.Slowest()))
	var want []string
	for i := range got {
		want = append(want, fmt.Sprint(39-i))
	}
	if s := r.Stats(); len(got) < 14 || !slices.Equal(got, want) || s.Evicted < 24 || len(r.Requests()) != 1 {
		t.Errorf("the slowest are %q, stats %+v", got, s)
	}
}

// A span with more than a sixteenth of all bytes is dropped. Its request goes if it is the root.
func TestRecentDropsSpansThatAreTooLarge(t *testing.T) {
	r := requests.NewRecent(requests.Config{MaxBytes: 64 << 10})
	r.OnEnd(span(1, 2, 1, "large", 0, ms, ofText(5000)))
	r.OnEnd(span(1, 1, 0, "root", 0, ms, ofText(3000)))
	r.OnEnd(span(2, 2, 1, "child", 0, ms))
	r.OnEnd(span(2, 1, 0, "large root", 0, ms, ofText(5000)))
	q := decoded(r.Requests())
	if len(q) != 1 || !slices.Equal(spanNames(q[0]), []string{"root"}) || q[0].Dropped != 1 {
		t.Errorf("got %v", q)
	}
	r.OnEnd(span(3, 2, 1, "almost all", 0, ms, ofText(3000)))
	r.OnEnd(span(3, 4, 2, "below", 0, ms)) // so that its parent makes no room
	r.OnEnd(span(3, 3, 1, "too many bytes", 0, ms, ofText(3000)))
	r.OnEnd(span(3, 1, 0, "root without room", 0, ms, ofText(3000))) // is kept with its request
	if got := r.Requests()[0].Request(); !slices.Equal(spanNames(got), []string{"root without room", "almost all", "below"}) || got.Dropped != 1 {
		t.Errorf("got %q, dropped %d", spanNames(got), got.Dropped)
	}
	if s := r.Stats(); s.Requests != 3 || s.SpansDropped != 3 || s.Evicted != 1 || s.Late != 0 {
		t.Errorf("stats %+v", s)
	}
	none := requests.NewRecent(requests.Config{MaxBytes: -1})
	none.OnEnd(span(1, 1, 0, "root", 0, ms))
	if s := none.Stats(); len(none.Requests()) != 0 || s.Evicted != 1 || s.Bytes != 0 {
		t.Errorf("without bytes: stats %+v", s)
	}
}

// A program may make tracers without end: each change of the tracer counts as 256 bytes.
func TestRecentIsBoundedInTracers(t *testing.T) {
	const n, most = 4000, 1000
	r := requests.NewRecent(requests.Config{Requests: 5000, Slowest: -1, MaxBytes: most * (512 + 256 + 4)}) // for a span, its tracer and its name
	for i := range n {
		r.OnEnd(span(i, 1, 0, fmt.Sprint(i), 0, ms, func(s *tracetest.SpanStub) {
			s.InstrumentationScope = instrumentation.Scope{Name: fmt.Sprint("scope ", i)}
		}))
	}
	q := decoded(r.Requests())
	if len(q) != most || r.Stats().Evicted != n-most {
		t.Errorf("%d requests, want %d, stats %+v", len(q), most, r.Stats())
	}
	for i, q := range q {
		if want := fmt.Sprint(n - 1 - i); q.Root.Name != want || q.Root.Group.Scope().Name != "scope "+want {
			t.Errorf("request %d is %s of %s, want %s", i, q.Root.Name, q.Root.Group.Scope().Name, want)
		}
	}

	one := requests.NewRecent(requests.Config{MaxBytes: 16 * 100 * 256, MaxSpans: n}) // 100 tracers for a trace
	for i := range 200 {
		one.OnEnd(span(1, 2+i, 1, "child", 0, ms, func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = fmt.Sprint(i) }))
	}
	if s := one.Stats(); s.SpansDropped < 100 {
		t.Errorf("%d spans are dropped, want at least the spans of 100 tracers: %+v", s.SpansDropped, s)
	}
}

// Requests have their own tracers, however many others come and go.
func TestRecentForgetsTracers(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 10, Slowest: 1})
	scope := func(name string) func(*tracetest.SpanStub) {
		return func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = name }
	}
	r.OnEnd(span(1, 1, 0, "slow", 0, 100*ms, scope("of the slow one")))
	r.OnEnd(span(0, 1, 0, "gone", 0, ms, scope("of the one that is gone")))
	all := r.Requests()
	const n = 5000
	for i := range n {
		r.OnEnd(span(2+i, 1, 0, "fast", 0, ms, scope(fmt.Sprint(i))))
		if i == 1500 {
			newest := r.Requests()
			all = append(all, newest[0])
		}
	}
	all = append(all, r.Slowest()...)
	for i, want := range []string{"of the one that is gone", "of the slow one", "1500", "of the slow one"} {
		s := all[i]
		if q := s.Request(); q.Root.Group.Scope().Name != want {
			t.Errorf("got %+v, want a span %s", q.Root, want)
		}
	}
	for i, q := range decoded(r.Requests()) {
		if got, want := q.Root.Group.Scope().Name, fmt.Sprint(n-1-i); got != want {
			t.Errorf("request %d is of %s, want %s", i, got, want)
		}
	}
	if s := r.Stats(); s.Evicted != 0 {
		t.Errorf("stats %+v", s)
	}
}

// Spans of one or of several traces may come at once. Spans that lack something are counted.
func TestRecentAccept(t *testing.T) {
	var groups otlpenc.Groups
	child, one := encode(&groups, span(1, 2, 1, "a", ms, 2*ms)), encode(&groups, span(1, 1, 0, "one", 0, 9*ms))
	two, late := encode(&groups, span(2, 1, 0, "two", 0, ms)), encode(&groups, span(1, 3, 1, "late", 3*ms, 4*ms))
	r := requests.NewRecent(requests.Config{})
	r.Accept([]bridge.Spans{join(child, one), two, late})
	q := decoded(r.Requests())
	if len(q) != 2 || !slices.Equal(spanNames(q[0]), []string{"two"}) || !slices.Equal(spanNames(q[1]), []string{"one", "a", "late"}) {
		t.Errorf("got %v", q)
	}
	var wrong []bridge.Spans
	for _, change := range []func(*bridge.Spans){
		func(s *bridge.Spans) { *s = bridge.Spans{TraceID: s.TraceID, Bytes: s.Bytes, Count: 1} },
		func(s *bridge.Spans) { s.TraceID = trace.TraceID{} },
		func(s *bridge.Spans) { s.Bytes = nil },
		func(s *bridge.Spans) { s.Count = 0 },
		func(s *bridge.Spans) { s.Count = -5 },
		func(s *bridge.Spans) { *s = bridge.Spans{TraceID: s.TraceID, Bytes: s.Bytes, Count: 3} },
	} {
		s := encode(&groups, span(3, 1, 0, "wrong", 0, ms))
		change(&s)
		wrong = append(wrong, s, encode(&groups, span(4, 1, 0, "right", 0, ms)))
	}
	r.Accept(wrong)
	if s := r.Stats(); s.Requests != 8 || s.SpansDropped != 8 {
		t.Errorf("stats %+v, want 8 dropped, and 8 requests", s)
	}
}

// encode returns s with bytes of its own.
func encode(groups *otlpenc.Groups, s sdktrace.ReadOnlySpan) (encoded bridge.Spans) {
	groups.Encode(s, func(one otlpenc.Spans) { encoded = bridge.Spans(one.Clone()) })
	return encoded
}

// rootOf returns the end of the local root, which tests may change.
func rootOf(s bridge.Spans) *local.Root { return (*otlpenc.Spans)(&s).Root() }

func groupOf(s bridge.Spans) *otlpenc.Group { return (*otlpenc.Spans)(&s).Group() }

// join returns spans of one trace and one group together. Only the last may be a local root.
func join(all ...bridge.Spans) bridge.Spans {
	joined := all[len(all)-1]
	joined.Bytes, joined.Count = nil, 0
	for _, s := range all {
		joined.Bytes = append(joined.Bytes, s.Bytes...)
		joined.Count += s.Count
	}
	return joined
}

// write returns a list of spans whose bytes the writer has.
func write(w *otlpenc.Writer, all ...bridge.Spans) (list []bridge.Spans) {
	for _, s := range all {
		s.Bytes = append(w.Next(), s.Bytes...)
		list = append(list, bridge.Spans(w.Spans(otlpenc.Spans(s))))
	}
	return list
}

// release releases the spans of a list.
func release(all []bridge.Spans) {
	for _, s := range all {
		otlpenc.Spans(s).Release()
	}
}

// A span whose bytes are wrong after its ids is shown as far as it can be decoded if it is a root, and dropped if not.
func TestRecentWithMalformedSpans(t *testing.T) {
	var groups otlpenc.Groups
	malformed := func(s sdktrace.ReadOnlySpan) bridge.Spans {
		spans := encode(&groups, s)
		at := bytes.Index(spans.Bytes, []byte("text")) - 1 // the length of the attribute's key
		spans.Bytes[at] = 100
		return spans
	}
	r := requests.NewRecent(requests.Config{})
	r.Accept([]bridge.Spans{
		malformed(span(1, 2, 1, "child", 0, ms, ofText(10))),
		encode(&groups, span(1, 3, 1, "right", 0, ms, ofText(10))),
		malformed(span(1, 1, 0, "root", 0, ms, ofText(10))),
	})
	q := r.Requests()[0].Request()
	if !slices.Equal(spanNames(q), []string{"root", "right"}) || q.Dropped != 1 || len(q.Root.Attributes) != 0 {
		t.Errorf("got %q, dropped %d", spanNames(q), q.Dropped)
	}
	newest := r.Requests()
	if root := newest[0].RootSpan(); root.Name != "root" {
		t.Errorf("the root is %+v", root)
	}
}

// A snapshot does not change, whatever becomes of the request, and its bytes are not used for others.
func TestSnapshotStays(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 3, Slowest: -1, MaxSpans: 4})
	var all []requests.Snapshot
	var want []requests.Request
	for i := range 200 {
		r.OnEnd(span(i, 2, 1, fmt.Sprint("child ", i), 0, ms, ofText(i*7%900)))
		r.OnEnd(span(i, 1, 0, fmt.Sprint("root ", i), 0, ms, ofText(i*13%500)))
		take := func() {
			newest := r.Requests()
			all, want = append(all, newest[0]), append(want, newest[0].Request())
		}
		if i%3 == 0 {
			take()
		}
		r.OnEnd(span(i, 3, 1, "late", 0, ms, ofText(100)))
		r.OnEnd(span(i, 4, 9, "another root", 0, ms, ofText(100), remote))
		r.OnEnd(span(i, 5, 9, fmt.Sprint("its trace has no room for ", i), 0, ms, ofText(100), remote))
		if i%3 == 1 {
			take()
		}
	}
	for i, s := range all {
		if got := s.Request(); !reflect.DeepEqual(got, want[i]) || len(got.Spans) != 2-i%2 {
			t.Errorf("request %d was %q, is %q", i, spanNames(want[i]), spanNames(got))
		}
	}
}

// Requests can be read while spans end, of the same traces too.
func TestRecentReadersAndWriters(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 8, Slowest: 2, MaxBytes: 64 << 10})
	var writers, readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for w := range 2 {
		writers.Go(func() {
			for i := range 2000 {
				id := i/3*2 + w // late spans come
				r.OnEnd(span(id, 2+i%3, 1, "child", 0, ms, ofText(i%700)))
				if i%3 == 0 {
					r.OnEnd(span(id, 1, 0, "root", 0, ms))
				}
			}
		})
		readers.Go(func() {
			for ctx.Err() == nil {
				newest, slowest := r.Requests(), r.Slowest()
				for _, s := range append(newest, slowest...) {
					q := s.Request()
					if root := s.RootSpan(); root.Name != "root" || q.Root.Name != "root" || q.Dropped != 0 {
						t.Errorf("got %q, with %d spans and %d dropped", root.Name, len(q.Spans), q.Dropped)
						return
					}
					for _, c := range q.Spans[1:] {
						if c.Name != "child" {
							t.Errorf("a span is %q", c.Name)
						}
					}
				}
				r.Stats()
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
}
