// Package received makes what clients send, and servers answer, fit to be kept in spans and entries, of which
// thousands may wait in memory. Headers may have a megabyte and more.
package received

import (
	"strings"

	"github.com/perfline/perfline/internal/text"
)

const (
	// MaxText is how many bytes of a text are kept: more than URLs have that work everywhere.
	MaxText = 2 << 10

	// maxTraceState is the longest tracestate there can be but for spaces and empty
	// members (Trace Context, section 3.3.1): 32 members of a key and a value of 256 bytes.
	maxTraceState = 32*(256+len("=")+256) + 31*len(",")
)

// Text is s as UTF-8, cut to MaxText.
func Text(s string) string {
	return text.Valid(text.Cut(s, MaxText))
}

// Part is Text of a part of a text of length bytes, of which the rest does not stay in
// memory if it is long.
func Part(s string, length int) string {
	if length > MaxText && len(s) <= MaxText {
		s = strings.Clone(s)
	}
	return Text(s)
}

// TraceState are the values of a tracestate header, none if they are longer than any that
// is valid: what is parsed of them stays in memory as a part of the whole.
func TraceState(values []string) []string {
	for _, v := range values {
		if len(v) > maxTraceState {
			return nil
		}
	}
	return values
}
