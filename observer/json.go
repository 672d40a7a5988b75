package observer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entryJSON is an entry as the specification's serializer writes it.
type entryJSON struct {
	Name      *string         `json:"name"`
	Type      Type            `json:"entryType"`
	StartTime *float64        `json:"startTime"`
	Duration  *float64        `json:"duration"`
	Detail    json.RawMessage `json:"detail"`
}

// MarshalJSON encodes the entry as the specification's serializer does: name,
// entryType, startTime and duration in milliseconds, and detail. The detail is null
// without attributes, else an object of them in their order, with groups nested.
// Of attributes with the same key the last counts. A []byte is a string in base64,
// as in the JSON of OTLP. Numbers and times that JSON cannot hold (NaN, the year
// 10000) are strings.
func (e Entry) MarshalJSON() ([]byte, error) {
	start, duration := Milliseconds(e.StartTime()), Milliseconds(e.duration)
	detail := []byte("null")
	if o := members(nil, e.attrs); len(o) > 0 {
		var err error
		if detail, err = o.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(entryJSON{&e.name, e.Type(), &start, &duration, detail})
}

// UnmarshalJSON decodes what MarshalJSON wrote. The timeline of the times is not
// known: the entry's Timeline is nil and its Time is zero.
// [Timeline.Queue] takes its StartTime as one of its own. Numbers of the detail
// become int64, uint64 or float64 attributes, and objects groups, 16 deep; empty ones
// are left out. Lists of strings, booleans or numbers become []string, []bool,
// []int64 or []float64. Values that JSON had to write as a string or as a number of
// milliseconds stay strings or numbers. Every other value (null, deeper objects, mixed lists)
// becomes its JSON text.
//
// A missing name or time, a type that is not supported, a start or an end outside
// ±[MaxTime] and a detail that is no object are errors.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var j entryJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("observer: entry: %w", err)
	}
	for _, member := range []struct {
		name  string
		there bool
	}{{"name", j.Name != nil}, {"startTime", j.StartTime != nil}, {"duration", j.Duration != nil}} {
		if !member.there {
			return fmt.Errorf("observer: entry %.80s: %s is missing: name, entryType, startTime and duration must all be there", data, member.name)
		}
	}
	k, ok := kindOf(j.Type)
	if !ok {
		return fmt.Errorf("observer: entry %q: entryType %q is not supported; supported are %q", *j.Name, j.Type, SupportedEntryTypes())
	}
	start, err := FromMilliseconds(*j.StartTime)
	if err != nil {
		return fmt.Errorf("observer: entry %q: startTime: %w", *j.Name, err)
	}
	duration, err := FromMilliseconds(*j.Duration)
	if err != nil {
		return fmt.Errorf("observer: entry %q: duration: %w", *j.Name, err)
	}
	if s, d := interval(0, start, duration); s != start || d != duration {
		return fmt.Errorf("observer: entry %q at %v for %v: must start and end within 146 years of the origin", *j.Name, start, duration)
	}
	var attrs []slog.Attr
	if len(j.Detail) > 0 && string(j.Detail) != "null" {
		if attrs, err = parseGroup(j.Detail, 0); err != nil {
			return fmt.Errorf("observer: entry %q: detail: %w", *j.Name, err)
		}
	}
	*e = Entry{name: *j.Name, start: start, duration: duration, attrs: attrs, kind: k}
	return nil
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

// parseGroup turns a JSON object into attributes, in its order.
func parseGroup(data []byte, depth int) ([]slog.Attr, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("%.40s: must be an object or null", data)
	}
	var attrs []slog.Attr
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		name, _ := key.(string) // what stands before a value in an object
		value, err := parseValue(raw, name != "" && depth < maxDepth, depth)
		if err != nil {
			return nil, err
		}
		if value.Kind() == slog.KindGroup && len(value.Group()) == 0 {
			continue
		}
		attrs = append(attrs, slog.Attr{Key: name, Value: value})
	}
	return attrs, nil
}

// parseValue makes an object a group if it may. An object without a name would be lost
// among its neighbours. The bound keeps hostile input as cheap as it is long.
func parseValue(raw json.RawMessage, groups bool, depth int) (slog.Value, error) {
	switch raw[0] {
	case '{':
		if !groups {
			break
		}
		group, err := parseGroup(raw, depth+1)
		return slog.GroupValue(group...), err
	case '[':
		if list := parseList(raw); list != nil {
			return slog.AnyValue(list), nil
		}
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return slog.StringValue(s), err
	case 't', 'f':
		return slog.BoolValue(raw[0] == 't'), nil
	case 'n':
	default:
		return number(string(raw)), nil
	}
	return slog.StringValue(strings.ToValidUTF8(string(raw), "\uFFFD")), nil
}

// parseList returns a list of one kind that attributes can have, or nil. An empty one
// is a []string.
func parseList(raw json.RawMessage) any {
	var elements []any // in the other lists json would make zeros of nulls
	if err := json.Unmarshal(raw, &elements); err != nil || slices.Contains(elements, nil) {
		return nil
	}
	for _, parse := range []func([]byte) any{listOf[string], listOf[bool], listOf[int64], listOf[float64]} {
		if list := parse(raw); list != nil {
			return list
		}
	}
	return nil
}

func listOf[T any](raw []byte) any {
	var list []T
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil
	}
	return list
}

// number keeps what int64, uint64 or float64 cannot hold as it was written.
func number(text string) slog.Value {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		return slog.Int64Value(i)
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return slog.Uint64Value(u)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return slog.Float64Value(f)
	}
	return slog.StringValue(text)
}
