package requests

import (
	"encoding/binary"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// records are encoded spans, each after the number of its group (two bytes) and its length (four bytes).
type records []byte

const recordHeader = 6

type record struct {
	group uint16
	span  []byte
}

func recordSize(s otlpenc.Spans) int { return recordHeader + len(s.Bytes) }

func appendRecord(b []byte, group uint16, s otlpenc.Spans) []byte {
	b = binary.LittleEndian.AppendUint16(b, group)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.Bytes)))
	return append(b, s.Bytes...)
}

func (b records) first() (r record, size int) {
	size = recordHeader + int(binary.LittleEndian.Uint32(b[2:]))
	return record{group: binary.LittleEndian.Uint16(b), span: b[recordHeader:size]}, size
}

// all yields the records in order.
func (b records) all(yield func(record) bool) {
	for len(b) > 0 {
		r, n := b.first()
		if !yield(r) {
			return
		}
		b = b[n:]
	}
}
