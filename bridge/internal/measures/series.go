package measures

import (
	"cmp"
	"encoding/binary"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
)

// A table has the attributes of each series, which are made once. Unlike a kinds.Map, it sends
// everything over its bound to one series, and finds a series by a text that is on the caller's
// stack.
type table struct {
	keys     []string // of attributes
	most     int
	beyond   []metric.RecordOption
	overflow atomic.Uint64
	known    atomic.Pointer[map[string][]metric.RecordOption] // the map does not change
	mu       sync.Mutex                                       // held by those who add
}

func (s *table) init(c *Config) {
	s.keys = slices.Clone(c.Attributes)
	s.most = cmp.Or(c.MaxSeries, DefaultSeries) - 1 // one is for the others
	s.beyond = seriesOf(attribute.Bool(OverflowKey, true))
	s.known.Store(&map[string][]metric.RecordOption{})
}

// get returns the attributes of a measure that failed with an error of type failure. An empty type
// means that the measure did not fail.
func (s *table) get(name, failure string, attrs []slog.Attr) []metric.RecordOption {
	var room [256]byte
	id := appendText(appendText(room[:0], name), failure)
	if len(attrs) > 0 {
		for i, key := range s.keys {
			if v, ok := findScalar(attrs, key); ok {
				id = appendScalar(binary.AppendUvarint(id, uint64(i)), v)
			}
		}
	}
	known := *s.known.Load()
	if options, ok := known[string(id)]; ok {
		return options
	}
	if len(known) >= s.most {
		s.overflow.Add(1)
		return s.beyond
	}
	return s.add(string(id), name, failure, attrs)
}

// add adds a series, unless another goroutine has added it or the last one.
func (s *table) add(id, name, failure string, attrs []slog.Attr) []metric.RecordOption {
	set := []attribute.KeyValue{attribute.String(NameKey, limitedText(name))}
	if failure != "" {
		set = append(set, attribute.String(FailureKey, limitedText(failure)))
	}
	for _, key := range s.keys {
		if v, ok := findScalar(attrs, key); ok {
			if v.Kind() == slog.KindString {
				v = slog.StringValue(limitedText(v.String()))
			}
			set = append(set, attribute.KeyValue{Key: attribute.Key(key), Value: otlpenc.Value(v)})
		}
	}
	options := seriesOf(set...)
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *s.known.Load()
	if have, ok := known[id]; ok {
		return have
	}
	if len(known) >= s.most {
		s.overflow.Add(1)
		return s.beyond
	}
	next := maps.Clone(known)
	next[id] = options
	s.known.Store(&next)
	return options
}

// seriesOf returns the options of a series.
func seriesOf(attrs ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}

// findScalar returns the last value of a key if that is a scalar. Keys of members begin with their
// groups' names and dots.
func findScalar(attrs []slog.Attr, key string) (v slog.Value, ok bool) {
	for _, a := range slices.Backward(attrs) {
		if a.Value.Kind() == slog.KindGroup {
			within := key
			if a.Key != "" {
				rest, ok := strings.CutPrefix(key, a.Key)
				if !ok || !strings.HasPrefix(rest, ".") {
					continue
				}
				within = rest[1:]
			}
			if v, ok := findScalar(a.Value.Group(), within); ok {
				return v, true
			}
		} else if a.Key == key {
			return a.Value, a.Value.Kind() != slog.KindAny
		}
	}
	return slog.Value{}, false
}

// maxSeriesText is the length of texts in attributes, in bytes.
const maxSeriesText = 128

// limitedText returns what a series has of a text. The text is cut first: a text that is made valid
// may be shorter, and the result must not depend on more than appendText appends.
func limitedText(s string) string {
	return strings.Clone(text.Cut(text.Valid(text.Cut(s, maxSeriesText)), maxSeriesText))
}

// appendText appends what tells a text from others.
func appendText(id []byte, s string) []byte {
	length := min(len(s), maxSeriesText+1) // of a longer text, all that its value depends on
	return append(binary.AppendUvarint(id, uint64(length)), s[:min(length, maxSeriesText)]...)
}

// appendScalar appends what tells a scalar from others.
func appendScalar(id []byte, v slog.Value) []byte {
	id = append(id, byte(v.Kind()))
	var bits uint64
	switch v.Kind() {
	case slog.KindBool:
		if v.Bool() {
			bits = 1
		}
	case slog.KindInt64:
		bits = uint64(v.Int64())
	case slog.KindUint64:
		bits = v.Uint64()
	case slog.KindFloat64:
		bits = math.Float64bits(v.Float64())
	case slog.KindDuration:
		bits = uint64(v.Duration())
	case slog.KindTime:
		bits = uint64(v.Time().UnixNano())
	default:
		return appendText(id, v.String())
	}
	return binary.LittleEndian.AppendUint64(id, bits)
}
