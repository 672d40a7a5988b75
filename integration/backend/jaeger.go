package backend

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed jaeger.yaml
var jaegerConfig []byte

// A Jaeger is a Jaeger 2 process with all its data in memory: Kill loses it. Its
// methods are for one goroutine at a time.
type Jaeger struct{ *server }

// StartJaeger builds Jaeger if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartJaeger(ctx context.Context) (*Jaeger, error) {
	s, err := newServer(ctx, "jaeger", "github.com/jaegertracing/jaeger/cmd/jaeger",
		"HEALTH", "QUERY", "QUERY_GRPC", "OTLP_GRPC", "OTLP_HTTP")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.dir, "config.yaml")
	s.args = []string{"--config", config}
	for name, port := range s.ports {
		s.env = append(s.env, fmt.Sprintf("JAEGER_%s_PORT=%d", name, port))
	}
	s.ready = s.url("HEALTH") + "/status"
	err = os.WriteFile(config, jaegerConfig, 0o600)
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Jaeger{s}, nil
}

// OTLPGRPC is the endpoint for OTLP over gRPC.
func (j *Jaeger) OTLPGRPC() string { return j.url("OTLP_GRPC") }

// OTLPHTTP is the endpoint for OTLP over HTTP.
func (j *Jaeger) OTLPHTTP() string { return j.url("OTLP_HTTP") }
