package service

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A strictJSON codec refuses JSON with a field or an enumerator that the schema lacks. Connect's
// own codec ignores both: a query with a misspelt type would ask for events of all types.
type strictJSON struct{ name string }

// Name returns the name of the codec: the content type after "application/", such as "json".
func (c strictJSON) Name() string { return c.name }

// IsBinary returns false, because the messages are text. Therefore connect may put messages into a
// query string without base64.
func (strictJSON) IsBinary() bool { return false }

func (strictJSON) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T: must be a proto.Message", message)
	}
	return protojson.Marshal(m)
}

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
