package backend

import (
	"context"
	"errors"
	"fmt"
)

// A Jaeger is a Jaeger 2 process that runs deploy/jaeger.yaml, with all its data in
// memory, which Kill loses, or in files. Its methods are for one goroutine at a time.
type Jaeger struct{ *server }

// StartJaeger builds Jaeger if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartJaeger(ctx context.Context) (*Jaeger, error) { return startJaeger(ctx, false) }

// StartJaegerOnDisk is StartJaeger with the spans in files of its folder, by Badger:
// Kill leaves what it has acknowledged.
func StartJaegerOnDisk(ctx context.Context) (*Jaeger, error) { return startJaeger(ctx, true) }

func startJaeger(ctx context.Context, disk bool) (*Jaeger, error) {
	config, err := repository("deploy", "jaeger.yaml")
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, "jaeger", "HEALTH", "QUERY", "QUERY_GRPC", "OTLP_GRPC", "OTLP_HTTP")
	if err != nil {
		return nil, err
	}
	s.args = []string{"--config", config}
	if disk { // the second is merged into the first
		second, err := repository("integration", "backend", "jaeger-disk.yaml")
		if err != nil {
			return nil, err
		}
		s.args = append(s.args, "--config", second)
	}
	s.env = []string{"JAEGER_HOST=127.0.0.1", "JAEGER_MAX_TRACES=200000", "JAEGER_DATA=" + s.dir}
	for name, port := range s.ports {
		s.env = append(s.env, fmt.Sprintf("JAEGER_%s_PORT=%d", name, port.number))
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
