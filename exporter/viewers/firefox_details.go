package viewers

import (
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/perfline/perfline/profiling/sessions"
)

// maxFields is how many keys of details a type of marker shows.
const maxFields = 100

// A schema is what a Firefox file says of a type's markers, beside what they all have.
type schema struct {
	formats map[string]string // by key of the payload, as its first value had it; at most maxFields
	fields  []string          // the keys, as they came
}

// reserved are keys of payloads that are ours, and those that the Firefox Profiler reads whatever
// the type says.
var reserved = map[string]bool{
	"type": true, "trace": true, "span": true, "self": true, "overhead": true,
	"cause": true, "stack": true, "innerWindowID": true, "threadId": true, "__proto__": true,
}

// Formats of values. The Firefox Profiler leaves texts of this kind out of profiles that are
// shared without personal data.
const (
	formatText     = "sanitized-string"
	formatInteger  = "integer"
	formatDecimal  = "decimal"
	formatDuration = "duration"
)

// details are the attributes of an event, flat. The last value of a repeated key counts.
type details []detail

type detail struct {
	key   string
	value slog.Value
}

func (d details) with(prefix string, attrs []slog.Attr) details {
	for _, a := range attrs {
		key, v := prefix+a.Key, a.Value
		if v.Kind() == slog.KindGroup {
			if a.Key != "" { // slog: the attributes of an unnamed group are inlined
				key += "."
			}
			d = d.with(key, v.Group())
			continue
		}
		if a.Key == "" {
			continue
		}
		if reserved[key] {
			key = "attr." + key
		}
		d = d.set(cut(key), v)
	}
	return d
}

// set is linear: details are few.
func (d details) set(key string, v slog.Value) details {
	for i := range d {
		if d[i].key == key {
			d[i].value = v
			return d
		}
	}
	return append(d, detail{key, v})
}

// appendPayload appends an event's payload; ids are members with the ids of its timeline.
func (f *firefox) appendPayload(b []byte, e sessions.Event, ids []byte) []byte {
	t := markerType(e.Type)
	b = append(append(append(b, `{"type":"`...), markerTypes[t].name...), '"')
	b = append(b, ids...)
	if e.ChildCount > 0 {
		b = appendMillis(append(b, `,"self":`...), e.Time)
	}
	if e.Overhead > 0 {
		b = appendMillis(append(b, `,"overhead":`...), e.Overhead)
	}
	f.details = f.details[:0].with("", e.Detail)
	for _, d := range f.details {
		b = f.schemas[t].append(b, d)
	}
	return append(b, '}')
}

// append appends a member. A field has one format, so that values of another are a field of their own.
func (s *schema) append(b []byte, d detail) []byte {
	format := formatOf(d.value)
	key := d.key
	if known := s.field(key, format); known != format && known != "" {
		key += " (" + formatName(format) + ")"
		s.field(key, format)
	}
	b = append(appendText(append(b, ','), key), ':')
	return appendValue(b, d.value, format)
}

// field is the format of a key, which is the one given if it is new; it is empty if there are too many.
func (s *schema) field(key, format string) string {
	if known := s.formats[key]; known != "" {
		return known
	}
	if len(s.fields) >= maxFields {
		return ""
	}
	if s.formats == nil {
		s.formats = map[string]string{}
	}
	s.formats[key] = format
	s.fields = append(s.fields, key)
	return format
}

func formatName(format string) string {
	if format == formatText {
		return "text"
	}
	return format
}

// exact is the largest integer below which JavaScript knows all of them.
const exact = 1 << 53

func formatOf(v slog.Value) string {
	switch v.Kind() {
	case slog.KindInt64:
		if n := v.Int64(); -exact <= n && n <= exact {
			return formatInteger
		}
	case slog.KindUint64:
		if v.Uint64() <= exact {
			return formatInteger
		}
	case slog.KindFloat64:
		if x := v.Float64(); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return formatDecimal
		}
	case slog.KindDuration:
		return formatDuration
	default:
	}
	return formatText
}

func appendValue(b []byte, v slog.Value, format string) []byte {
	switch format {
	case formatInteger:
		if v.Kind() == slog.KindUint64 {
			return strconv.AppendUint(b, v.Uint64(), 10)
		}
		return strconv.AppendInt(b, v.Int64(), 10)
	case formatDecimal:
		return strconv.AppendFloat(b, v.Float64(), 'g', -1, 64)
	case formatDuration:
		return appendMillis(b, v.Duration())
	}
	switch v.Kind() {
	case slog.KindString:
		return appendText(b, v.String())
	case slog.KindTime:
		return appendText(b, v.Time().UTC().Format(time.RFC3339Nano))
	default:
		return appendText(b, v.String())
	}
}

// schema writes the schema of a type of markers.
func (f *firefox) schema(t int) {
	m := markerTypes[t]
	f.raw("\n" + `{"name":"` + m.name + `","display":["marker-chart","marker-table","timeline-overview"]`)
	if !m.instant {
		f.raw(`,"isStackBased":true`)
	}
	f.raw(`,"tooltipLabel":"` + m.name + `: {marker.name}","fields":[{"key":"trace","label":"trace id","format":"string"},{"key":"span","label":"span id","format":"string"},` +
		`{"key":"self","label":"self time","format":"duration"},{"key":"overhead","label":"profiling overhead","format":"duration"}`)
	for _, key := range f.schemas[t].fields {
		f.raw(`,{"key":`)
		f.text(key)
		f.raw(`,"format":"` + f.schemas[t].formats[key] + `"}`)
	}
	f.raw("]}")
}
