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

// A schema is what a Firefox file says of a type's markers.
type schema struct {
	formats map[string]string // by key of the payload, as its first value had it; at most maxFields
	fields  []field           // of these keys, as they came
}

type field struct {
	Key    string `json:"key"`
	Label  string `json:"label,omitempty"`
	Format string `json:"format"`
}

// commonFields are fields of all types.
var commonFields = []field{
	{"trace", "trace id", "string"}, {"span", "span id", "string"},
	{"self", "self time", formatDuration}, {"overhead", "profiling overhead", formatDuration},
}

// maxFields is how many keys of details a type of marker shows.
const maxFields = 100

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

// appendFlat appends the members of groups in place of the groups. The last value of a repeated key
// counts. It is linear: details are few.
func appendFlat(flat []slog.Attr, prefix string, attrs []slog.Attr) []slog.Attr {
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindGroup { // groups without a name are inlined in sessions
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

// appendPayload appends an event's payload.
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

// key is the key of a value. A field has one format, so that values of another are a field of their
// own.
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

// exact is the largest integer below which JavaScript knows all of them.
const exact = 1 << 53

// appendValue appends a value, and returns its format.
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

// markerSchema is what the file says of the types of markers.
func (f *firefox) markerSchema() (all []object) {
	for i, m := range markerTypes {
		if m.name == "" {
			continue
		}
		all = append(all, object{
			"name": m.name, "display": []string{"marker-chart", "marker-table",
				"timeline-overview"}, "tooltipLabel": m.name + ": {marker.name}",
			"isStackBased": m.phase == phaseInterval,
			"fields":       slices.Concat(commonFields, f.schemas[i].fields),
		})
	}
	if len(f.traced) > 0 {
		all = append(all, stateSchema()...)
	}
	return all
}
