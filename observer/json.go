package observer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
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
// entryType, startTime and duration in milliseconds, and detail, which is null
// without attributes and else an object of them in their order, groups nested.
// Of attributes with the same key the last counts.
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

// UnmarshalJSON decodes what MarshalJSON wrote. The times are those of a
// timeline that is not known: the entry's Timeline is nil and its Time is zero;
// [Timeline.Queue] takes its StartTime as one of its own. Numbers of the detail
// become int64, uint64 or float64 attributes, objects groups; what else JSON had
// to write as a string or as a number of milliseconds stays that.
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

// members appends attributes to o.
func members(o object, attrs []slog.Attr) object {
	for _, a := range attrs {
		v := a.Value.Resolve()
		switch v.Kind() {
		case slog.KindGroup:
			if a.Key == "" { // slog: the attributes of an unnamed group are inlined
				o = members(o, v.Group())
				continue
			}
			o = o.set(a.Key, members(nil, v.Group()))
		case slog.KindDuration:
			o = o.set(a.Key, Milliseconds(v.Duration()))
		default:
			o = o.set(a.Key, jsonValue(v.Any()))
		}
	}
	return o
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

// maxGroups is how deep objects become groups; deeper ones are values of their
// own, so that hostile input costs no more than it is long.
const maxGroups = 16

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
		value, err := parseValue(raw, name != "" && depth < maxGroups, depth)
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, slog.Attr{Key: name, Value: value})
	}
	return attrs, nil
}

// parseValue makes an object a group if it may: one without a name would be lost
// among its neighbours.
func parseValue(raw json.RawMessage, groups bool, depth int) (slog.Value, error) {
	if raw[0] == '{' && groups {
		group, err := parseGroup(raw, depth+1)
		return slog.GroupValue(group...), err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return slog.Value{}, err
	}
	if n, ok := v.(json.Number); ok {
		return number(n), nil
	}
	return slog.AnyValue(v), nil // a string, a bool, null, a list or a deep object
}

// number keeps what int64, uint64 or float64 cannot hold as it was written.
func number(n json.Number) slog.Value {
	text := n.String()
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		return slog.Int64Value(i)
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return slog.Uint64Value(u)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return slog.Float64Value(f)
	}
	return slog.AnyValue(n)
}

// jsonValue is v where JSON can hold it and its text elsewhere, so that one odd
// attribute never costs the whole entry.
func jsonValue(v any) any {
	if err, ok := v.(error); ok {
		return fmt.Sprintf("%v", err) // which survives a method that panics
	}
	if !marshals(v) {
		return fmt.Sprintf("%+v", v)
	}
	return v
}

// marshals reports whether encoding/json can write v.
func marshals(v any) (ok bool) {
	defer func() {
		if recover() != nil { // in a MarshalJSON of the caller's
			ok = false
		}
	}()
	_, err := json.Marshal(v)
	return err == nil
}
