package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// resultTime limits the wait for a result of the waits recorder, which reads an execution trace for
// some tenths of a second.
const resultTime = 5 * time.Second

// withWaits returns the request with the waits recorder's result. It waits for a pending result.
func (s *server) withWaits(ctx context.Context, snapshot requests.Snapshot) requests.Request {
	// Only slow requests get a result, and slow requests are kept. A slow request over the policy's
	// ceiling is an exception: withWaits uses its result if the result is in memory.
	if s.waitsRecorder != nil && snapshot.Keep != local.NotKept {
		s.awaitResult(ctx, snapshot)
	}
	return s.waits.With(snapshot)
}

// awaitResult waits until the waits recorder has the result of a request, for resultTime at most.
// awaitResult returns at once unless a result may come.
func (s *server) awaitResult(ctx context.Context, of requests.Snapshot) {
	if !s.mayCome(of) {
		return
	}
	arrived := make(chan struct{}, 1)
	stop := s.waitsRecorder.Watch(func(r bridge.Root, _ *waits.Request) {
		if r.TraceID == of.TraceID && r.SpanID == of.SpanID {
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
	})
	defer stop()
	if !s.mayCome(of) { // since the recorder has the function
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resultTime)
	defer cancel()
	select {
	case <-arrived:
	case <-ctx.Done():
	}
}

// mayCome reports whether the result of a request is missing and may still come.
func (s *server) mayCome(of requests.Snapshot) bool {
	if _, ok := s.waits.Result(of.TraceID, of.SpanID); ok {
		return false
	}
	why := s.waits.Missing(of)
	// A recorder of the program may tell no reason.
	return why == waiting.Waiting ||
		why == waiting.Unknown && s.waitsRecorder.Stats().Pending > 0
}

// sentence returns the sentence on the causes, with each name quoted.
func sentence(r *waits.Request) word {
	// Placeholders replace the names, the only text from outside, until the sentence is complete.
	var replacements []string
	placeholder := func(name string) string {
		if name == "" {
			return ""
		}
		p := string(rune(0xe000 + len(replacements)/2))
		replacements = append(replacements, p, quote(name, maxName))
		return p
	}
	safe := *r
	safe.Causes = slices.Clone(r.Causes)
	for i := range safe.Causes[:min(2, len(r.Causes))] {
		c := &safe.Causes[i]
		c.Function, c.Span = placeholder(short(c.Function)), placeholder(c.Span)
		c.Via = placeholder(text.Qualified(c.Via))
		if c.In != nil {
			in := *c.In
			in.Request = placeholder(in.Request)
			c.In = &in
		}
		if c.By != nil {
			by := *c.By
			by.Function, by.Request = placeholder(short(by.Function)), placeholder(by.Request)
			c.By = &by
		}
	}
	return word(strings.NewReplacer(replacements...).Replace(safe.Sentence()))
}

// party describes the goroutine that ended a wait or used the processor, and its request.
func party(p *waits.Party, kind waits.Kind, own trace.SpanID) word {
	if p == nil {
		return ""
	}
	text := ", ended by "
	if kind == waits.Runnable {
		text = ", processor used by "
	}
	if p.Function != "" {
		text += quotef("%s", short(p.Function))
	} else {
		text += fmt.Sprintf("goroutine %d", p.Goroutine)
	}
	switch {
	case p.RootID == own:
		text += " of this request"
	case p.RootID.IsValid():
		text += quotef(" of request %v %s", p.RootID, p.Request)
	}
	return word(text)
}

// letters draw the classes of states in bars.
var letters = [waiting.Classes]byte{
	waiting.ClassUnknown: '-', waiting.ClassRunning: 'R', waiting.ClassRunnable: 'r',
	waiting.ClassWaiting: 'w', waiting.ClassSyscall: 's', waiting.ClassCollector: 'g',
}

const legend word = "R running, r ready and without a processor, w waiting, s in a system call or C code, g for the garbage collector, - unknown"

// short returns the name of a function as in the source, or the whole name if the short name would
// be empty.
func short(function string) string {
	if name := text.Function(function); name != "" {
		return name
	}
	return function
}
