package spanlabels

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
)

// The keys of a span's labels, sorted. They win over labels of the program's that have the same
// keys, until the span ends.
const (
	spanIDKey   = "span_id"
	spanNameKey = "span_name"
	traceIDKey  = "trace_id"
)

func isOurs(key string) bool { return key == spanIDKey || key == spanNameKey || key == traceIDKey }

// maxName bounds the span_name label, in bytes: names are written into profiles once for each that
// differs, and those that hold a query or a path have no end.
const maxName = 128

// labelName is a span's name as a label: valid UTF-8, which the pprof format and OTLP require, and
// cut at the end of a character.
func labelName(name string) string {
	long := len(name) > maxName
	if long {
		end := maxName
		for end > maxName-utf8.UTFMax && !utf8.RuneStart(name[end]) {
			end--
		}
		name = name[:end]
	}
	if !utf8.ValidString(name) {
		return labelName(strings.ToValidUTF8(name, "\uFFFD")) // which may be longer
	}
	if long {
		return strings.Clone(name) // not to retain the rest
	}
	return name
}

// users are the labels of list that are not a span's; nil when there are none.
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

// FromText finds the span that a list of labels names, for those who have the text only. user are
// the other labels. ok is false, and user all of list, when it names none: an id that is missing or
// zero, or is not in lower-case hexadecimal. Whether the span has ended cannot be told, nor which
// code set the labels.
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

// Root is the local root of the span's trace; s itself when it is that one, or when none was known.
func (s *Span) Root() *Span { return s.root }

// Name is the span's name at its end, before that the one that it began with: valid UTF-8 of
// bounded length.
func (s *Span) Name() string {
	if end := s.EndName(); end != "" {
		return end
	}
	return s.begunName()
}

// EndName is the name that the span ended with, "" while it goes on and if it is still the one that
// it began with.
func (s *Span) EndName() string {
	if s.named != nil {
		return s.named.EndName()
	}
	if end := s.endName.Load(); end != nil {
		return *end
	}
	return ""
}

// rename notes the name at the end, "" for one that is not known.
func (s *Span) rename(name string) {
	if name == "" || name == s.begunName() {
		return
	}
	end := labelName(name) // a variable of its own: name is not to be on the heap
	s.endName.Store(&end)
	if s.root != s && s.isLocalRoot() {
		s.root.endName.Store(&end)
	}
}

// decode reports whether text is an id of id's length.
func decode(id []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(id)) || strings.ContainsAny(text, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(id, []byte(text))
	return err == nil && slices.Max(id) > 0
}
