package otlp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/queue"
)

// unreadable is a warning. The receiver has taken the request by its own account, and so it counts as delivered: a
// second attempt would deliver it twice.
const unreadable = "the receiver reports success, but its answer is not OTLP: check the endpoint"

// taken returns the answer to a request that the receiver took, from an Export…ServiceResponse. The responses of all
// signals have the same fields.
func taken(response []byte) queue.Answer {
	var a queue.Answer
	var inner error
	err := fields(response, func(number protowire.Number, _ uint64, partial []byte) {
		if number != 1 || partial == nil {
			return
		}
		inner = fields(partial, func(number protowire.Number, value uint64, message []byte) {
			switch number {
			case 1:
				a.Rejected = int64(value) //nolint:gosec // as the field is declared
			case 2:
				a.Message = string(message)
			}
		})
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
		case strings.HasPrefix(name, "rejected"): // rejectedSpans, rejectedProfiles …: a number, or one in quotes
			a.Rejected, err = strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
		}
	}
	if err != nil || a.Rejected < 0 {
		return queue.Answer{Message: unreadable}
	}
	return a
}

// statusMessage returns the message of a google.rpc.Status, with which receivers explain errors over HTTP.
func statusMessage(response []byte) (message string) {
	err := fields(response, func(number protowire.Number, _ uint64, value []byte) {
		if number == 2 {
			message = string(value)
		}
	})
	if err != nil {
		return ""
	}
	return message
}

// fields calls do for each field of a message, with the value of a varint or the bytes of another one. It returns an
// error if the message is none.
func fields(message []byte, do func(number protowire.Number, value uint64, bytes []byte)) error {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("tag: %w", protowire.ParseError(n))
		}
		message = message[n:]
		var value uint64
		var bytes []byte
		switch typ {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, typ, message)
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		message = message[n:]
		if typ == protowire.VarintType || typ == protowire.BytesType {
			do(number, value, bytes)
		}
	}
	return nil
}
