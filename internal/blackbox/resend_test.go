package blackbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record/mirror"
)

// A backend takes requests, or answers with an error.
type backend struct {
	t        *testing.T
	mu       sync.Mutex // guards the fields below
	answer   queue.Answer
	names    map[string]int // of the spans that were taken
	requests int
	largest  int // bytes
}

func (b *backend) Send(_ context.Context, body []byte) queue.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	b.largest = max(b.largest, len(body))
	if b.answer.Err != nil {
		return b.answer
	}
	var all tracepb.TracesData
	if err := proto.Unmarshal(body, &all); err != nil {
		b.t.Error(err)
	}
	for _, r := range all.GetResourceSpans() {
		for _, s := range r.GetScopeSpans() {
			for _, span := range s.GetSpans() {
				b.names[span.GetName()]++
			}
		}
	}
	return queue.Answer{}
}

// takes reports whether the backend has taken n spans, each one once.
func (b *backend) takes(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, times := range b.names {
		if times != 1 {
			b.t.Errorf("the backend got %s %d times", name, times)
		}
	}
	return len(b.names) == n
}

func (b *backend) set(a queue.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = a
}

// crowded fills a box with open requests, and with spans for the backend. crowded returns the number of spans.
func crowded(b *Box, requests, spans int) int {
	for i := range requests {
		s := b.Region().Take()
		s.Begin(&mirror.Head{Trace: mirror.TraceID{1}, Span: mirror.SpanID{1, byte(i), byte(i >> 8)}, Kind: 2, Flags: mirror.Sampled, Name: fmt.Sprint("open ", i)})
		s.Write(&mirror.Entry{Kind: mirror.Mark, Name: "mark"})
	}
	for i := range spans {
		one := tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
			Name: fmt.Sprint("finished ", i), TraceId: make([]byte, 16), SpanId: []byte{2, byte(i), byte(i >> 8), 0, 0, 0, 0, 0},
		}}}}}}}
		put(b, string(must(proto.Marshal(&one))))
	}
	return requests + spans
}

// What a process has left is sent once. The file goes when all of it is sent, and keeps the rest at Shutdown: the next
// process sends that.
func TestResend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := openBox(t, t.TempDir(), nil)
		defer box.Close()
		n := crowded(box, 2000, 300)
		name := died(t, box)
		b := &backend{t: t, names: map[string]int{}, answer: queue.Answer{Err: errors.New("down"), Retry: true}}
		f, d := take(t, name)
		if d.Report().Total != 2000 {
			t.Error(d.Report().Total)
		}
		r := NewResend(b, "backend", slog.Default())
		r.Add(f, d)
		time.Sleep(time.Minute)
		if len(b.names) > 0 || len(must(os.ReadDir(filepath.Dir(name)))) == 0 || r.Full() {
			t.Error("the file is gone before the backend has anything")
		}
		b.set(queue.Answer{})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if !b.takes(n) {
			t.Errorf("the backend has %d of %d spans", len(b.names), n)
		}
		if b.requests < 5 || b.largest > 2<<20 {
			t.Errorf("%d requests of up to %d bytes", b.requests, b.largest)
		}
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
	})
}

// The backend takes a part, and is gone at Shutdown. The next process sends the rest: no span twice.
func TestResendAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := openBox(t, t.TempDir(), nil)
		defer box.Close()
		n := crowded(box, 2000, 300)
		name := died(t, box)
		b := &backend{t: t, names: map[string]int{}}
		rounds := 0
		for ; rounds < 20; rounds++ {
			f, err := Take(name)
			if err != nil {
				t.Fatal(err)
			}
			if f == nil {
				break
			}
			d, err := f.Read()
			if err != nil || d.Report().Total != 2000 {
				t.Fatal(d, err)
			}
			left := 1 // requests that the backend takes in this round
			r := NewResend(sender(func(ctx context.Context, body []byte) queue.Answer {
				if left--; left < 0 {
					return queue.Answer{Err: errors.New("gone"), Retry: true}
				}
				return b.Send(ctx, body)
			}), "backend", slog.Default())
			r.Add(f, d)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if err := r.Shutdown(ctx); (err == nil) != b.takes(n) {
				t.Errorf("round %d: %v, with %d spans", rounds, err, len(b.names))
			}
			cancel()
		}
		if !b.takes(n) || rounds < 3 || rounds == 20 || len(must(os.ReadDir(filepath.Dir(name)))) > 0 {
			t.Errorf("after %d rounds, the backend has %d of %d spans", rounds, len(b.names), n)
		}
	})
}

type sender func(context.Context, []byte) queue.Answer

func (s sender) Send(ctx context.Context, body []byte) queue.Answer { return s(ctx, body) }

// A request that ended, and waits among the finished spans, is not sent once more. Its spans that do not wait there are.
func TestSentFromOnePlace(t *testing.T) {
	b := openBox(t, t.TempDir(), nil)
	finished := func(name string, id byte, link byte) {
		one := tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
			Name: name, TraceId: make([]byte, 16), SpanId: []byte{id, 0, 0, 0, 0, 0, 0, 0},
			Links: []*tracepb.Span_Link{{TraceId: make([]byte, 16), SpanId: []byte{link, 0, 0, 0, 0, 0, 0, 0}}},
		}}}}}}}
		put(b, string(must(proto.Marshal(&one))))
	}
	request := func(id byte, children ...byte) *mirror.Slot {
		s := b.Region().Take()
		s.Begin(&mirror.Head{Trace: mirror.TraceID{1}, Span: mirror.SpanID{id}, Kind: 2, Flags: mirror.Sampled, Name: fmt.Sprint("root ", id)})
		for _, c := range children {
			s.Write(&mirror.Entry{Kind: mirror.Span, Span: mirror.SpanID{c}, Parent: mirror.SpanID{id}, Name: fmt.Sprint("child ", c)})
		}
		for range 3 { // measures at the same time are different spans
			s.Write(&mirror.Entry{Kind: mirror.Measure, Parent: mirror.SpanID{id}, Name: "measure"})
		}
		return s
	}
	request(10, 11, 12)
	request(20, 21).End(1, 0)
	finished("root 20", 20, 10) // a link is no span
	finished("child 12", 12, 11)
	_, d := take(t, died(t, b))
	items := d.Exported()
	if len(items) != 1 || items[0].Spans != 5 {
		t.Fatalf("%d items: %+v", len(items), items)
	}
	var all tracepb.TracesData
	if err := proto.Unmarshal(items[0].Body, &all); err != nil {
		t.Fatal(err)
	}
	ids, names := map[string]bool{}, []string{}
	for _, s := range all.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
		ids[string(s.GetSpanId())] = true
		names = append(names, s.GetName())
	}
	if got := strings.Join(names, ", "); got != "child 11, measure, measure, measure, root 10" || len(ids) != 5 {
		t.Errorf("sent are %s, with %d ids", got, len(ids))
	}
}
