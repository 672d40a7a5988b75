// Package setup finds faults in the set-up of a program that defeat a feature of perfline without
// an error. Examples are requests without a route and an endpoint that accepts nothing.
//
//	for _, f := range setup.Find(recent, counts, setup.Start{}) {
//		fmt.Println(f.What, f.Change)
//	}
//
// # Guarantees
//
//   - The rules read what is in memory. They do no I/O, and block nothing but short locks.
//   - A finding contains no text of clients. Names of spans and of instrumentation are shortened,
//     and invisible characters are codes.
//   - All functions may be called concurrently.
//
// # Limitations
//
//   - The rules about spans see only the requests in memory, and all spans of at most maxWhole
//     requests and maxWholeBytes.
//   - A fault that needs traffic is found only after some traffic. Each rule has its minimum.
package setup

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/stray"
	"github.com/perfline/perfline/internal/text"
)

// A Finding is a fault of the set-up.
type Finding struct {
	Rule   string // identifies the fault: the same fault has the same Rule in later calls of Find
	What   string // the fault and its reason, with numbers, in one or two sentences
	Change string // what to change, without names
}

// Start contains the facts that only a pipeline knows.
type Start struct {
	Earlier string // type of the tracer provider that was set before perfline.Start; "" without one
	Waits   bool   // the pipeline has a waits recorder

	// Later is the type of the global tracer provider now, if the program has set a provider after
	// perfline.Start that does not contain the provider of Start; else "".
	Later string
}

// Find returns the faults that the requests in memory, the counts of a pipeline and the facts of
// its start show. The order of the findings is fixed.
func Find(recent *requests.Recent, counts []exporter.Count, start Start) (all []Finding) {
	f := read(recent, counts, start)
	for _, rule := range rules {
		all = append(all, rule(f)...)
	}
	return all
}

// rules lists the rules. Faults that hide the most come first.
var rules = []func(*facts) []Finding{
	earlierProvider, laterProvider, noRoute, withoutRequest, leftStreams, doubleServer,
	doubleClient, tracedPage, neverDelivered, neverSlow, limited,
}

// facts are what the rules know.
type facts struct {
	Start
	counts []exporter.Count
	table  *routes.Table
	routes []routes.Summary   // of table: of all classes, since the start
	roots  []root             // in memory, each once
	whole  []requests.Request // of each route in memory, with all spans
	strays []stray.Place
	served bool // a request has started

	inMemory   int                   // requests
	incomplete int                   // of inMemory, requests of a trace that lacks spans
	missing    map[trace.TraceID]int // spans, of incomplete requests: some share a trace
}

// A root is a decoded local root.
type root struct {
	class local.Class
	otlpenc.Span
}

const (
	maxWhole      = 32      // requests whose spans are decoded
	maxWholeBytes = 1 << 20 // of their encoded spans; one request may have more
	perRoute      = 2       // of them with the same name
)

func read(recent *requests.Recent, counts []exporter.Count, start Start) *facts {
	f := &facts{Start: start, counts: counts, table: recent.Routes(), strays: recent.Strays(),
		served: recent.HasServed(), missing: map[trace.TraceID]int{}}
	f.routes = f.table.Summaries(routes.SinceStart).Routes
	seen, named, size := map[local.ID]bool{}, map[string]int{}, 0
	for _, s := range recent.All() {
		if seen[s.ID()] {
			continue
		}
		seen[s.ID()] = true
		f.roots = append(f.roots, root{s.Class, s.RootSpan()})
		if s.Class <= local.Inner {
			f.inMemory++
			if n := s.Dropped(); n > 0 {
				f.incomplete++
				f.missing[s.TraceID] = max(f.missing[s.TraceID], n)
			}
		}
		if s.Class <= local.Stream && named[s.Name] < perRoute && len(f.whole) < maxWhole &&
			size < maxWholeBytes {
			named[s.Name]++
			size += s.Bytes()
			f.whole = append(f.whole, s.Request())
		}
	}
	return f
}

// count returns the sum of the classes' roots since the start.
func (f *facts) count(classes ...local.Class) (n uint64) {
	for _, r := range f.routes {
		if slices.Contains(classes, r.Class) {
			n += r.Count
		}
	}
	return n
}

const maxName = 80 // bytes of a name in a finding

func shown(name string) string { return text.Line(name, maxName) }

// number returns a number and a noun, such as "1 request" or "2 requests".
func number[N int | uint64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// attributeOf returns the first attribute with one of the keys, or the zero Value.
func attributeOf(s *otlpenc.Span, keys ...attribute.Key) attribute.Value {
	for _, kv := range s.Attributes {
		if slices.Contains(keys, kv.Key) {
			return kv.Value
		}
	}
	return attribute.Value{}
}

// protocolOf returns "db", "rpc" or "http" for a span of a query, a call or an HTTP request, and ""
// for other spans.
func protocolOf(s *otlpenc.Span) string {
	found := ""
	for _, kv := range s.Attributes {
		switch kv.Key {
		case "db.system", "db.system.name":
			return "db"
		case "rpc.system", "rpc.system.name":
			found = "rpc"
		case "http.request.method", "http.method":
			if found == "" {
				found = "http"
			}
		}
	}
	return found
}

// children returns the children of each span of a request.
func children(q requests.Request) map[trace.SpanID][]*otlpenc.Span {
	all := map[trace.SpanID][]*otlpenc.Span{}
	for _, s := range q.Spans[1:] {
		all[s.ParentID] = append(all[s.ParentID], s)
	}
	return all
}
