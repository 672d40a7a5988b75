package requests_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// contentOf returns the text of a span's attribute, which belongs to the name.
func contentOf(name string) string { return strings.Repeat(name+";", len(name)*5) }

// contradiction returns a text if a span does not have the content of its name.
func contradiction(s *otlpenc.Span) string {
	if want := contentOf(s.Name); len(s.Attributes) != 1 || s.Attributes[0].Value.AsString() != want {
		return fmt.Sprintf("span %q has %.100v", s.Name, s.Attributes)
	}
	return ""
}

// A handing gives a Recent requests as perfline's own provider does: spans of several requests together, in blocks that are used again.
type handing struct {
	to     *requests.Recent
	r      *rand.Rand
	groups *otlpenc.Groups
	w      otlpenc.Writer
	last   int // the number of the last trace
}

// span returns a span of a trace.
func (h *handing) span(trace, id, parent int) bridge.Spans {
	name := fmt.Sprintf("%d/%d", trace, id)
	return encode(h.groups, span(trace, id, parent, name, 0, ms, func(s *tracetest.SpanStub) {
		s.InstrumentationScope = someScopes[h.r.IntN(2)]
		s.Attributes = []attribute.KeyValue{attribute.String("content", contentOf(name))}
	}))
}

// list returns the spans of some requests, which are handed over together.
func (h *handing) list() (list []bridge.Spans) {
	for range 1 + h.r.IntN(5) {
		h.last++
		for id := range h.r.IntN(4) {
			list = append(list, h.span(h.last, 2+id, 1))
		}
		if h.r.IntN(8) > 0 { // else the request goes on
			root := h.span(h.last, 1, 0)
			rootOf(root).Keep = local.KeepReason(max(0, h.r.IntN(20)-16))
			list = append(list, root)
		}
		if before := h.last - h.r.IntN(10); h.r.IntN(6) == 0 && before > 0 { // late, or of a request that goes on
			list = append(list, h.span(before, 10+h.r.IntN(5), 1))
		}
	}
	return list
}

// one hands over some requests.
func (h *handing) one() {
	written := write(&h.w, h.list()...)
	for i, s := range written {
		if s.Root() == nil && h.r.IntN(2) == 0 {
			written[i] = bridge.Spans(otlpenc.Spans(s).WithOpenRoot())
		}
	}
	h.to.Accept(written)
	release(written)
	clear(written)
}

// retaining returns bounds with which requests retain their spans. The requests meet the bounds.
func retaining(r *rand.Rand) requests.Config {
	return requests.Config{
		Requests: 1 + r.IntN(30), Slowest: 1 + r.IntN(3), KeptRequests: 1 + r.IntN(5), Background: 1 + r.IntN(5), Examples: 1 + r.IntN(5),
		MaxSpans: 3 + r.IntN(10), MaxPending: 1 + r.IntN(5), MaxBytes: 16 * (1000 + r.IntN(1500)),
	}
}

// Spans in memory, and in what readers hold, stay as they are while others write to blocks that are free. Requests are displaced, wait, get late
// spans and stay longer than others.
func TestRetainedSpansStay(t *testing.T) {
	var sum requests.Stats
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 5))
		recent := requests.NewRecent(retaining(r))
		var groups otlpenc.Groups
		h := &handing{to: recent, r: r, groups: &groups}
		var held []requests.Snapshot
		var want []string
		for i := range 300 {
			h.one()
			if r.IntN(8) > 0 {
				continue // blocks that a reader has are not used again
			}
			for _, s := range recent.All() {
				q := s.Request()
				for _, one := range q.Spans {
					if wrong := contradiction(one); wrong != "" {
						t.Fatalf("seed %d, %d: %s", seed, i, wrong)
					}
				}
				if root := s.RootSpan(); root.SpanID != s.SpanID || root.Name != s.Name || q.Root.SpanID != s.SpanID {
					t.Fatalf("seed %d, %d: the root of %q is %q, of its request %q", seed, i, s.Name, root.Name, q.Root.Name)
				}
				if r.IntN(10) == 0 {
					held, want = append(held, s), append(want, fmt.Sprint(spanNames(q)))
				}
			}
		}
		s := recent.Stats()
		sum.SpansDropped, sum.Abandoned, sum.Late, sum.Evicted = sum.SpansDropped+s.SpansDropped, sum.Abandoned+s.Abandoned, sum.Late+s.Late,
			sum.Evicted+s.Evicted
		for i, s := range held {
			q := s.Request()
			if got := fmt.Sprint(spanNames(q)); got != want[i] {
				t.Errorf("seed %d: a request that a reader holds was %s, is %s", seed, want[i], got)
			}
			for _, one := range q.Spans {
				if wrong := contradiction(one); wrong != "" {
					t.Fatalf("seed %d: a request that a reader holds: %s", seed, wrong)
				}
			}
		}
	}
	if sum.SpansDropped == 0 || sum.Abandoned == 0 || sum.Late == 0 || sum.Evicted == 0 {
		t.Errorf("%+v: not all bounds were met", sum)
	}
}

