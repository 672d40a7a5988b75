package main

import (
	"regexp"
	"time"

	"github.com/perfline/perfline/waits"
)

// A cause is something that makes a request slow, and what the sentence about the request must say
// then.
type cause struct {
	name string // for flags and for the service
	what string // for the table

	// oneProcessor has the service run with GOMAXPROCS=1.
	oneProcessor bool

	// names matches the part of a sentence that is about this cause, and about no other one.
	names *regexp.Regexp

	// holder matches the sentence's name of the function or request that is to blame; nil if there
	// is none.
	holder *regexp.Regexp

	// blames matches a sentence that blames a goroutine although none is to blame; nil if there is
	// nothing to check.
	blames *regexp.Regexp

	// others has other programs take the processors for the whole request. It is no part of a pair.
	others bool

	// limits has the service run with a limit of CPU time, and idles says that no part of the
	// service needs a processor meanwhile, at least not in the way calling. These two make pairs,
	// as allSeries says.
	limits, idles bool

	// is reports whether a cause of the result is this one. It serves the share of the time only,
	// not the judgement.
	is func(c found) bool

	ways []string // ways of the same cause, which the runs have in turn; nil for one way
}

// A part is a cause that takes a time of a request.
type part struct {
	cause cause
	way   string
	takes time.Duration
}

// Names of causes that hold the processors from outside the service. Others may be there unplanned:
// other programs of the machine.
const (
	others  = "others"
	limited = "limit"
)

const (
	large  = 110 * time.Millisecond // of a pair's larger cause, and of a single one
	little = 30 * time.Millisecond  // of a pair's smaller cause
)

// Ways to spend the time in which others wait.
const (
	computing = "computing"
	calling   = "calling" // a slow dependency
)

// Ways to wait for a time.
const (
	sleeping  = "sleeping"
	selecting = "selecting"
)

// Ways of a library to let a request wait.
const (
	acquiring = "acquiring" // what another request has
	retrying  = "retrying"
)

// executing is a way to wait for a pipe: another program writes into it. Otherwise a goroutine
// does, after a call.
const executing = "executing"

var causes = []cause{
	{
		name: "mutex", what: "a mutex that another request holds",
		names:  regexp.MustCompile(`waited for a mutex`),
		holder: regexp.MustCompile(`that GET /search held in \(\*index\)\.rebuild`),
		is:     func(c found) bool { return c.Kind == waits.Mutex },
		idles:  true,
		ways:   []string{computing, calling},
	},
	{
		name: "processors", what: "processors that other goroutines take", oneProcessor: true,
		names:  regexp.MustCompile(`waited for a processor`),
		holder: regexp.MustCompile(`that a goroutine used in \(\*prices\)\.recompute`),
		is:     func(c found) bool { return c.Kind == waits.Runnable },
	},
	{
		name: "assist", what: "work for the garbage collector",
		names: regexp.MustCompile(`garbage collection`),
		is: func(c found) bool {
			return c.Kind == waits.GCAssist || c.Kind == waits.GarbageCollection ||
				c.Kind == waits.StopTheWorld
		},
	},
	{
		name: "dependency", what: "a slow dependency over the network",
		names: regexp.MustCompile(`waited for the network`),
		is:    func(c found) bool { return c.Kind == waits.Network },
		idles: true,
	},
	{
		name: "inner", what: "a slow request that the service sends to itself",
		names:  regexp.MustCompile(`waited for GET /quote, which`),
		holder: regexp.MustCompile(`in span GET: waited for GET /quote, which`),
		is:     func(c found) bool { return c.In == "GET /quote" },
		idles:  true,
	},
	{
		name: "library", what: "a wait in a library",
		names: regexp.MustCompile(`waited for (?:GET /archive, which|a timer in main\.send)`),
		holder: regexp.MustCompile(`GET /archive, which waited for the network in \(\*shop\)\.get` +
			`|in main\.send via backoff\.Retry\b`),
		is: func(c found) bool {
			return c.In == "GET /archive" || c.Function == "main.send"
		},
		idles: true,
		ways:  []string{acquiring, retrying},
	},
	{
		name: "pool", what: "a full pool of database/sql",
		names:  regexp.MustCompile(`waited for a database connection`),
		holder: regexp.MustCompile(`that GET /report held in \(\*reports\)\.monthly`),
		is:     func(c found) bool { return c.Kind == waits.Pool },
		idles:  true,
	},
	{
		name: "reader", what: "a channel with a slow reader",
		names: regexp.MustCompile(`waited to send to a channel`),
		holder: regexp.MustCompile(
			`that (?:a goroutine|another goroutine of this request) reads in \(\*audit\)\.write`),
		is:    func(c found) bool { return c.Kind == waits.ChannelSend },
		idles: true,
		ways:  []string{computing, calling},
	},
	{
		name: "syscall", what: "a blocking system call",
		names: regexp.MustCompile(`system call`),
		is:    func(c found) bool { return c.Kind == waits.Syscall },
		idles: true,
	},
	{
		name: "pipe", what: "a pipe with a late writer",
		names:  regexp.MustCompile(`waited for a file or a pipe`),
		holder: regexp.MustCompile(`a pipe in (?:\(\*spool\)\.read|main\.convert)\b`),
		is:     func(c found) bool { return c.Kind == waits.File },
		idles:  true,
		ways:   []string{calling, executing},
	},
	{
		name: "cpu", what: "plain CPU in a function",
		names:  regexp.MustCompile(`ran on a processor`),
		holder: regexp.MustCompile(`in \(\*page\)\.layout`),
		is:     func(c found) bool { return c.Kind == waits.OnCPU },
	},
	{
		name: others, what: "processors that other programs take", others: true,
		names:  regexp.MustCompile(`other programs had the processors`),
		blames: regexp.MustCompile(`that .* used in`),
		is:     func(c found) bool { return c.Kind == waits.OtherPrograms },
	},
	{
		name: limited, what: "a limit of CPU time", limits: true,
		names:  regexp.MustCompile(`the limit of (?:\S+ processors?|CPU time) stopped`),
		holder: regexp.MustCompile(`limit of 0\.25 processors`),
		blames: regexp.MustCompile(`that .* used in`),
		is:     func(c found) bool { return c.Kind == waits.CPULimit },
	},
	{
		name: "timer", what: "a timer",
		names: regexp.MustCompile(`waited for a timer in main\.(?:backOff|pause)`),
		is:    func(c found) bool { return c.Kind == waits.Timer },
		idles: true,
		ways:  []string{sleeping, selecting},
	},
}
