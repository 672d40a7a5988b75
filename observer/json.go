package observer

import (
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// MarshalJSON encodes the entry as a JSON object, like toJSON() of the specification. The members
// are name, entryType, startTime, duration and detail. Times are in milliseconds. The attributes
// become the object detail:
//
//   - An entry without attributes encodes detail as null.
//   - A group becomes a nested object.
//   - If several attributes share a key, the last attribute replaces the earlier attributes.
//   - A []byte becomes a string in base64, as in the JSON of OTLP.
//   - A number or time that JSON cannot express becomes a string. Examples are NaN and the year
//     10000.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string         `json:"name"`
		Type      Type           `json:"entryType"`
		StartTime float64        `json:"startTime"`
		Duration  float64        `json:"duration"`
		Detail    map[string]any `json:"detail"`
	}{e.Name(), e.Type(), record.Milliseconds(e.StartTime()), record.Milliseconds(e.Duration()),
		members(nil, e.Detail())})
}

// MarshalJSON encodes the timeline as a JSON object (High Resolution Time, toJSON()). The only
// member is timeOrigin, the time origin in milliseconds.
func (t *Timeline) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		TimeOrigin float64 `json:"timeOrigin"`
	}{float64(t.Origin().UnixNano()) / float64(time.Millisecond)})
}

// members adds frozen attributes to a JSON object. A nil object is created for the first attribute.
func members(object map[string]any, attrs []slog.Attr) map[string]any {
	for _, a := range attrs {
		// slog inlines the attributes of an unnamed group
		if a.Value.Kind() == slog.KindGroup && a.Key == "" {
			object = members(object, a.Value.Group())
			continue
		}
		if object == nil {
			object = map[string]any{}
		}
		object[a.Key] = jsonValue(a.Value)
	}
	return object
}

// jsonValue returns the JSON value of a frozen value. A number or a time that JSON cannot express
// becomes a string: an error would lose the entry.
func jsonValue(v slog.Value) any {
	switch v.Kind() {
	case slog.KindGroup:
		return members(nil, v.Group())
	case slog.KindDuration:
		return record.Milliseconds(v.Duration())
	case slog.KindFloat64:
		return jsonNumber(v.Float64())
	case slog.KindTime:
		text, err := v.Time().MarshalJSON()
		if err != nil {
			return v.String()
		}
		return json.RawMessage(text)
	case slog.KindAny:
		if list, ok := v.Any().([]float64); ok {
			numbers := make([]any, len(list))
			for i, f := range list {
				numbers[i] = jsonNumber(f)
			}
			return numbers
		}
	default:
	}
	return v.Any()
}

func jsonNumber(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}
