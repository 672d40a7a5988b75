// Package labels ties spans to goroutines through the runtime's profiler labels,
// which every sample carries.
//
// While somebody samples every span ([Hold]), a span labels the goroutine that begins it
// with span_id, span_name and trace_id, beside the labels that the program has set with
// runtime/pprof, which are there again, the same pointer, when the span has ended.
// Goroutines that are started meanwhile inherit the labels. While local roots are enough
// ([HoldLocalRoots]), other spans label only goroutines that do not work for their trace
// yet, and with the local root's name and id.
//
// The label pointer of a sample leads back to the span ([Resolve]), so that a goroutine
// that keeps the labels of a span that has ended counts for a span around it that has
// not, or for none. If a release of Go has labels with another layout in memory, spans
// are labelled through runtime/pprof, and samples have the labels' text ([FromText]).
package labels

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// The keys of a span's labels, sorted. They win over labels of the program's that
// have the same keys, until the span ends.
const (
	spanIDKey   = "span_id"
	spanNameKey = "span_name"
	traceIDKey  = "trace_id"
)

func isOurs(key string) bool { return key == spanIDKey || key == spanNameKey || key == traceIDKey }

// wanted counts who wants goroutines to be labelled, and in units of everySpan those of
// them who want it for every span.
var wanted atomic.Int64

const everySpan = 1 << 32

// On reports whether goroutines are labelled.
func On() bool { return wanted.Load() > 0 }

// OfEverySpan reports whether somebody wants that of every span, see [Hold].
func OfEverySpan() bool { return wanted.Load() >= everySpan }

// Hold has spans that begin from now on label their goroutines, until release is
// called, which may be called more than once.
func Hold() (release func()) { return hold(everySpan + 1) }

// HoldLocalRoots is [Hold] for those who tell local roots apart only.
func HoldLocalRoots() (release func()) { return hold(1) }

func hold(n int64) (release func()) {
	wanted.Add(n)
	var released atomic.Bool
	return func() {
		if !released.Swap(true) {
			wanted.Add(-n)
		}
	}
}

// maxName bounds the span_name label, in bytes: names are written into profiles once
// for each that differs, and those that hold a query or a path have no end.
const maxName = 128

// labelName is a span's name as a label: valid UTF-8, which the pprof format and
// OTLP require, and cut at the end of a character.
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

// FromText finds the span that a list of labels names, for those who have the text
// only. user are the other labels. ok is false, and user all of list, when it names
// none: an id that is missing or zero, or is not in lower-case hexadecimal. Whether
// the span has ended cannot be told, nor who set the labels.
func FromText(list []Label) (traceID [16]byte, spanID [8]byte, name string, user []Label, ok bool) {
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
		return [16]byte{}, [8]byte{}, "", list, false
	}
	return traceID, spanID, name, users(list), true
}

// IsLocalRoot reports whether s is the first span of its trace in this process, for all
// that was known when it began.
func (s *Span) IsLocalRoot() bool { return s.named == nil && s.root.SpanID() == s.SpanID() }

// IsSpan reports whether s labels for the span that it began with, and not for the local
// root in its place.
func (s *Span) IsSpan() bool { return s.named == nil }

// Root is the local root of the span's trace; s itself when it is that one, or when none
// was known.
func (s *Span) Root() *Span { return s.root }

// Name is the span's name at its end, before that the one that it began with: valid
// UTF-8 of bounded length.
func (s *Span) Name() string {
	if end := s.EndName(); end != "" {
		return end
	}
	return s.begunName()
}

// EndName is the name that the span ended with, "" while it goes on and if it is still the
// one that it began with.
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
	if s.root != s && s.IsLocalRoot() {
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
