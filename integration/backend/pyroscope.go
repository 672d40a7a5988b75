package backend

import (
	"context"
	"errors"
	"fmt"
)

// A Pyroscope is a Pyroscope process of one node that stores profiles in its
// folder and has the newest of them in memory: Kill loses those. Its methods are
// for one goroutine at a time.
type Pyroscope struct{ *server }

// StartPyroscope builds Pyroscope if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartPyroscope(ctx context.Context) (*Pyroscope, error) {
	s, err := newServer(ctx, "pyroscope", "github.com/grafana/pyroscope/cmd/pyroscope", "http", "grpc")
	if err != nil {
		return nil, err
	}
	for name, port := range s.ports {
		s.args = append(s.args,
			fmt.Sprintf("-server.%s-listen-address=127.0.0.1", name),
			fmt.Sprintf("-server.%s-listen-port=%d", name, port))
	}
	// Or its parts find each other by gossip, on the machine's first address.
	for _, ring := range []string{"", "distributor.", "compactor.", "store-gateway.sharding-", "query-scheduler.", "overrides-exporter."} {
		s.args = append(s.args, "-"+ring+"ring.store=inmemory")
	}
	for _, address := range []string{
		"ingester.lifecycler.addr", "distributor.ring.instance-addr", "compactor.ring.instance-addr", "store-gateway.sharding-ring.instance-addr",
		"query-scheduler.ring.instance-addr", "query-frontend.instance-addr", "overrides-exporter.ring.instance-addr",
	} {
		s.args = append(s.args, "-"+address+"=127.0.0.1")
	}
	s.args = append(s.args,
		"-ingester.min-ready-duration=0s",
		"-usage-stats.enabled=false",
		"-self-profiling.disable-push=true",
		"-log.level=warn",
		// Relative to its folder.
		"-pyroscopedb.data-path=data",
		"-storage.filesystem.dir=shared",
		"-compactor.data-dir=compactor",
		"-blocks-storage.bucket-store.sync-dir=sync",
	)
	s.ready = s.url("http") + "/ready"
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Pyroscope{s}, nil
}

// URL is where it takes profiles and answers queries.
func (p *Pyroscope) URL() string { return p.url("http") }
