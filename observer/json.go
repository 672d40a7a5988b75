package observer

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// MarshalJSON encodes the entry as the specification's serializer does: name,
// entryType, startTime and duration in milliseconds, and detail. The detail is null
// without attributes, else an object of them in their order, with groups nested.
// Of attributes with the same key the last counts. A []byte is a string in base64,
// as in the JSON of OTLP. Numbers and times that JSON cannot hold (NaN, the year
// 10000) are strings.
func (e Entry) MarshalJSON() ([]byte, error) {
	var detail any // null without attributes
	if o := members(nil, e.attrs); len(o) > 0 {
		detail = o
	}
	return json.Marshal(struct {
		Name      string  `json:"name"`
		Type      Type    `json:"entryType"`
		StartTime float64 `json:"startTime"`
		Duration  float64 `json:"duration"`
		Detail    any     `json:"detail"`
	}{e.name, e.Type(), Milliseconds(e.StartTime()), Milliseconds(e.duration), detail})
}

// MarshalJSON encodes the timeline as High Resolution Time's toJSON does: its
// timeOrigin, in milliseconds since the Unix epoch.
func (t *Timeline) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		TimeOrigin float64 `json:"timeOrigin"`
	}{float64(t.Origin().UnixNano()) / float64(time.Millisecond)})
}

// An object is a JSON object whose members have an order.
type object []member

type member struct {
	key   string
	value any
}

// members appends frozen attributes to o.
func members(o object, attrs []slog.Attr) object {
	for _, a := range attrs {
		switch {
		case a.Value.Kind() != slog.KindGroup:
			o = o.set(a.Key, jsonValue(a.Value))
		case a.Key == "": // slog: the attributes of an unnamed group are inlined
			o = members(o, a.Value.Group())
		default:
			o = o.set(a.Key, members(nil, a.Value.Group()))
		}
	}
	return o
}

// jsonValue returns what JSON shows of a frozen value that is no group. JSON cannot
// hold every number and every time: one such attribute must not cost the entry.
func jsonValue(v slog.Value) any {
	switch v.Kind() {
	case slog.KindDuration:
		return Milliseconds(v.Duration())
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

// set adds a member, or replaces the one of that key. Objects are small.
func (o object) set(key string, value any) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
