package backend

import (
	"context"
	"errors"
	"fmt"
)

// A Jaeger is a Jaeger 2 process that runs deploy/jaeger.yaml, with all its data in
// memory: Kill loses it. Its methods are for one goroutine at a time.
type Jaeger struct{ *server }

// StartJaeger builds Jaeger if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartJaeger(ctx context.Context) (*Jaeger, error) {
	config, err := repository("deploy", "jaeger.yaml")
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, "jaeger", jaegerPkg, "HEALTH", "QUERY", "QUERY_GRPC", "OTLP_GRPC", "OTLP_HTTP")
	if err != nil {
		return nil, err
	}
	s.args = []string{"--config", config}
	s.env = []string{"JAEGER_HOST=127.0.0.1", "JAEGER_MAX_TRACES=200000"}
	for name, port := range s.ports {
		s.env = append(s.env, fmt.Sprintf("JAEGER_%s_PORT=%d", name, port))
	}
	s.ready = s.url("HEALTH") + "/status"
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Jaeger{s}, nil
}

// OTLPGRPC is the endpoint for OTLP over gRPC.
func (j *Jaeger) OTLPGRPC() string { return j.url("OTLP_GRPC") }

// OTLPHTTP is the endpoint for OTLP over HTTP.
func (j *Jaeger) OTLPHTTP() string { return j.url("OTLP_HTTP") }
