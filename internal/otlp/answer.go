package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/queue"
)

// unreadable is a warning. The receiver has taken the request by its own account, and so it counts
// as delivered: a second attempt would deliver it twice.
const unreadable = "the receiver reports success, but its answer is not OTLP: check the endpoint"

// taken returns the answer to a request that the receiver took, from an Export…ServiceResponse. The
// responses of all signals have the same fields.
func taken(response []byte) queue.Answer {
	var a queue.Answer
	var inner error
	err := fields(response, func(f field) {
		if !f.is(1, protowire.BytesType) {
			return
		}
		inner = errors.Join(inner, fields(f.bytes, func(f field) {
			switch {
			case f.is(1, protowire.VarintType):
				a.Rejected = int64(f.value) //nolint:gosec // as the field is declared
			case f.is(2, protowire.BytesType):
				a.Message = string(f.bytes)
			}
		}))
	})
	if err != nil || inner != nil || a.Rejected < 0 {
		return queue.Answer{Message: unreadable}
	}
	return a
}

// takenJSON is taken for receivers that answer requests in protobuf with JSON.
func takenJSON(response []byte) queue.Answer {
	var decoded struct {
		PartialSuccess map[string]json.RawMessage `json:"partialSuccess"`
	}
	err := json.Unmarshal(response, &decoded)
	var a queue.Answer
	for name, value := range decoded.PartialSuccess {
		switch {
		case err != nil:
		case name == "errorMessage":
			err = json.Unmarshal(value, &a.Message)
		// rejectedSpans, rejectedProfiles …: a number, or one in quotes
		case strings.HasPrefix(name, "rejected"):
			a.Rejected, err = strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
		}
	}
	if err != nil || a.Rejected < 0 {
		return queue.Answer{Message: unreadable}
	}
	return a
}

// statusMessage returns the message of a google.rpc.Status, with which receivers explain errors
// over HTTP.
func statusMessage(response []byte) (message string) {
	err := fields(response, func(f field) {
		if f.is(2, protowire.BytesType) {
			message = string(f.bytes)
		}
	})
	if err != nil {
		return ""
	}
	return message
}

// A field is a field of a message, with the value of its type.
type field struct {
	number protowire.Number
	typ    protowire.Type
	value  uint64 // of a varint
	bytes  []byte // of text, bytes and messages
}

func (f field) is(number protowire.Number, typ protowire.Type) bool {
	return f.number == number && f.typ == typ
}

// fields calls do for each field of a message. It returns an error if the message is not in
// protobuf's format.
func fields(message []byte, do func(field)) error {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("tag: %w", protowire.ParseError(n))
		}
		message = message[n:]
		f := field{number: number, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, typ, message)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		message = message[n:]
		do(f)
	}
	return nil
}
