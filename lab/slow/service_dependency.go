package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
)

// pay calls a dependency that answers late.
func (s *shop) pay(ctx context.Context, takes time.Duration) error {
	ctx, span := otel.Tracer("shop").Start(ctx, "pay")
	defer span.End()
	return s.call(ctx, takes)
}

// call asks the dependency, which is in another process, for an answer after a time.
func (s *shop) call(ctx context.Context, takes time.Duration) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+
		"/payments?takes="+takes.String(), http.NoBody)
	if err != nil {
		return err
	}
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the dependency answers %s", response.Status)
	}
	return nil
}
