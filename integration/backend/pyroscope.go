package backend

import (
	"context"
	"errors"
	"fmt"
)

// A Pyroscope is a Pyroscope process of one node that runs deploy/pyroscope.yaml: it
// stores profiles in its folder and has the newest of them in memory, which Kill
// loses. Its methods are for one goroutine at a time.
type Pyroscope struct{ *server }

// StartPyroscope builds Pyroscope if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartPyroscope(ctx context.Context) (*Pyroscope, error) {
	config, err := repository("deploy", "pyroscope.yaml")
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, "pyroscope", "HTTP", "GRPC")
	if err != nil {
		return nil, err
	}
	s.args = []string{"-config.file=" + config, "-config.expand-env=true"}
	s.env = []string{"PYROSCOPE_HOST=127.0.0.1", "PYROSCOPE_DATA=" + s.dir}
	for name, port := range s.ports {
		s.env = append(s.env, fmt.Sprintf("PYROSCOPE_%s_PORT=%d", name, port.number))
	}
	s.ready = s.url("HTTP") + "/ready"
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Pyroscope{s}, nil
}

// URL is where it takes profiles and answers queries.
func (p *Pyroscope) URL() string { return p.url("HTTP") }
