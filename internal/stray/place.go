package stray

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/record"
)

// A Place is a place in the program where strays begin.
type Place struct {
	Function string // the runtime's name of the function; for marks, the name of the marks
	What     string // query, command, call, message or mark
	Count    uint64 // strays since the first request, or since the start before the first request
}

// The values of [Place.What].
const (
	Query   = "query"
	Command = "command" // for a database without SQL
	Call    = "call"
	Message = "message"
	Mark    = "mark"
)

// The values of [Place.Function] that are no function and no mark.
const (
	Others  = "other places"        // over the limit of a list
	Unnamed = "names not in memory" // of marks: see Marks

	// See Visible.
	Hidden          = "functions that Config.Sessions.Policy.Modules hides"
	HiddenLibraries = "libraries that Config.Sessions.Policy.Modules hides"
)

// Places returns the places of stray spans, the most frequent first.
func (t *Table) Places() []Place {
	var before map[key]uint64
	if first := t.first.Load(); first != nil {
		before = first.counts
	}
	var sum sum
	for k, n := range t.counts.load() {
		if n := n.Load() - before[k]; n > 0 {
			sum.add(Place{k.function, k.kind(), n})
		}
	}
	return sum.sorted()
}

// kind returns the value of [Place.What].
func (k key) kind() string {
	if k.work != "" {
		return k.work
	}
	switch {
	case containsAny(k.scope, withoutSQL):
		return Command
	case containsAny(k.scope, withSQL):
		return Query
	}
	return Call
}

// withoutSQL and withSQL are parts of names of databases and of instrumentation scopes.
// Instrumentation of databases often sets all attributes after the start of the span.
var (
	withoutSQL = []string{"redis", "valkey", "mongo", "cql", "cassandra", "memcache",
		"elasticsearch", "opensearch", "dynamodb", "couch", "influx", "neo4j"}
	withSQL = []string{"sql", "db", "pgx", "gorm"}
)

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// workOf returns Query, Command or Message if the span's start tells, and "" otherwise.
func workOf(kind trace.SpanKind, attrs []attribute.KeyValue) string {
	isDatabase := false
	for i := range attrs {
		switch key := string(attrs[i].Key); {
		case key == "db.system.name" || key == "db.system":
			if containsAny(attrs[i].Value.AsString(), withoutSQL) {
				return Command
			}
			return Query
		case strings.HasPrefix(key, "db."):
			isDatabase = true
		case strings.HasPrefix(key, "messaging."):
			return Message
		}
	}
	if isDatabase {
		return Query
	}
	if kind == trace.SpanKindProducer {
		return Message
	}
	return ""
}

// Marks returns the names of the marks without a span in the buffer of t's process timeline. Marks
// before since do not count. Marks returns at most 256 names, the most frequent first, and the
// numbers of the other marks without a span as [Others] and [Unnamed].
func Marks(t *record.Timeline, since time.Time) []Place {
	for t.Parent() != nil {
		t = t.Parent()
	}
	made := t.UnitStats().MarksWithoutSpan // first: a later mark may be in the buffer only
	var names sum
	var in uint64 // marks in the buffer
	from := t.Since(since)
	entries := t.Read()
	for i := range entries {
		e := &entries[i]
		if e.Type() != record.Mark || e.Span() != (record.SpanIDs{}) {
			continue
		}
		in++
		if e.RecordedAt() >= from {
			names.add(Place{e.Name(), Mark, 1})
		}
	}
	all := names.sorted()
	if len(all) > maxPlaces {
		rest := Total(all[maxPlaces:])
		all = append(all[:maxPlaces], Place{Others, Mark, rest})
	}
	if made > in {
		all = append(all, Place{Unnamed, Mark, made - in})
	}
	return all
}

