package viewers

import (
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/profiling/sessions"
)

// A schema describes a type of markers in a Firefox file.
type schema struct {
	formats map[string]string // of the first value, by key of the payload; at most maxFields
	fields  []field           // of these keys, in the order of their first values
}

type field struct {
	Key    string `json:"key"`
	Label  string `json:"label,omitempty"`
	Format string `json:"format"`
}

var commonFields = []field{
	{"trace", "trace id", "string"}, {"span", "span id", "string"},
	{"self", "self time", formatDuration}, {"overhead", "profiling overhead", formatDuration},
}

// markerDisplay lists the panels that show markers.
var markerDisplay = []string{"marker-chart", "marker-table", "timeline-overview"}

// maxFields bounds the keys of details that a type of marker shows.
const maxFields = 100

// reserved are the keys of our own members, and keys that the Firefox Profiler reads in all types.
var reserved = map[string]bool{
	"type": true, "trace": true, "span": true, "self": true, "overhead": true,
	"cause": true, "stack": true, "innerWindowID": true, "threadId": true, "__proto__": true,
}

// Formats of values. The Firefox Profiler removes sanitized strings from profiles that are shared
// without personal data.
const (
	formatText     = "sanitized-string"
	formatInteger  = "integer"
	formatDecimal  = "decimal"
	formatDuration = "duration"
)

// appendFlat appends attributes with the members of groups in place of the groups. The last value
// of a repeated key counts.
func appendFlat(flat []slog.Attr, prefix string, attrs []slog.Attr) []slog.Attr {
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindGroup { // sessions inline groups without a name
			flat = appendFlat(flat, prefix+a.Key+".", a.Value.Group())
			continue
		}
		if a.Key == "" {
			continue
		}
		a.Key = prefix + a.Key
		if reserved[a.Key] {
			a.Key = "attr." + a.Key
		}
		a.Key = cut(a.Key)
		if i := slices.IndexFunc(flat, func(b slog.Attr) bool { return b.Key == a.Key }); i >= 0 {
			flat[i] = a
		} else {
			flat = append(flat, a)
		}
	}
	return flat
}

func (f *firefox) appendPayload(b []byte, e sessions.Event) []byte {
	b = append(append(append(b, `{"type":"`...), markerTypes[e.Type].name...), '"')
	b = append(b, f.ids...)
	if e.ChildCount > 0 {
		b = appendMillis(append(b, `,"self":`...), e.Time)
	}
	if e.Overhead > 0 {
		b = appendMillis(append(b, `,"overhead":`...), e.Overhead)
	}
	f.details = appendFlat(f.details[:0], "", e.Detail)
	for _, a := range f.details {
		var format string
		f.value, format = appendValue(f.value[:0], a.Value)
		b = append(appendText(append(b, ','), f.schemas[e.Type].key(a.Key, format)), ':')
		b = append(b, f.value...)
	}
	return append(b, '}')
}

// key returns the key of a value in the file. A field has one format, so values of another format
// get a field of their own.
func (s *schema) key(key, format string) string {
	if known := s.formats[key]; known != "" && known != format {
		key += " (" + strings.Replace(format, formatText, "text", 1) + ")"
	}
	if s.formats[key] == "" && len(s.fields) < maxFields {
		if s.formats == nil {
			s.formats = map[string]string{}
		}
		s.formats[key] = format
		s.fields = append(s.fields, field{Key: key, Format: format})
	}
	return key
}

// exact bounds the integers that JavaScript represents exactly.
const exact = 1 << 53

// appendValue appends a value and returns its format.
func appendValue(b []byte, v slog.Value) (_ []byte, format string) {
	switch v.Kind() {
	case slog.KindInt64:
		if n := v.Int64(); -exact <= n && n <= exact {
			return strconv.AppendInt(b, n, 10), formatInteger
		}
	case slog.KindUint64:
		if n := v.Uint64(); n <= exact {
			return strconv.AppendUint(b, n, 10), formatInteger
		}
	case slog.KindFloat64:
		if x := v.Float64(); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return strconv.AppendFloat(b, x, 'g', -1, 64), formatDecimal
		}
	case slog.KindDuration:
		return appendMillis(b, v.Duration()), formatDuration
	case slog.KindTime:
		return appendText(b, v.Time().UTC().Format(time.RFC3339Nano)), formatText
	default:
	}
	return appendText(b, v.String()), formatText
}

// markerSchema describes the types of markers.
func (f *firefox) markerSchema() (all []object) {
	for i, m := range markerTypes {
		if m.name == "" {
			continue
		}
		all = append(all, object{
			"name": m.name, "display": markerDisplay, "tooltipLabel": m.name + ": {marker.name}",
			"isStackBased": m.phase == phaseInterval,
			"fields":       slices.Concat(commonFields, f.schemas[i].fields),
		})
	}
	if len(f.results) > 0 {
		all = append(all, stateSchema()...)
	}
	return all
}
