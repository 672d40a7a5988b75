package main

import (
	"context"
	"fmt"
	"io"
	"net"
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

// ask sends a request to the service itself, as an API gateway does, which answers late.
func (s *shop) ask(ctx context.Context, takes time.Duration) error {
	ctx, span := otel.Tracer("shop").Start(ctx, "ask")
	defer span.End()
	address, _ := ctx.Value(http.LocalAddrContextKey).(net.Addr)
	return s.get(ctx, "http://"+address.String()+"/quote?takes="+takes.String())
}

// quote is the request within the service.
func (s *shop) quote(w http.ResponseWriter, r *http.Request) {
	takes, err := time.ParseDuration(r.FormValue("takes"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(takes)
}

// call asks the dependency, which is in another process, for an answer after a time.
func (s *shop) call(ctx context.Context, takes time.Duration) error {
	return s.get(ctx, "http://"+s.address+"/payments?takes="+takes.String())
}

func (s *shop) get(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
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
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