// Visible returns the places with [Hidden] and [HiddenLibraries] in place of the functions that
// shows hides. Names of marks stay.
func Visible(places []Place, shows func(function string) bool) []Place {
	var all sum
	for _, p := range places {
		switch {
		case p.What == Mark || p.Function == Others || shows(p.Function):
		case inLibrary(modules.Read(), p):
			p.Function = HiddenLibraries
		default:
			p.Function = Hidden
		}
		all.add(p)
	}
	return all.sorted()
}

// inLibrary reports whether a library began the strays on its own goroutine: no function of the
// program was on the stack. The program cannot give a request to the polling of a library. In the
// binary of a test, the modules of libraries are unknown. Without the path of the main module, each
// unknown module may be the program's.
func inLibrary(all *modules.Set, p Place) bool {
	if p.What == Mark || p.Function == Others || p.Function == Hidden {
		return false
	}
	switch all.Of(p.Function).Kind {
	case modules.Main:
		return false
	case modules.Unknown:
		return all.Main() != "" || p.Function == HiddenLibraries
	default:
		return true
	}
}

// OfProgram returns the places without those in libraries.
func OfProgram(places []Place) []Place {
	return slices.DeleteFunc(slices.Clone(places),
		func(p Place) bool { return inLibrary(modules.Read(), p) })
}

// Total returns the number of strays of all places.
func Total(places []Place) (n uint64) {
	for _, p := range places {
		n += p.Count
	}
	return n
}

// A sum adds up the counts of equal places.
type sum map[Place]uint64 // the keys have no Count

func (s *sum) add(p Place) {
	if *s == nil {
		*s = sum{}
	}
	n := p.Count
	p.Count = 0
	(*s)[p] += n
}

func (s sum) sorted() []Place {
	all := make([]Place, 0, len(s))
	for p, n := range s {
		p.Count = n
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What),
			cmp.Compare(a.Function, b.Function))
	})
	return all
}

// works has the words for strays, in the order of the sentence.
var works = []struct{ what, many, advice string }{
	{Query, "queries", "QueryContext, db.WithContext(ctx)"},
	{Command, "commands", "the ctx of the client's methods"},
	{Call, "calls", "http.NewRequestWithContext, the ctx of an RPC"},
	{Message, "messages", "the ctx of the producer's methods"},
	{Mark, "marks", "marks.Mark(ctx, …)"},
}

// Sentence returns the numbers of strays and the remedy, such as "These 312 queries have no
// request: …". Sentence states the numbers in libraries apart. Sentence returns "" without strays.
func Sentence(places []Place) string {
	own := OfProgram(places)
	libraries := slices.DeleteFunc(slices.Clone(places),
		func(p Place) bool { return slices.Contains(own, p) })
	var all []string
	if n := Total(own); n > 0 {
		numbers, remedy := Describe(own)
		if n == 1 {
			numbers += " has no request: "
		} else {
			numbers = "These " + numbers + " have no request: "
		}
		all = append(all, numbers+remedy)
	}
	if n := Total(libraries); n > 0 {
		numbers, _ := Describe(libraries)
		verb := " begin"
		if n == 1 {
			verb = " begins"
		}
		all = append(all, numbers+verb+" in libraries, on their own goroutines: a library that "+
			"polls needs no request.")
	}
	return strings.Join(all, " ")
}

// Describe returns the numbers of strays, such as "312 queries and 1 mark", and the remedy. The
// texts contain no names.
func Describe(places []Place) (numbers, remedy string) {
	var all, advice []string
	for _, w := range works {
		n := Total(slices.DeleteFunc(slices.Clone(places),
			func(p Place) bool { return p.What != w.what }))
		switch n {
		case 0:
			continue
		case 1:
			all = append(all, "1 "+w.what)
		default:
			all = append(all, fmt.Sprintf("%d %s", n, w.many))
		}
		advice = append(advice, w.advice)
	}
	if last := len(all) - 1; last > 0 {
		all = []string{strings.Join(all[:last], ", ") + " and " + all[last]}
	}
	return strings.Join(all, ""), "pass the request's context (" + strings.Join(advice, ", ") +
		"), or begin a job with marks.StartJob."
}
