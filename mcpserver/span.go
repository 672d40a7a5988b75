package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/otlpenc"
)

// spanArguments are the arguments of get_span.
type spanArguments struct {
	Request string `json:"request" jsonschema:"id of the request"`
	Span    string `json:"span" jsonschema:"id of the span, from get_request"`
	Offset  int    `json:"offset,omitempty" jsonschema:"attributes and marks to leave out, for the next page"`
	Limit   int    `json:"limit,omitempty" jsonschema:"attributes and marks in the answer, from 1 to 100; 40 without it"`
}

func (s *server) getSpan(_ context.Context, _ *mcp.CallToolRequest,
	in spanArguments) (*answer, error) {
	limit, err := pageOf(in.Offset, in.Limit, usualSpans, mostSpans)
	if err != nil {
		return nil, err
	}
	snapshot, err := s.find(in.Request)
	if err != nil {
		return nil, err
	}
	q := snapshot.Request()
	i := slices.IndexFunc(q.Spans,
		func(s *otlpenc.Span) bool { return s.SpanID.String() == in.Span })
	if i < 0 {
		return nil, refuse("span %s: must be a span of request %v, as %s lists them", in.Span,
			q.Root.SpanID, toolGetRequest).
			or(toolGetRequest, requestArguments{Request: q.Root.SpanID.String()},
				"the spans of the request")
	}
	span, a := q.Spans[i], new(answer)
	a.line("span %v of request %v: %s took %s, from %s after the request's start, kind %s",
		span.SpanID, q.Root.SpanID, span.Name, took(span.Duration()),
		took(span.Start.Sub(q.Root.Start)), word(span.Kind.String()))
	if span.Status.Code == codes.Error {
		a.line("failed with %s", value(span.Status.Description))
	}
	rows := spanDetail(span, q.Root)
	if in.Offset >= len(rows) && in.Offset > 0 {
		return nil, refuse("offset %d: must be less than %d", in.Offset, len(rows))
	}
	a.line("attributes and marks from %d on, of %d:", in.Offset, len(rows))
	shown, more := writePage(a, rows, in.Offset, limit, func(row string) string { return row })
	if more > 0 {
		in.Request, in.Offset = q.Root.SpanID.String(), in.Offset+len(shown)
		a.suggest(toolGetSpan, in, "more of them")
	}
	a.suggest(toolGetRequest, requestArguments{Request: q.Root.SpanID.String()},
		"the whole request")
	return a, nil
}

// spanDetail returns a line for each attribute, mark and link of a span.
func spanDetail(s, root *otlpenc.Span) []string {
	var rows []string
	for _, kv := range s.Attributes {
		rows = append(rows, quotef("  %s = %s", string(kv.Key), value(kv.Value.String())))
	}
	for _, e := range s.Events {
		rows = append(rows, quotef("  mark at %s: %s%s", took(e.Time.Sub(root.Start)), e.Name,
			attributes(e.Attributes, len(e.Attributes))))
	}
	for _, l := range s.Links {
		rows = append(rows, quotef("  link to trace %v, span %v", l.SpanContext.TraceID(),
			l.SpanContext.SpanID()))
	}
	return rows
}

const maxAttributes = 8 // of a mark in an answer

// attributes returns the first attributes of a mark for its line.
func attributes(all []attribute.KeyValue, most int) word {
	most = min(most, maxAttributes)
	var b strings.Builder
	for i, kv := range all {
		if i == most {
			b.WriteString(quotef(", and %d more attributes", len(all)-i))
			break
		}
		b.WriteString(quotef(", %s = %s", string(kv.Key), kv.Value.String()))
	}
	return word(b.String())
}