// Several providers hand over at once, each with blocks of its own, and readers read.
func TestRetainedSpansStayWhileOthersWrite(t *testing.T) {
	recent := requests.NewRecent(retaining(rand.New(rand.NewPCG(1, 6))))
	var groups otlpenc.Groups
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for g := range 3 {
		writers.Go(func() {
			h := &handing{to: recent, r: rand.New(rand.NewPCG(uint64(g), 7)), groups: &groups, last: 10_000 * g}
			for range 200 {
				h.one()
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			var held []requests.Snapshot
			for {
				for _, s := range append(held, recent.All()...) {
					for _, one := range s.Request().Spans {
						if wrong := contradiction(one); wrong != "" {
							t.Error(wrong)
							return
						}
					}
				}
				select {
				case <-done:
					return
				default:
					held = recent.All()
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// A clone of a request is the same request.
func TestSnapshotClone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	recent := requests.NewRecent(retaining(r))
	var groups otlpenc.Groups
	h := &handing{to: recent, r: r, groups: &groups}
	for range 100 {
		h.one()
		for _, s := range recent.All() {
			clone := s.Clone()
			if clone.Root != s.Root || clone.Bytes() != s.Bytes() || fmt.Sprint(spanNames(clone.Request())) != fmt.Sprint(spanNames(s.Request())) {
				t.Fatalf("the clone of %+v is %+v", s, clone)
			}
		}
	}
}

// A reader sees each span that a function of OnRead brings, and each method calls the function once.
func TestReadersBringInWhatHasEnded(t *testing.T) {
	request, background := span(1, 1, 0, "GET /", 0, ms), span(2, 1, 0, "tick", 0, ms, kind(trace.SpanKindInternal))
	id := request.SpanContext()
	for name, read := range map[string]func(r *requests.Recent) int{
		"Requests":     func(r *requests.Recent) int { return len(r.Requests()) },
		"Slowest":      func(r *requests.Recent) int { return len(r.Slowest()) },
		"KeptRequests": func(r *requests.Recent) int { return len(r.KeptRequests()) },
		"Background":   func(r *requests.Recent) int { return len(r.Background()) },
		"All":          func(r *requests.Recent) int { return len(requests.OfRoute(r.All(), "GET /")) },
		"Stats":        func(r *requests.Recent) int { return int(r.Stats().Requests) },
		"Snapshot": func(r *requests.Recent) int {
			_, ok := r.Snapshot(id.TraceID(), id.SpanID())
			return map[bool]int{true: 1}[ok]
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := requests.NewRecent(requests.Config{})
			var groups otlpenc.Groups
			calls := 0
			r.OnRead(func() {
				if calls++; calls == 1 {
					one := encode(&groups, request)
					rootOf(one).Keep = local.KeptForTime
					r.Accept([]bridge.Spans{one, encode(&groups, background)})
				}
			})
			if n := read(r); n != 1 || calls != 1 {
				t.Errorf("%d requests and %d calls, want 1 and 1", n, calls)
			}
		})
	}
}
