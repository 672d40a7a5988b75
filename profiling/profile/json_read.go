package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/perfline/perfline/observer"
)

// ReadJSON reads a trace that [Trace.WriteJSON] or a browser wrote, up to the end of
// r. Members may come in any order, those it does not know are ignored, and null
// is the same as no member. Anything that breaks one of these rules is an error that says where:
//
//   - Resources, frames, stacks, samples and their members that are not optional are there. A line,
//     resource or column that the specification calls required may be missing, as newer texts have it.
//   - Ids are in range, and parents stand before their children.
//   - Stacks have at most 2 048 frames.
//   - No two resources, frames or stacks are equal.
//   - Samples are in the order of time.
//
// JSON has no place for contexts, lines, weights, the interval and the origin:
// these are empty, and each sample's Count is 1. Memory is proportional to the
// input: bound the input of strangers (net/http.MaxBytesReader).
func ReadJSON(r io.Reader) (*Trace, error) {
	d := json.NewDecoder(r)
	t := &Trace{}
	if err := t.read(d); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("profile: %w", err)
	}
	for _, member := range []struct {
		name  string
		there bool
	}{{"resources", t.Resources != nil}, {"frames", t.Frames != nil}, {"stacks", t.Stacks != nil}, {"samples", t.Samples != nil}} {
		if !member.there {
			return nil, fmt.Errorf("profile: %s is missing: resources, frames, stacks and samples must all be there", member.name)
		}
	}
	// Ids may point to lists that come later: they are checked after the last list.
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.checkDepth(); err != nil {
		return nil, err
	}
	if err := t.checkUnique(); err != nil {
		return nil, err
	}
	return t, nil
}

// UnmarshalJSON decodes as [ReadJSON] does.
func (t *Trace) UnmarshalJSON(data []byte) error {
	read, err := ReadJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	*t = *read
	return nil
}

func (t *Trace) read(d *json.Decoder) error {
	if open, err := d.Token(); err != nil {
		return err
	} else if open != json.Delim('{') {
		return fmt.Errorf("%s: must be an object", tokenText(open))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch name, _ := token.(string); name {
		case "resources":
			t.Resources, err = readList(d, name, readResource)
		case "frames":
			t.Frames, err = readList(d, name, readFrame)
		case "stacks":
			t.Stacks, err = readList(d, name, readStack)
		case "samples":
			t.Samples, err = readList(d, name, readSample)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return err
	}
	if rest, err := d.Token(); err == nil {
		return fmt.Errorf("%s after its end: must be the only value", tokenText(rest))
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("after its end: %w", err)
	}
	return nil
}

func readList[T any](d *json.Decoder, name string, element func(*json.Decoder) (T, error)) ([]T, error) {
	if open, err := d.Token(); err != nil {
		return nil, err
	} else if open != json.Delim('[') {
		return nil, fmt.Errorf("%s is %s: must be an array", name, tokenText(open))
	}
	list := []T{}
	for d.More() {
		v, err := element(d)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, len(list), err)
		}
		list = append(list, v)
	}
	_, err := d.Token() // the closing bracket
	return list, err
}

func readResource(d *json.Decoder) (string, error) {
	var r *string
	if err := d.Decode(&r); err != nil {
		return "", err
	}
	if r == nil {
		return "", errors.New("null: must be a string")
	}
	return *r, nil
}

func readFrame(d *json.Decoder) (Frame, error) {
	var j struct {
		Name       *string `json:"name"`
		ResourceID *int    `json:"resourceId"`
		Line       int     `json:"line"`
		Column     int     `json:"column"`
	}
	if err := d.Decode(&j); err != nil {
		return Frame{}, err
	}
	if j.Name == nil {
		return Frame{}, errors.New("name is missing")
	}
	resource, err := optionalID("resourceId", j.ResourceID)
	return Frame{Name: *j.Name, ResourceID: resource, Line: j.Line, Column: j.Column}, err
}

func readStack(d *json.Decoder) (Stack, error) {
	var j struct {
		FrameID  *int `json:"frameId"`
		ParentID *int `json:"parentId"`
	}
	if err := d.Decode(&j); err != nil {
		return Stack{}, err
	}
	if j.FrameID == nil {
		return Stack{}, errors.New("frameId is missing")
	}
	parent, err := optionalID("parentId", j.ParentID)
	return Stack{FrameID: *j.FrameID, ParentID: parent}, err
}

func readSample(d *json.Decoder) (Sample, error) {
	var j struct {
		Timestamp *float64 `json:"timestamp"`
		StackID   *int     `json:"stackId"`
	}
	if err := d.Decode(&j); err != nil {
		return Sample{}, err
	}
	if j.Timestamp == nil {
		return Sample{}, errors.New("timestamp is missing")
	}
	at, err := observer.FromMilliseconds(*j.Timestamp)
	if err != nil {
		return Sample{}, err
	}
	stack, err := optionalID("stackId", j.StackID)
	return Sample{Timestamp: at, StackID: stack, ContextID: None, Count: 1}, err
}

// optionalID is an id or None. The number that None has stands for nothing in JSON.
func optionalID(name string, id *int) (int, error) {
	switch {
	case id == nil:
		return None, nil
	case *id < 0:
		return None, fmt.Errorf("%s %d: must not be negative", name, *id)
	default:
		return *id, nil
	}
}

// tokenText is a token as an error names it.
func tokenText(token json.Token) string {
	if token == nil {
		return "null"
	}
	return fmt.Sprintf("%.80v", token)
}
