package service

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// strictJSON refuses JSON that has a field or an enumerator that the schema lacks. Connect's own
// codec ignores these: with a misspelt type, a query would ask for events of all types.
type strictJSON struct{ name string }

// Name is the content type after "application/".
func (c strictJSON) Name() string { return c.name }

// IsBinary tells connect that messages may be in a query string as they are.
func (strictJSON) IsBinary() bool { return false }

// Marshal encodes a message.
func (strictJSON) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T: must be a proto.Message", message)
	}
	return protojson.Marshal(m)
}

// Unmarshal decodes into a message.
func (strictJSON) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T: must be a proto.Message", message)
	}
	if len(data) == 0 {
		return errors.New("no JSON: must be an object, {} at least")
	}
	return protojson.Unmarshal(data, m)
}
