package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/perfline/perfline/internal/record"
)

// WriteJSON writes the trace to w in the JSON format of JS Self-Profiling: resources, frames,
// stacks and samples. Times are in milliseconds. WriteJSON omits members without a value. If an id
// is out of range, WriteJSON returns an error and writes nothing. WriteJSON also returns an error
// if the samples are not in the order of time. WriteJSON uses a buffer of 64 KiB for a trace of any
// length.
//
// A reader can restore the exact nanosecond of times up to 26 days (2^51 ns). Longer times lose
// precision, because the writer and the reader both round a float64.
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

// MarshalJSON returns the JSON that [Trace.WriteJSON] writes. Use WriteJSON for a long trace,
// because MarshalJSON stores the whole JSON in memory.
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
