package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/perfline/perfline/internal/record"
)

// WriteJSON writes the trace as JS Self-Profiling defines: resources, frames, stacks and samples,
// with times in milliseconds. Members without a value are absent. A reader gets times up to 26 days
// back to the nanosecond (2^51 ns: both conversions round a float64). The writer needs a buffer of
// 64 KiB for a trace of any length. A trace with wrong ids or order is an error: WriteJSON writes
// nothing.
func (t *Trace) WriteJSON(w io.Writer) error {
	if err := t.check(); err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	writeList(b, `{"resources":[`, t.Resources, appendResource)
	writeList(b, `],"frames":[`, t.Frames, appendFrame)
	writeList(b, `],"stacks":[`, t.Stacks, appendStack)
	writeList(b, `],"samples":[`, t.Samples, appendSample)
	_, _ = b.WriteString("]}")
	return b.Flush() // with the first error of b
}

// MarshalJSON encodes the trace into memory. For a long trace, use [Trace.WriteJSON].
func (t Trace) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := t.WriteJSON(&b)
	return b.Bytes(), err
}

func writeList[T any](b *bufio.Writer, open string, list []T, element func([]byte, *T) []byte) {
	_, _ = b.WriteString(open)
	for i := range list {
		text := b.AvailableBuffer()
		if i > 0 {
			text = append(text, ',')
		}
		if _, err := b.Write(element(text, &list[i])); err != nil {
			return // b keeps the error
		}
	}
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
	b = strconv.AppendFloat(b, record.Milliseconds(s.Timestamp), 'f', -1, 64)
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
		panic(err) // json encodes every string
	}
	return append(b, text...)
}
