package waits

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/text"
)

// Sentence explains the request's duration in one sentence. An example is "18 ms of 21 ms, in span
// lookup: waited for a mutex that GET /search held in (*Index).rebuild".
//
// The sentence names the largest cause. The sentence also names the second cause if that cause took
// at least a tenth of the known time. If the execution trace lacks a tenth of the duration or more,
// the sentence begins with the known time. Without causes, the sentence says that the execution
// trace covers nothing. For a duration of 0, Sentence returns an empty string.
//
// The sentence contains names from the program and from callers of the program. Escape the sentence
// before you print the sentence.
func (r *Request) Sentence() string {
	if r.Duration == 0 {
		return ""
	}
	all, known := text.Length(r.Duration), time.Duration(0)
	if r.Unended {
		all += " so far"
	}
	for i := range r.Causes {
		known += r.Causes[i].Duration
	}
	if len(r.Causes) == 0 {
		return "of " + all + ", the execution trace covers nothing"
	}
	s := text.Length(r.Causes[0].Duration)
	if r.Duration-known >= r.Duration/notable {
		s = "of " + all + ", the execution trace covers " + text.Length(known) + "; " + s
	} else {
		s += " of " + all
	}
	s += r.clause(&r.Causes[0])
	if len(r.Causes) > 1 && r.Causes[1].Duration >= known/notable {
		s += "; " + text.Length(r.Causes[1].Duration) + r.clause(&r.Causes[1])
	}
	return s
}

// notable divides a time into parts that are too small for the sentence.
const notable = 10

// clause names the span and the cause.
func (r *Request) clause(c *Cause) string {
	s := ": "
	if c.Span != "" && c.SpanID != r.RootID && ofGoroutine(c.Kind) {
		s = ", in span " + c.Span + ": "
	}
	did := r.phrase(c)
	if c.In == nil || !ofGoroutine(c.Kind) {
		return s + did
	}
	name := c.In.Request
	if name == "" {
		name = "another request"
	}
	if c.Kind == Syscall {
		did = "was in a " + did
	}
	return s + "waited for " + name + ", which " + did
}

// ofGoroutine reports whether a cause is about the request's own goroutines, and not about the
// whole process.
func ofGoroutine(k Kind) bool { return k < GCAssist }

func (r *Request) phrase(c *Cause) string {
	in := ""
	if c.Function != "" {
		in = " in " + text.Function(c.Function)
	}
	if c.Via != "" {
		in += " via " + text.Qualified(c.Via)
	}
	by, request := "", ""
	if c.By != nil {
		by, request = text.Function(c.By.Function), c.By.Request
		switch {
		case c.By.RootID == r.RootID && c.By.TraceID == r.TraceID:
			request = "another goroutine of this request"
		case c.In != nil && c.By.RootID.IsValid() && c.By.RootID == c.In.RootID &&
			c.By.TraceID == c.In.TraceID:
			request = "another goroutine of that request"
		}
	}
	// other names the other side of the wait. Without a name, other names the waiter.
	other := func(verb string) string { return cmp.Or(took(request, by, verb), in) }
	switch c.Kind {
	case OnCPU:
		return "ran on a processor" + in
	case Runnable:
		return "waited for a processor" + took(request, by, "used")
	case Mutex:
		return "waited for a mutex" + other("held")
	case Pool:
		return "waited for a database connection" + other("held")
	case ChannelSend:
		if c.By != nil && c.By.closes() {
			return "waited to send to a channel" + other("closed")
		}
		return "waited to send to a channel" + other("reads")
	case ChannelReceive:
		return "waited to receive from a channel" + in
	case Select:
		return "waited in a select statement" + in
	case Network:
		return "waited for the network" + in
	case File:
		return "waited for a file or a pipe" + in
	case Timer:
		if c.By != nil && strings.HasPrefix(c.By.Function, "context.") {
			return "waited until the deadline of its context" + in
		}
		return "waited for a timer" + in
	case Condition:
		return "waited for a condition" + in
	case WaitGroup:
		return "waited for a WaitGroup" + in
	case Syscall:
		return "system call" + in
	case CCode:
		if in != "" {
			in = ", called" + in
		}
		return "ran or waited in C code" + in
	case GCAssist, GarbageCollection:
		return "garbage collection"
	case StopTheWorld:
		if c.By == nil || by == "" {
			return "the runtime stopped all goroutines"
		}
		return "the runtime stopped all goroutines for " + by
	case OtherPrograms:
		return "other programs had the processors"
	case CPULimit:
		if c.Limit == 0 {
			return "the limit of CPU time stopped the process"
		}
		unit := " processors"
		if c.Limit == 1 {
			unit = " processor"
		}
		limit := strconv.FormatFloat(c.Limit, 'f', -1, 64)
		return "the limit of " + limit + unit + " stopped the process"
	case NotRun:
		return "the operating system did not run the process, and why is not known"
	default:
		return "waited" + cmp.Or(in, " for something unknown, perhaps since before the trace")
	}
}

// closes reports whether the party ended the wait by closing a channel. The runtime's stack of a
// goroutine that closes begins with the caller. Other operations on channels have a function of
// the runtime or of package reflect.
func (p *Party) closes() bool {
	if len(p.Stack) == 0 {
		return false
	}
	innermost, _, _ := strings.Cut(p.Stack[0].Function, ".")
	return innermost != "runtime" && innermost != "reflect"
}

// took names the request and the function that held what this request waited for.
func took(request, function, verb string) string {
	switch {
	case request != "" && function != "":
		return " that " + request + " " + verb + " in " + function
	case request != "":
		return " that " + request + " " + verb
	case function != "":
		return " that a goroutine " + verb + " in " + function
	}
	return ""
}
