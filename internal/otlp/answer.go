package otlp

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/queue"
)

// unreadable is a warning. The request counts as delivered, because the receiver reports success,
// and a second attempt would deliver the items twice.
const unreadable = "the receiver reports success, but its answer is not OTLP: check the endpoint"

// Field tags of answers.
const (
	partialSuccess  = 1<<3 | otlpwire.Prefixed // of an Export…ServiceResponse
	partialRejected = 1<<3 | otlpwire.Varint
	partialMessage  = 2<<3 | otlpwire.Prefixed

	statusText = 2<<3 | otlpwire.Prefixed // of a google.rpc.Status

	retryInfoDelay = 1<<3 | otlpwire.Prefixed // of a google.rpc.RetryInfo
)

// accepted parses an Export…ServiceResponse, the answer to an accepted request. The responses of
// all signals consist of the same fields.
func accepted(response []byte) queue.Answer {
	var a queue.Answer
	err := otlpwire.Fields(response).Each(func(f otlpwire.Field) error {
		if f.Tag != partialSuccess {
			return nil
		}
		return otlpwire.Fields(f.Body).Each(func(f otlpwire.Field) error {
			switch f.Tag {
			case partialRejected:
				a.Rejected = int64(f.Number) //nolint:gosec // as the field is declared
			case partialMessage:
				a.Message = string(f.Body)
			}
			return nil
		})
	})
	if err != nil || a.Rejected < 0 {
		return queue.Answer{Message: unreadable}
	}
	return a
}

// acceptedJSON parses the answer of receivers that answer protobuf with JSON.
func acceptedJSON(response []byte) queue.Answer {
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
		// rejectedSpans, rejectedProfiles …: a number, with or without quotes
		case strings.HasPrefix(name, "rejected"):
			a.Rejected, err = strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
		}
	}
	if err != nil || a.Rejected < 0 {
		return queue.Answer{Message: unreadable}
	}
	return a
}

// statusMessage returns the message of a google.rpc.Status, in which receivers explain errors over
// HTTP.
func statusMessage(response []byte) (message string) {
	err := otlpwire.Fields(response).Each(func(f otlpwire.Field) error {
		if f.Tag == statusText {
			message = string(f.Body)
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return message
}
