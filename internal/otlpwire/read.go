package otlpwire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields contains the encoded fields of a message.
type Fields []byte

// A Field is one field of a message. Readers must skip fields with an unknown tag, as protobuf
// requires. A tag contains the number and the type of a field. A tag with a known number and
// another type is also an unknown tag.
type Field struct {
	Tag    uint64
	Number uint64 // the value of a numeric field
	Body   []byte // the value of a text, bytes or message field; shares memory with Fields
}

// Next removes and returns the first field. b must not be empty. If the field is malformed, Next
// returns an error and does not change b.
func (b *Fields) Next() (f Field, err error) {
	num, typ, n := protowire.ConsumeTag(*b)
	if n < 0 {
		return f, malformed(n)
	}
	rest := (*b)[n:]
	f.Tag = protowire.EncodeTag(num, typ)
	switch typ {
	case protowire.VarintType:
		f.Number, n = protowire.ConsumeVarint(rest)
	case protowire.Fixed64Type:
		f.Number, n = protowire.ConsumeFixed64(rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		f.Number = uint64(v)
	case protowire.BytesType:
		f.Body, n = protowire.ConsumeBytes(rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, rest)
	}
	if n < 0 {
		return f, malformed(n)
	}
	*b = rest[n:]
	return f, nil
}

// Each calls the function do for each field. Each stops at the first error of do, or at a malformed
// field, and returns the error.
func (b Fields) Each(do func(Field) error) error {
	for len(b) > 0 {
		f, err := b.Next()
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func malformed(n int) error {
	return fmt.Errorf("malformed message of OTLP: %w", protowire.ParseError(n))
}
