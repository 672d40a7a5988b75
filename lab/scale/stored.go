package main

import (
	"context"
	"errors"
	"strings"

	"github.com/perfline/perfline/integration/backend"
)

// spanOnDisk puts the batch into a Jaeger with Badger, as often as it takes for so many
// spans, and returns the bytes that a span then takes on its disk.
func spanOnDisk(ctx context.Context, b batch, spans int) (bytes float64, err error) {
	j, err := backend.StartJaegerOnDisk(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, j.Stop()) }()
	s, err := newSender(strings.TrimPrefix(j.OTLPGRPC(), "http://"), b)
	if err != nil {
		return 0, err
	}
	defer s.close()
	batches := max(1, spans/b.spans())
	for range batches {
		if err := s.export(ctx); err != nil {
			return 0, err
		}
	}
	if err := j.Terminate(); err != nil {
		return 0, err
	}
	stored, err := j.Stored()
	return float64(stored) / float64(batches*b.spans()), err
}
