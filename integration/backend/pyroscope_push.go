package backend

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"
)

// Push sends a profile with these labels of its series. The error has the status and the text of a
// refusal.
func (p *Pyroscope) Push(ctx context.Context, labels map[string]string,
	sent *profile.Profile) error {
	var data bytes.Buffer
	if err := sent.Write(&data); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	field := func(b []byte, number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
	}
	var series []byte
	for name, value := range labels {
		series = field(series, 1, field(field(nil, 1, []byte(name)), 2, []byte(value)))
	}
	series = field(series, 2, field(nil, 1, data.Bytes()))
	_, err := p.ask(ctx, "push.v1.PusherService/Push", "application/proto", field(nil, 1, series))
	return err
}
