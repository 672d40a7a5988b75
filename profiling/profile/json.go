package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/perfline/perfline/observer"
)

// WriteJSON writes the trace exactly as JS Self-Profiling has it: resources, frames, stacks and
// samples, times in milliseconds, and no member for what there is none of. Times up to 26 days can
// be read back to the nanosecond (2^51 ns: to milliseconds and back are two roundings of a
// float64). It needs a buffer's memory, however long the trace is. A trace whose ids or order are
// wrong is an error, and nothing is written then.
func (t *Trace) WriteJSON(w io.Writer) error {
	if err := t.check(); err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if err := writeList(b, `{"resources":[`, t.Resources, appendResource); err != nil {
		return err
	}
	if err := writeList(b, `],"frames":[`, t.Frames, appendFrame); err != nil {
		return err
	}
	if err := writeList(b, `],"stacks":[`, t.Stacks, appendStack); err != nil {
		return err
	}
	if err := writeList(b, `],"samples":[`, t.Samples, appendSample); err != nil {
		return err
	}
	if _, err := b.WriteString("]}"); err != nil {
		return err
	}
	return b.Flush()
}

// MarshalJSON encodes as [Trace.WriteJSON] does, which is to be preferred for a
// trace of many samples.
func (t Trace) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := t.WriteJSON(&b)
	return b.Bytes(), err
}

func writeList[T any](b *bufio.Writer, open string, list []T,
	element func([]byte, *T) []byte) error {
	if _, err := b.WriteString(open); err != nil {
		return err
	}
	for i := range list {
		text := b.AvailableBuffer()
		if i > 0 {
			text = append(text, ',')
		}
		if _, err := b.Write(element(text, &list[i])); err != nil {
			return err
		}
	}
	return nil
}

func appendResource(b []byte, r *string) []byte { return appendText(b, *r) }

func appendFrame(b []byte, f *Frame) []byte {
	b = appendText(append(b, `{"name":`...), f.Name)
	if f.ResourceID != None {
		b = appendMember(b, `,"resourceId":`, f.ResourceID)
	}
	if f.Line > 0 {
		b = appendMember(b, `,"line":`, f.Line)
	}
	if f.Column > 0 {
		b = appendMember(b, `,"column":`, f.Column)
	}
	return append(b, '}')
}

func appendStack(b []byte, s *Stack) []byte {
	b = appendMember(b, `{"frameId":`, s.FrameID)
	if s.ParentID != None {
		b = appendMember(b, `,"parentId":`, s.ParentID)
	}
	return append(b, '}')
}

func appendSample(b []byte, s *Sample) []byte {
	b = append(b, `{"timestamp":`...)
	b = strconv.AppendFloat(b, observer.Milliseconds(s.Timestamp), 'f', -1, 64)
	if s.StackID != None {
		b = appendMember(b, `,"stackId":`, s.StackID)
	}
	return append(b, '}')
}

func appendMember(b []byte, name string, n int) []byte {
	return strconv.AppendInt(append(b, name...), int64(n), 10)
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is no string that it refuses
	}
	return append(b, text...)
}
