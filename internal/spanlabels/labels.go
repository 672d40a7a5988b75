package spanlabels

import (
	"encoding/hex"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
)

// The keys of a span's labels, sorted. Until the span ends, they replace the program's labels with
// the same keys.
const (
	spanIDKey   = "span_id"
	spanNameKey = "span_name"
	traceIDKey  = "trace_id"
)

func isOurs(key string) bool { return key == spanIDKey || key == spanNameKey || key == traceIDKey }

// maxName bounds the span_name label, in bytes. Profiles contain each distinct name, and names with
// a query or a path are distinct without end.
const maxName = 128

// labelName returns a span's name as a label: valid UTF-8, as the pprof format and OTLP require, in
// at most maxName bytes.
func labelName(name string) string {
	short := text.Start(name, maxName)
	short = text.Start(text.Valid(short), maxName) // Valid may make the text longer
	if len(short) < len(name) {
		return strings.Clone(short) // frees the rest of name
	}
	return short
}

// users returns the labels of list that are not a span's; nil without any.
func users(list []Label) []Label {
	n := 0
	for i := range list {
		if !isOurs(list[i].Key) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(list), func(l Label) bool { return isOurs(l.Key) })
}

// FromText reads the span from the text of the labels in list, and returns the other labels as
// user. Use FromText for samples without a label pointer. If an id is missing, zero or not
// lower-case hexadecimal, ok is false and user is list. The text does not reveal whether the span
// has ended, or which code set the labels.
func FromText(list []Label) (traceID trace.TraceID, spanID trace.SpanID, name string, user []Label,
	ok bool) {
	var hasTrace, hasSpan bool
	for _, l := range list {
		switch l.Key {
		case traceIDKey:
			hasTrace = decode(traceID[:], l.Value)
		case spanIDKey:
			hasSpan = decode(spanID[:], l.Value)
		case spanNameKey:
			name = l.Value
		}
	}
	if !hasTrace || !hasSpan {
		return trace.TraceID{}, trace.SpanID{}, "", list, false
	}
	return traceID, spanID, name, users(list), true
}

// Root returns the local root of the trace of s. If the local root is unknown, Root returns s.
func (s *Span) Root() *Span { return s.root }

// Name returns the name of s as valid UTF-8 of at most 128 bytes. Before the end of s, Name returns
// the name at the start. After the end, Name returns the name at the end.
func (s *Span) Name() string {
	if end := s.EndName(); end != "" {
		return end
	}
	return s.begunName()
}

// EndName returns the name at the end of s. EndName returns "" before the end, and if the name did
// not change.
func (s *Span) EndName() string {
	if s.named != nil {
		return s.named.EndName()
	}
	if end := s.endName.Load(); end != nil {
		return *end
	}
	return ""
}

// rename sets the name at the end; "" is ignored.
func (s *Span) rename(name string) {
	if name == "" || name == s.begunName() {
		return
	}
	end := labelName(name) // a separate variable keeps name off the heap
	s.endName.Store(&end)
	if s.root != s && s.isLocalRoot() {
		s.root.endName.Store(&end)
	}
}

// decode reports whether text is an id of id's length, and stores the id.
func decode(id []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(id)) || strings.ContainsAny(text, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(id, []byte(text))
	return err == nil && slices.Max(id) > 0
}
