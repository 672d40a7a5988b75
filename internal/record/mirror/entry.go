package mirror

import (
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Kind is the kind of an entry.
type Kind uint8

// The kinds of entries.
const (
	Open    Kind = iota + 1 // a span that has not ended
	Span                    // a span that has ended
	Mark                    // a mark
	Measure                 // a measure without a span of its own
	Root                    // the end of the request
)

// Flags describe a request, or an entry.
type Flags uint8

// The flags.
const (
	Failed  Flags = 1 << iota // the status of the span is Error
	Sampled                   // the request is exported
	Remote                    // the parent is in another process
	Kept                      // the sampler dropped the request; it is exported if it is kept
	Cut                       // the attributes or the name are longer
	Given                     // does not wait for the hand-over; a backend has taken the request
)

// A TraceID is the id of a trace, as in package record.
type TraceID [16]byte

// A SpanID is the id of a span, as in package record.
type SpanID [8]byte

// A Head describes a request that begins.
type Head struct {
	Trace        TraceID
	Span, Parent SpanID
	Start        time.Duration // since the origin of the process timeline
	Goroutine    uint64        // on which the request began, or 0; set by Begin
	Kind         uint8         // of the span, as in OpenTelemetry's API
	Flags        Flags
	Name         string
}

// An Entry describes an entry of a request.
type Entry struct {
	Kind         Kind
	Flags        Flags
	Span, Parent SpanID        // the entry's own span, and the span that was active
	Start        time.Duration // as in Head
	Duration     time.Duration
	Goroutine    uint64 // which wrote the entry, or 0; set by Write
	Name         string
}

// Attributes are the text of the attributes of an entry, as in logfmt. [Slot.Attributes] returns
// one.
type Attributes struct {
	room [cellSize - cellText]byte
	n    int
	cut  bool // an attribute did not fit
}

// Text appends an attribute with a text.
func (a *Attributes) Text(key, value string) {
	switch {
	case !a.begin(key):
	case plain(value):
		appendTo(a, value)
	default:
		var room [4 * cellSize]byte
		appendTo(a, strconv.AppendQuote(room[:0], clip(value, cellSize)))
	}
}

// Int appends an attribute with an integer.
func (a *Attributes) Int(key string, value int64) {
	if a.begin(key) {
		var room [20]byte
		appendTo(a, strconv.AppendInt(room[:0], value, 10))
	}
}

// Uint appends an attribute with a positive integer.
func (a *Attributes) Uint(key string, value uint64) {
	if a.begin(key) {
		var room [20]byte
		appendTo(a, strconv.AppendUint(room[:0], value, 10))
	}
}

// Float appends an attribute with a number.
func (a *Attributes) Float(key string, value float64) {
	if a.begin(key) {
		var room [32]byte
		appendTo(a, strconv.AppendFloat(room[:0], value, 'g', -1, 64))
	}
}

// Bool appends an attribute that is true or false.
func (a *Attributes) Bool(key string, value bool) {
	if a.begin(key) {
		appendTo(a, strconv.FormatBool(value))
	}
}

// Attr appends a frozen attribute. Lists and maps are left out.
func (a *Attributes) Attr(attr slog.Attr) {
	switch v := attr.Value; v.Kind() {
	case slog.KindString:
		a.Text(attr.Key, v.String())
	case slog.KindInt64:
		a.Int(attr.Key, v.Int64())
	case slog.KindUint64:
		a.Uint(attr.Key, v.Uint64())
	case slog.KindFloat64:
		a.Float(attr.Key, v.Float64())
	case slog.KindBool:
		a.Bool(attr.Key, v.Bool())
	case slog.KindDuration:
		a.Text(attr.Key, v.Duration().String())
	case slog.KindTime:
		a.Text(attr.Key, v.Time().Format(time.RFC3339Nano))
	default:
		a.Skip()
	}
}

// Skip notes that an attribute is left out.
func (a *Attributes) Skip() { a.cut = true }

// begin appends the key of an attribute. begin returns false if there is no room for a value, or if
// the reader could not tell where the key ends.
func (a *Attributes) begin(key string) bool {
	if len(key)+3 > len(a.room)-a.n || strings.IndexByte(key, '=') >= 0 {
		a.cut = true
		return false
	}
	if a.n > 0 {
		appendTo(a, " ")
	}
	appendTo(a, key)
	appendTo(a, "=")
	return true
}

// appendTo appends as much of a value as fits.
func appendTo[T string | []byte](a *Attributes, value T) {
	fits := clip(value, len(a.room)-a.n)
	a.cut = a.cut || len(fits) < len(value)
	a.n += copy(a.room[a.n:], fits)
}

// plain reports whether a text needs no quotes. A text that looks like a number or like true and
// false has quotes, so that the reader can tell them apart.
func plain(value string) bool {
	if value == "" || value == "true" || value == "false" || value[0] <= '9' {
		return false
	}
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c == '"' || c == '=' || c >= utf8.RuneSelf || c == 0x7f {
			return false
		}
	}
	return true
}

// clip returns the beginning of a text that fits into n bytes, and ends with a whole character.
func clip[T string | []byte](s T, n int) T {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
