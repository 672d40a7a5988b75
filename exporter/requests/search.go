package requests

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/exporter/local"
	"github.com/perfline/perfline/exporter/otlpenc"
)

// Search returns the requests in memory that q describes, the newest end first, each once. It looks through all lists of r, and
// stops at q.Limit. It finds nothing if q.Check returns an error.
//
// The lists are copied under the lock, without their spans, and searched outside. Times and durations take a fifth of a microsecond
// for each request in memory, as Route does. The status of a protocol needs its root span: 5 µs. Attribute and Text decode all spans of the requests
// that meet the other fields: about 1 ms for 100 KiB of spans. Config.MaxBytes bounds the spans: 0.2 s for its default.
func (r *Recent) Search(q Query) []Snapshot {
	return q.Filter(r.lists(q.has(local.Request) || q.has(local.Stream), q.has(local.Background) || q.has(local.Housekeeping))...)
}

// Filter returns the requests of lists that q describes, as [Recent.Search] does. If a request is in several lists, it
// returns the one in the first list.
func (q Query) Filter(lists ...[]Snapshot) []Snapshot {
	if q.Check() != nil {
		return nil
	}
	seen := map[requestID]bool{}
	var all []Snapshot
	for _, list := range lists {
		for _, s := range list {
			if id := s.id(); !seen[id] {
				seen[id] = true
				if q.fits(&s) {
					all = append(all, s)
				}
			}
		}
	}
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

// fits reports whether a request meets the fields that need no decoding.
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

// A matcher tests the fields of a query that need decoded spans.
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
		return false // keys are in the bytes as they are
	}
	withAttribute, withText := m.Attribute == "", m.text == ""
	for _, span := range s.Request().Spans {
		withAttribute = withAttribute || m.inAttributes(attributesOf(span))
		withText = withText || m.inNames(span)
		if withAttribute && withText {
			return true
		}
	}
	return false
}

// contains reports whether the encoded spans have a text.
func (s *Snapshot) contains(text string) bool {
	has := func(spans otlpenc.Spans) bool { return bytes.Contains(spans.Bytes, []byte(text)) }
	return s.alone != nil && has(*s.alone) || slices.ContainsFunc(s.parts, has)
}

func attributesOf(s *otlpenc.Span) iter.Seq[attribute.KeyValue] {
	return func(yield func(attribute.KeyValue) bool) {
		for _, kv := range s.Attributes {
			if !yield(kv) {
				return
			}
		}
		for _, e := range s.Events {
			for _, kv := range e.Attributes {
				if !yield(kv) {
					return
				}
			}
		}
	}
}

func (m matcher) inAttributes(all iter.Seq[attribute.KeyValue]) bool {
	for kv := range all {
		if string(kv.Key) == m.key && (!m.hasValue || kv.Value.String() == m.value) {
			return true
		}
	}
	return false
}

func (m matcher) inNames(s *otlpenc.Span) bool {
	if strings.Contains(strings.ToLower(s.Name), m.text) {
		return true
	}
	for _, e := range s.Events {
		if strings.Contains(strings.ToLower(e.Name), m.text) {
			return true
		}
	}
	return false
}

// statusKeys are the attributes that have the status of a protocol.
var statusKeys = []attribute.Key{"http.response.status_code", "rpc.grpc.status_code", "rpc.response.status_code"}

// ProtocolStatus returns the status that a root span's protocol gave the request, such as "404", or "".
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
