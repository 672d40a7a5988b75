package otlpwire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields contains the bytes of an encoded message.
type Fields []byte

// A Field is one field of a message. Readers must skip a field with an unknown tag, as protobuf
// does. The tag of a known number with another type is unknown.
type Field struct {
	Tag    uint64
	Number uint64 // the value of a numeric field
	Body   []byte // the value of a text, bytes or a message; shares memory with the Fields
}

// Next removes and returns the first field. b must not be empty. After an error, b is unchanged.
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

// Each calls do for each field. Each stops and returns the error if do returns an error or the
// message is malformed.
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
