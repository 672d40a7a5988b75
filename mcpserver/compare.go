package mcpserver

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
)

// compareArguments are the arguments of compare_requests.
type compareArguments struct {
	Slow  string `json:"slow" jsonschema:"id of the slow request, from list_requests"`
	Usual string `json:"usual,omitempty" jsonschema:"id of a usual request; without it, one of the same route that took the usual time"`
}

const (
	maxSpanDifferences = 15
	maxDifferences     = 8 // of states, and of functions
)

func (s *server) compareRequests(ctx context.Context, _ *mcp.CallToolRequest,
	in compareArguments) (*answer, error) {
	slow, err := s.find(in.Slow)
	if err != nil {
		return nil, err
	}
	usual, err := s.usual(slow, in.Usual)
	if err != nil {
		return nil, err
	}
	if slow.ID() == usual.ID() {
		return nil, refuse("usual %s: must be another request than slow", in.Usual)
	}
	a, b := s.withWaits(ctx, slow), s.withWaits(ctx, usual)
	slowProfile, usualProfile := s.profileOf(a), s.profileOf(b)
	c := requests.Compare(requests.Part{Request: a, Profile: slowProfile},
		requests.Part{Request: b, Profile: usualProfile})
	text := new(answer)
	describe := func(name word, root *otlpenc.Span) {
		text.line("%-6s request %v: %s took %s, %s", name, root.SpanID, root.Name,
			took(root.Duration()), status(root))
	}
	describe("slow:", a.Root)
	describe("usual:", b.Root)
	text.line("difference: %s", took(c.Took()))
	writeDifferences(text, c)
	if samples := cmp.Or(slowProfile, usualProfile); samples != nil {
		writeGaps(text, samples)
	}
	text.suggest(toolGetRequest, requestArguments{Request: a.Root.SpanID.String()},
		"the slow request, with its cause if the waits recorder has it")
	if span, ok := largest(a, c); ok {
		text.suggest(toolGetSpan,
			spanArguments{Request: a.Root.SpanID.String(), Span: span.String()},
			"attributes and marks of the span with the largest difference")
	}
	if len(c.Functions) == 0 {
		text.suggest(toolProfile, profileArguments{Route: routeID(a.Root.Name)},
			"functions that use the CPU in requests of this route")
	}
	return text, nil
}

// usual returns the request with an id, or without an id a usual request of slow's route.
func (s *server) usual(slow requests.Snapshot, id string) (requests.Snapshot, error) {
	if id != "" {
		return s.find(id)
	}
	usual, _, ok := lookup.Usual(s.recent(), slow)
	if !ok {
		return usual, refuse(
			"no other request of %s without an error is in memory: repeat this call after the program has served some", slow.Name).
			or(toolListRequests, struct{}{},
				"another request to compare with, as the argument usual")
	}
	s.listed.Add(usual)
	return usual, nil
}

// profileOf returns the profile of the tools' last session, or nil if the session has no samples of
// the request.
func (s *server) profileOf(q requests.Request) *profile.Trace {
	id := s.profile.id()
	if id == 0 {
		return nil
	}
	recorded, err := s.source.Sessions().RemoteSession(id)
	if err != nil || recorded.Trace() == nil {
		return nil
	}
	for range requests.Samples(q, recorded.Trace()) {
		return recorded.Trace()
	}
	return nil
}

func writeDifferences(a *answer, c requests.Comparison) {
	a.line("spans by their difference on the critical path, slow minus usual: difference ms, ms on the path slow and usual, number slow and usual, dots for the level, name")
	for i, d := range c.Spans {
		if i == maxSpanDifferences ||
			!a.row(quotef("%s %s %s %d %d %s%s", ms(d.Critical()), ms(d.Slow.Critical),
				ms(d.Usual.Critical), d.Slow.Count, d.Usual.Count,
				word(strings.Repeat("· ", min(d.Depth, maxDepth))), d.Name)) {
			a.line("%d further spans differ less", len(c.Spans)-i)
			break
		}
	}
	if len(c.Waits) > 0 {
		a.line("time by state: difference ms, slow ms, usual ms, state%s",
			oneSided(c.SlowWaits, c.UsualWaits))
	}
	for _, d := range c.Waits[:min(maxDifferences, len(c.Waits))] {
		a.line("%s %s %s %s", ms(d.Took()), ms(d.Slow), ms(d.Usual), word(d.Kind.String()))
	}
	if len(c.Functions) > 0 {
		a.line("functions by samples: difference ms, slow ms, usual ms, name, file and line%s",
			oneSided(c.SlowSamples > 0, c.UsualSamples > 0))
	}
	for _, d := range c.Functions[:min(maxDifferences, len(c.Functions))] {
		a.line("%s %s %s %s %s", ms(d.Took()), ms(d.Slow), ms(d.Usual), d.Name,
			place(d.File, d.Line))
	}
}

// oneSided returns a note if only one request has data.
func oneSided(slow, usual bool) word {
	switch {
	case !slow:
		return "; the slow request has none"
	case !usual:
		return "; the usual request has none"
	}
	return ""
}

// largest returns the slow request's longest span on the path with the largest difference. ok is
// false without such a span.
func largest(q requests.Request, c requests.Comparison) (id trace.SpanID, ok bool) {
	if len(c.Spans) == 0 {
		return id, false
	}
	rows := requests.Rows(q)
	longest := time.Duration(-1)
	for i, place := range c.SlowPlaces {
		if place == c.Spans[0].Place && rows[i].Span.Duration() > longest {
			id, longest, ok = rows[i].Span.SpanID, rows[i].Span.Duration(), true
		}
	}
	return id, ok
}
