package bridge_test

import (
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge/internal/serving"
)

// A servedRequest is a request whose attributes are its names.
type servedRequest struct {
	name, answer string
	telling      func() // is called in TellAnswer; may be nil
}

type namesForm struct{}

func (q *servedRequest) Tell(f *serving.Facts) { f.Form, f.Texts[0] = namesForm{}, q.name }

func (q *servedRequest) TellAnswer(f *serving.Facts) {
	if f.Form, f.Texts[1] = (namesForm{}), q.answer; q.telling != nil {
		q.telling()
	}
}

func (namesForm) Path(*serving.Facts) string { return "" }

func (namesForm) Request(f *serving.Facts, to serving.AttributeSink) {
	serving.Text(to, "request", f.Texts[0])
}

func (namesForm) Answer(f *serving.Facts, to serving.AttributeSink) {
	serving.Text(to, "answer", f.Texts[1])
}

// A processor may read a span while its request is answered: it waits until the facts of the answer are complete.
func TestAnswerUnderLock(t *testing.T) {
	p, _, got := recorded(t, newPerfline, providerConfig{sampler: sdktrace.AlwaysSample()})
	q := &servedRequest{name: "q", answer: "a"}
	_, span := p.Tracer("test").(serving.Tracer).StartServer(t.Context(), "GET /", q, false, nil)
	live := span.(sdktrace.ReadWriteSpan)
	read := make(chan []attribute.KeyValue, 1)
	q.telling = func() {
		go readAttributes(live, read)
		for !waitsForLock("bridge_test.readAttributes(") {
			select {
			case <-read:
				t.Error("the span was read while the facts of the answer were written")
				return
			default:
				runtime.Gosched()
			}
		}
	}
	serving.Answer(span, q)
	if !t.Failed() {
		if attrs := <-read; len(attrs) != 2 {
			t.Errorf("the span was read with %v, want the request and the answer", attrs)
		}
	}
	span.End()
	q.telling = func() { t.Error("the facts of a span that has ended were written") }
	serving.Answer(span, q)
	const want = "request=STRING:q answer=STRING:a"
	if ended := got.one(t, "GET /"); text(ended.Attributes()) != want {
		t.Errorf("the processor got %s, want %s", text(ended.Attributes()), want)
	}
}

func readAttributes(s sdktrace.ReadWriteSpan, to chan<- []attribute.KeyValue) { to <- s.Attributes() }

// waitsForLock reports whether a goroutine that runs a function waits for a lock.
func waitsForLock(function string) bool {
	all := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if first, calls, _ := strings.Cut(stack, "\n"); strings.Contains(first, "[sync.Mutex.Lock") && strings.Contains(calls, function) {
			return true
		}
	}
	return false
}
