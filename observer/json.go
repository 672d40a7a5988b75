package observer

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// MarshalJSON encodes the entry as the specification's serializer does: name,
// entryType, startTime and duration in milliseconds, and detail, which is null
// without attributes and else an object of them, groups nested.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name      string  `json:"name"`
		Type      Type    `json:"entryType"`
		StartTime float64 `json:"startTime"`
		Duration  float64 `json:"duration"`
		Detail    any     `json:"detail"`
	}{e.name, e.Type(), Milliseconds(e.StartTime()), Milliseconds(e.duration), detailJSON(e.attrs)})
}

// detailJSON turns attributes into what encoding/json writes as an object.
func detailJSON(attrs []slog.Attr) any {
	if len(attrs) == 0 {
		return nil
	}
	m := make(map[string]any, len(attrs))
	addJSON(m, attrs)
	return m
}

func addJSON(m map[string]any, attrs []slog.Attr) {
	for _, a := range attrs {
		v := a.Value.Resolve()
		switch v.Kind() {
		case slog.KindGroup:
			if a.Key == "" { // slog: the attributes of an unnamed group are inlined
				addJSON(m, v.Group())
				continue
			}
			m[a.Key] = detailJSON(v.Group())
		case slog.KindDuration:
			m[a.Key] = Milliseconds(v.Duration())
		default:
			m[a.Key] = jsonValue(v.Any())
		}
	}
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
