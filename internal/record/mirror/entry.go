package mirror

import (
	"bytes"
	"log/slog"
	"math"
	"strconv"
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

// Attributes are the encoded attributes of a header or an entry. [Slot.Attributes] returns one.
//
// An attribute is its type, the length of its key, the key, and the value. A text begins with its
// length, and other values have eight bytes.
type Attributes struct {
	room [cellSize - cellText]byte
	n    int
	cut  bool // an attribute did not fit
}

// The types of attributes.
const (
	isText byte = iota + 1
	isInt
	isFloat
	isBool

	maxText = 1<<8 - 1
)

// Text appends an attribute with a text.
func (a *Attributes) Text(key, value string) {
	if !a.begin(isText, key, min(len(value), 8)+1) {
		return
	}
	fits := clip(value, min(maxText, len(a.room)-a.n-1))
	a.cut = a.cut || len(fits) < len(value)
	a.room[a.n] = byte(len(fits))
	a.n += 1 + copy(a.room[a.n+1:], fits)
}

// Int appends an attribute with an integer.
func (a *Attributes) Int(key string, value int64) {
	a.word(isInt, key, uint64(value)) //nolint:gosec // bits
}

// Float appends an attribute with a number.
func (a *Attributes) Float(key string, value float64) {
	a.word(isFloat, key, math.Float64bits(value))
}

// Bool appends an attribute that is true or false.
func (a *Attributes) Bool(key string, value bool) {
	n := uint64(0)
	if value {
		n = 1
	}
	a.word(isBool, key, n)
}

// Attr appends a frozen attribute, with the type that OpenTelemetry gets. Lists are left out.
func (a *Attributes) Attr(attr slog.Attr) {
	switch v := attr.Value; v.Kind() {
	case slog.KindString:
		a.Text(attr.Key, v.String())
	case slog.KindInt64:
		a.Int(attr.Key, v.Int64())
	case slog.KindUint64:
		if u := v.Uint64(); u <= math.MaxInt64 {
			a.Int(attr.Key, int64(u))
		} else {
			a.Text(attr.Key, strconv.FormatUint(u, 10))
		}
	case slog.KindFloat64:
		a.Float(attr.Key, v.Float64())
	case slog.KindBool:
		a.Bool(attr.Key, v.Bool())
	case slog.KindDuration:
		a.Int(attr.Key, int64(v.Duration()))
	case slog.KindTime:
		a.Int(attr.Key, v.Time().UnixNano())
	default:
		a.Skip()
	}
}

// Skip notes that an attribute is left out.
func (a *Attributes) Skip() { a.cut = true }

// begin appends the type and the key of an attribute. begin returns false if there is no room for
// them and size bytes of the value.
func (a *Attributes) begin(kind byte, key string, size int) bool {
	if len(key) > maxText || 2+len(key)+size > len(a.room)-a.n {
		a.cut = true
		return false
	}
	a.room[a.n], a.room[a.n+1] = kind, byte(len(key))
	a.n += 2 + copy(a.room[a.n+2:], key)
	return true
}

func (a *Attributes) word(kind byte, key string, value uint64) {
	if a.begin(kind, key, 8) {
		order.PutUint64(a.room[a.n:], value)
		a.n += 8
	}
}

// An Attribute is an attribute in the memory. All texts are valid UTF-8.
type Attribute struct {
	Key   string
	Value any // a string, int64, float64 or bool
}

// attributesIn returns encoded attributes. The last one may be cut: a text is shorter then, and
// another value is left out. Any bytes are allowed.
func attributesIn(b []byte) (all []Attribute) {
	for len(b) >= 2 && len(b) > 2+int(b[1]) {
		kind, end := b[0], 2+int(b[1])
		a := Attribute{Key: valid(b[2:end])}
		b = b[end:]
		switch {
		case kind == isText:
			n := min(1+int(b[0]), len(b))
			text := b[1:n]
			if n < 1+int(b[0]) {
				text = bytes.TrimRightFunc(text, func(r rune) bool { return r == utf8.RuneError })
			}
			a.Value, b = valid(text), b[n:]
		case len(b) < 8:
			return all
		default:
			n := order.Uint64(b)
			b = b[8:]
			switch kind {
			case isInt:
				a.Value = int64(n) //nolint:gosec // bits
			case isFloat:
				a.Value = math.Float64frombits(n)
			case isBool:
				a.Value = n != 0
			default: // no attribute
				return all
			}
		}
		all = append(all, a)
	}
	return all
}

// clip returns the beginning of a text that fits into n bytes, and ends with a whole character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
