package waits

import (
	"strconv"

	"github.com/perfline/perfline/internal/text"
)

// Sentence explains the request's duration in one sentence. An example is "18 ms of 21 ms: waited
// for a mutex that GET /search held in (*Index).rebuild".
//
// The sentence names the largest cause. The sentence also names the second cause if that cause took
// at least a tenth of the duration. Without causes, Sentence returns an empty string.
//
// The sentence contains names from the program and from callers of the program. Escape the sentence
// before you print the sentence.
func (r *Request) Sentence() string {
	if len(r.Causes) == 0 {
		return ""
	}
	s := text.Length(r.Causes[0].Duration) + " of " + text.Length(r.Duration)
	if r.Unended {
		s += " so far"
	}
	s += ": " + r.phrase(&r.Causes[0])
	if len(r.Causes) > 1 && r.Causes[1].Duration >= r.Duration/10 {
		s += "; " + text.Length(r.Causes[1].Duration) + ": " + r.phrase(&r.Causes[1])
	}
	return s
}

func (r *Request) phrase(c *Cause) string {
	in := ""
	if c.Function != "" {
		in = " in " + text.Function(c.Function)
	}
	by, request := "", ""
	if c.By != nil {
		by, request = text.Function(c.By.Function), c.By.Request
		if c.By.RootID == r.RootID && c.By.TraceID == r.TraceID {
			request = "another goroutine of this request"
		}
	}
	other := func(verb string) string {
		if c.By == nil {
			return in
		}
		return took(request, by, verb)
	}
	switch c.Kind {
	case Gap:
		return "the execution trace does not reach"
	case OnCPU:
		if request != "" {
			return "waited for " + request + ", which ran" + in
		}
		return "ran on a processor" + in
	case Runnable:
		return "waited for a processor" + took(request, by, "used")
	case Mutex:
		return "waited for a mutex" + other("held")
	case Pool:
		return "waited for a database connection" + other("held")
	case ChannelSend:
		return "waited to send to a channel" + other("reads")
	case ChannelReceive:
		return "waited to receive from a channel" + in
	case Select:
		return "waited in a select statement" + in
	case Network:
		switch {
		case c.Span == "" || c.SpanID == r.RootID:
			return "waited for the network" + in
		case c.Function == "":
			return "waited for the network in " + c.Span
		}
		return "waited for the network in " + c.Span + ", called by " + text.Function(c.Function)
	case File:
		return "waited for a file or a pipe" + in
	case Timer:
		return "waited for a timer" + in
	case Condition:
		return "waited for a condition" + in
	case WaitGroup:
		return "waited for a WaitGroup" + in
	case Syscall:
		return "system call" + in
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
		return "waited" + in
	}
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
