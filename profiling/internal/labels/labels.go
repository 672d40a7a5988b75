// Package labels ties spans to goroutines through the runtime's profiler labels,
// which every sample carries.
//
// While somebody samples ([Hold]), a span labels the goroutine that begins it with
// span_id, span_name and trace_id, beside the labels that the program has set with
// runtime/pprof, which are there again, the same pointer, when the span has ended.
// Goroutines that are started meanwhile inherit the labels.
//
// On the version of Go that it knows, the label pointer of a sample leads back to
// the span ([Resolve]), so that a goroutine that keeps the labels of a span that
// has ended counts for a span around it that has not, or for none. Elsewhere there
// is the labels' text ([FromText]).
package labels

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// A Label is a profiler label, with the layout that the runtime's have.
type Label struct{ Key, Value string }

// The keys of a span's labels, sorted. They win over labels of the program's that
// have the same keys, until the span ends.
const (
	spanIDKey   = "span_id"
	spanNameKey = "span_name"
	traceIDKey  = "trace_id"
)

func isOurs(key string) bool { return key == spanIDKey || key == spanNameKey || key == traceIDKey }

// sampling is how many want goroutines to be labelled.
var sampling atomic.Int32

// On reports whether goroutines are labelled.
func On() bool { return sampling.Load() > 0 }

// Hold has spans that begin from now on label their goroutines, until release is
// called, which may be called more than once.
func Hold() (release func()) {
	sampling.Add(1)
	var released atomic.Bool
	return func() {
		if !released.Swap(true) {
			sampling.Add(-1)
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

// decode reports whether text is an id of id's length.
func decode(id []byte, text string) bool {
	if len(text) != hex.EncodedLen(len(id)) || strings.ContainsAny(text, "ABCDEF") {
		return false
	}
	_, err := hex.Decode(id, []byte(text))
	return err == nil && slices.Max(id) > 0
}
