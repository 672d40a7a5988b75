package waits

import (
	"strconv"
	"strings"
	"time"
)

// Sentence says in one sentence why the request took its time, such as "18 ms of 21 ms: waited for a mutex that GET /search
// held in (*Index).rebuild". It has the largest cause, and the next one if that took a tenth of the duration or more.
// The names in it are as the program and its callers gave them. Code that prints the sentence escapes it.
func (r *Request) Sentence() string {
	if len(r.Causes) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(Length(r.Causes[0].Duration) + " of " + Length(r.Duration))
	if r.Unended {
		b.WriteString(" so far")
	}
	b.WriteString(": " + r.phrase(&r.Causes[0]))
	if len(r.Causes) > 1 && r.Causes[1].Duration >= r.Duration/10 {
		b.WriteString("; " + Length(r.Causes[1].Duration) + ": " + r.phrase(&r.Causes[1]))
	}
	return b.String()
}

// phrase says what one cause is.
func (r *Request) phrase(c *Cause) string {
	in := ""
	if c.Function != "" {
		in = " in " + Short(c.Function)
	}
	by, request := "", ""
	if c.By != nil {
		by, request = Short(c.By.Function), c.By.Request
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
		return "waited for the network in " + c.Span + ", called by " + Short(c.Function)
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
		return "the limit of " + strconv.FormatFloat(c.Limit, 'f', -1, 64) + unit + " stopped the process"
	case NotRun:
		return "the operating system did not run the process, and why is not known"
	default:
		return "waited" + in
	}
}

// took says which request, in which function, had a thing that this one waited for.
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

// Short returns the name of a function as in the source: (*Index).rebuild for a method, and store.flush for a function.
func Short(function string) string {
	// The import path may have dots, and the type arguments may have slashes.
	name, arguments, _ := strings.Cut(function, "[")
	name = name[strings.LastIndexByte(name, '/')+1:]
	if arguments != "" {
		name += "[" + arguments
	}
	if _, method, ok := strings.Cut(name, ".("); ok {
		return "(" + method
	}
	return name
}

// Length returns a duration with two digits or three, as in "18 ms".
func Length(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return number(d, time.Second, 0) + " s"
	case d >= time.Second:
		return number(d, time.Second, 1) + " s"
	case d >= 10*time.Millisecond:
		return number(d, time.Millisecond, 0) + " ms"
	case d >= time.Millisecond:
		return number(d, time.Millisecond, 1) + " ms"
	}
	return number(d, time.Microsecond, 0) + " µs"
}

func number(d, unit time.Duration, digits int) string {
	return strconv.FormatFloat(float64(d)/float64(unit), 'f', digits, 64)
}
