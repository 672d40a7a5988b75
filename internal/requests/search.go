package requests

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// Search returns the requests in lists that match q. Each request appears once. The request with
// the latest end is first. Search returns at most q.Limit requests. If a request is in several
// lists, Search returns the snapshot from the first list. If q.Check returns an error, Search
// returns nil.
//
// The cost depends on the fields of q:
//
//   - Times, durations and routes cost 0.2 µs for each request.
//   - A protocol status costs 5 µs for each request: Search decodes the root span.
//   - Attribute and Text cost about 1 ms for 100 KiB of spans. Search decodes all spans of requests
//     that match the other fields. Config.MaxBytes bounds the spans of [Recent.All]: the default
//     value costs up to 0.2 s.
func Search(q Query, lists ...[]Snapshot) []Snapshot {
	if q.Check() != nil {
		return nil
	}
	all := distinct(q.fits, lists...)
	slices.SortStableFunc(all, func(a, b Snapshot) int { return b.End.Compare(a.End) })
	var found []Snapshot
	m := newMatcher(q)
	for _, s := range all {
		if len(found) == cmp.Or(q.Limit, defaultLimit) {
			break
		}
		if m.matches(s) {
			found = append(found, s)
		}
	}
	return found
}

// fits compares the fields that need no decoding.
func (q Query) fits(s *Snapshot) bool {
	took := s.Took()
	switch {
	case took < q.MinTook, q.MaxTook > 0 && took >= q.MaxTook:
		return false
	case !q.From.IsZero() && s.End.Before(q.From), !q.To.IsZero() && !s.End.Before(q.To):
		return false
	case q.Route != "" && !s.isOf(q.Route):
		return false
	}
	return q.has(s.Class)
}

// A matcher compares the fields of a query that need decoded spans.
type matcher struct {
	Query

	key, value string
	hasValue   bool
	text       string // lower case
}

func newMatcher(q Query) matcher {
	m := matcher{Query: q, text: strings.ToLower(q.Text)}
	m.key, m.value, m.hasValue = strings.Cut(q.Attribute, "=")
	return m
}

func (m matcher) matches(s Snapshot) bool {
	if !m.hasStatus(s) {
		return false
	}
	if m.text != "" && strings.HasPrefix(s.TraceID.String(), m.text) {
		m.text = ""
	}
	if m.Attribute == "" && m.text == "" {
		return true
	}
	if m.Attribute != "" && !s.contains(m.key) {
		return false // the encoding does not change keys
	}
	withAttribute, withText := m.Attribute == "", m.text == ""
	for _, span := range s.Request().Spans {
		withAttribute = withAttribute || m.inAttributes(span)
		withText = withText || m.inNames(span)
		if withAttribute && withText {
			return true
		}
	}
	return false
}

// contains reports whether the encoded spans contain a text.
func (s *Snapshot) contains(text string) bool {
	has := func(spans otlpenc.Spans) bool { return bytes.Contains(spans.Bytes, []byte(text)) }
	return s.alone != nil && has(*s.alone) || slices.ContainsFunc(s.parts, has)
}

func (m matcher) inAttributes(s *otlpenc.Span) bool {
	is := func(kv attribute.KeyValue) bool {
		return string(kv.Key) == m.key && (!m.hasValue || kv.Value.String() == m.value)
	}
	return slices.ContainsFunc(s.Attributes, is) ||
		slices.ContainsFunc(s.Events,
			func(e sdktrace.Event) bool { return slices.ContainsFunc(e.Attributes, is) })
}

func (m matcher) inNames(s *otlpenc.Span) bool {
	has := func(name string) bool { return strings.Contains(strings.ToLower(name), m.text) }
	return has(s.Name) ||
		slices.ContainsFunc(s.Events, func(e sdktrace.Event) bool { return has(e.Name) })
}

// statusKeys are the attributes for the status of a protocol.
var statusKeys = []attribute.Key{"http.response.status_code", "rpc.grpc.status_code",
	"rpc.response.status_code"}

// ProtocolStatus returns the status of HTTP or RPC from the attributes of a root span, such as
// "404". ProtocolStatus returns "" if the status is missing.
func ProtocolStatus(root *otlpenc.Span) (status string) {
	for _, kv := range root.Attributes {
		if slices.Contains(statusKeys, kv.Key) {
			status = kv.Value.String()
		}
	}
	return status
}

func (m matcher) hasStatus(s Snapshot) bool {
	switch m.Status {
	case "":
		return true
	case "error":
		return s.Failed
	case "ok":
		return !s.Failed
	}
	root := s.RootSpan()
	got := ProtocolStatus(&root)
	if isStatusClass(m.Status) {
		return len(got) == 3 && got[0] == m.Status[0]
	}
	return strings.EqualFold(got, m.Status)
}
