package stray

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
)

// A Place is a place in the program where strays begin.
type Place struct {
	Function string // the runtime's name of the function; for marks, the name of the marks
	What     string // query, call, message or mark
	Count    uint64 // strays since the start
}

// The values of [Place.What].
const (
	Query   = "query"
	Call    = "call"
	Message = "message"
	Mark    = "mark"
)

// The values of [Place.Function] that are no function and no mark.
const (
	Others  = "other places"                // over the limit of a list
	Hidden  = "functions that Policy hides" // see Visible
	Unnamed = "names not in memory"         // of marks: see Marks
)

// Places returns the places of stray spans, the most frequent first.
func (t *Table) Places() []Place {
	var sum sum
	for k, n := range t.counts.load() {
		sum.add(Place{k.function, k.kind(), n.Load()})
	}
	return sum.sorted()
}

// kind returns the value of [Place.What].
func (k key) kind() string {
	if k.work != "" {
		return k.work
	}
	isIn := func(part string) bool { return strings.Contains(k.scope, part) }
	if slices.ContainsFunc(databases, isIn) {
		return Query
	}
	return Call
}

// databases are parts of names of instrumentation scopes. Instrumentation of databases often sets
// all attributes after the start of the span.
var databases = []string{"sql", "db", "pgx", "gorm", "redis", "valkey", "mongo", "cql",
	"cassandra", "memcache", "elasticsearch"}

// workOf returns Query or Message if the span's start tells, and "" otherwise.
func workOf(kind trace.SpanKind, attrs []attribute.KeyValue) string {
	for i := range attrs {
		switch key := string(attrs[i].Key); {
		case strings.HasPrefix(key, "db."):
			return Query
		case strings.HasPrefix(key, "messaging."):
			return Message
		}
	}
	if kind == trace.SpanKindProducer {
		return Message
	}
	return ""
}

// Marks returns the names of the marks without a span in the buffer of t's process timeline. Marks
// returns at most 256 names, the most frequent first, and the numbers of the other marks without a
// span as [Others] and [Unnamed].
func Marks(t *record.Timeline) []Place {
	for t.Parent() != nil {
		t = t.Parent()
	}
	made := t.UnitStats().MarksWithoutSpan // first: a later mark may be in the buffer only
	var names sum
	entries := t.Read()
	for i := range entries {
		if e := &entries[i]; e.Type() == record.Mark && e.Span() == (record.SpanIDs{}) {
			names.add(Place{e.Name(), Mark, 1})
		}
	}
	all := names.sorted()
	in := Total(all)
	if len(all) > maxPlaces {
		rest := Total(all[maxPlaces:])
		all = append(all[:maxPlaces], Place{Others, Mark, rest})
	}
	if made > in {
		all = append(all, Place{Unnamed, Mark, made - in})
	}
	return all
}

// Visible returns the places with [Hidden] in place of the functions that shows hides. Names of
// marks stay.
func Visible(places []Place, shows func(function string) bool) []Place {
	var all sum
	for _, p := range places {
		if p.What != Mark && p.Function != Others && !shows(p.Function) {
			p.Function = Hidden
		}
		all.add(p)
	}
	return all.sorted()
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
	{Call, "calls", "http.NewRequestWithContext"},
	{Message, "messages", ""},
	{Mark, "marks", "marks.Mark(ctx, …)"},
}

// Sentence returns the numbers of strays and the remedy, such as "These 312 queries have no
// request: …". Sentence returns "" without strays.
func Sentence(places []Place) string {
	numbers, remedy := Describe(places)
	switch Total(places) {
	case 0:
		return ""
	case 1:
		return numbers + " has no request: " + remedy
	}
	return "These " + numbers + " have no request: " + remedy
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
		if w.advice != "" {
			advice = append(advice, w.advice)
		}
	}
	if last := len(all) - 1; last > 0 {
		all = []string{strings.Join(all[:last], ", ") + " and " + all[last]}
	}
	remedy = "pass the request's context"
	if len(advice) > 0 {
		remedy += " (" + strings.Join(advice, ", ") + ")"
	}
	return strings.Join(all, ""), remedy + ", or begin a job with marks.StartJob."
}
