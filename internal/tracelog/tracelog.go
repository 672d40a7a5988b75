// Package tracelog notes spans in the execution trace of package runtime/trace, while one is written, and reads such notes.
// A local root is a task, which its
// tracer makes. Each span has a log message at its start and one at its end. Regions would not do: they belong to
// one goroutine, and spans do not.
package tracelog

import (
	"context"
	"encoding/hex"
	rt "runtime/trace"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// The categories of messages. A message has the span's id in hexadecimal, then:
//
//   - root: the trace's id. It comes before the start of the same span, in the same task.
//   - start: the span's name, which may change before the end.
//   - end: the span's name.
//
// A message of the category cpu has only the CPU time of the process, in nanoseconds.
const (
	rootCategory  = "perfline.root"
	startCategory = "perfline.start"
	endCategory   = "perfline.end"
	cpuCategory   = "perfline.cpu"
)

// Enabled reports whether an execution trace is being written. Other functions are called only then: they allocate.
func Enabled() bool { return rt.IsEnabled() }

// Root notes that a local root starts on this goroutine, in the task of ctx.
func Root(ctx context.Context, span trace.SpanContext, name string) {
	id, traceID := span.SpanID(), span.TraceID()
	rt.Log(ctx, rootCategory, message(id, hex.EncodeToString(traceID[:])))
	Start(ctx, id, name)
}

// Start notes that a span starts on this goroutine.
func Start(ctx context.Context, id trace.SpanID, name string) {
	rt.Log(ctx, startCategory, message(id, name))
}

// End notes that a span ends on this goroutine.
func End(id trace.SpanID, name string) {
	rt.Log(context.Background(), endCategory, message(id, name))
}

// CPU notes the CPU time that the process has used so far, in user and system mode. From two such notes, a reader of the
// trace learns whether goroutines that the runtime ran were really on a processor. 0 is a system that does not tell: nothing
// is noted.
func CPU(used time.Duration) {
	if used <= 0 {
		return
	}
	rt.Log(context.Background(), cpuCategory, strconv.FormatInt(int64(used), 10))
}

// maxName is the length at which names are cut. The tracer cuts messages of more than 1024 bytes anyway.
const maxName = 200

func message(id trace.SpanID, rest string) string {
	return hex.EncodeToString(id[:]) + " " + rest[:min(len(rest), maxName)]
}

// A Kind says what a note says.
type Kind int

// The kinds of notes.
const (
	Other Kind = iota // a message of other code
	RootStart
	SpanStart
	SpanEnd
	CPUTime
)

// A Note is a message that was read.
type Note struct {
	Kind    Kind
	SpanID  trace.SpanID
	TraceID trace.TraceID // of a RootStart
	Name    string        // of a SpanStart or a SpanEnd; it may be cut within a character
	CPU     time.Duration // of a CPUTime
}

// Parse reads a log message of an execution trace. Kind is Other if it is none of ours, or malformed.
func Parse(category, message string) (n Note) {
	var kind Kind
	switch category {
	case rootCategory:
		kind = RootStart
	case startCategory:
		kind = SpanStart
	case endCategory:
		kind = SpanEnd
	case cpuCategory:
		used, err := strconv.ParseInt(message, 10, 64)
		if err != nil || used <= 0 {
			return Note{}
		}
		return Note{Kind: CPUTime, CPU: time.Duration(used)}
	default:
		return Note{}
	}
	id, rest, ok := strings.Cut(message, " ")
	span, err := trace.SpanIDFromHex(id)
	if !ok || err != nil {
		return Note{}
	}
	if kind != RootStart {
		return Note{Kind: kind, SpanID: span, Name: rest}
	}
	traceID, err := trace.TraceIDFromHex(rest)
	if err != nil {
		return Note{}
	}
	return Note{Kind: kind, SpanID: span, TraceID: traceID}
}
