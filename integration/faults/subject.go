package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial"
)

// uploadEvery is the shortest interval of profiles: a row is short.
const uploadEvery = time.Second

// process is a backend that can be killed and started again.
type process interface {
	Start(ctx context.Context) error
	Kill() error
	Stop() error
	Running() bool
	Dir() string
	Log() string
}

// A subject is the backend that fails, and those behind it, which do not.
type subject struct {
	process process
	mounted bool         // its folder is a small disk
	proxy   *trial.Proxy // in front of it
	env     []string     // of the service
	book    func(perfline.Stats) trial.Book
	spans   bool // it is spans that are delivered

	// found counts what has arrived. forgets says that the process's end loses that.
	found   func(context.Context) (int, error)
	forgets bool
	kept    int // found before the process was killed

	next   *trial.Proxy // before what the subject passes all on to; nil if it does not
	others []process
}

// start starts the subject of that name for a service.
type start func(ctx context.Context, service string) (*subject, error)

var subjects = map[string]start{"jaeger": jaeger, "jaeger by http": jaegerByHTTP, "collector": collector, "pyroscope": pyroscope}

// jaeger keeps spans in files, so that they can be counted after it was killed.
func jaeger(ctx context.Context, service string) (*subject, error) {
	return jaegerAt(ctx, service, (*backend.Jaeger).OTLPGRPC, "grpc")
}

func jaegerByHTTP(ctx context.Context, service string) (*subject, error) {
	return jaegerAt(ctx, service, (*backend.Jaeger).OTLPHTTP, "http/protobuf")
}

func jaegerAt(ctx context.Context, service string, endpoint func(*backend.Jaeger) string, protocol string) (*subject, error) {
	j, err := backend.StartJaegerOnDisk(ctx)
	if err != nil {
		return nil, err
	}
	s := &subject{process: j, book: trial.Spans, spans: true, found: func(ctx context.Context) (int, error) { return j.SpanCount(ctx, service) }}
	return s.behind(ctx, endpoint(j), func(url string) []string {
		return append(otlp(url), "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol)
	})
}

func collector(ctx context.Context, service string) (*subject, error) {
	j, err := backend.StartJaeger(ctx)
	if err != nil {
		return nil, err
	}
	next, err := trial.NewProxy(ctx, j.OTLPGRPC())
	if err != nil {
		return nil, errors.Join(err, j.Stop())
	}
	c, err := backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: next.Address()})
	if err != nil {
		return nil, errors.Join(err, next.Close(), j.Stop())
	}
	s := &subject{process: c, next: next, others: []process{j}, book: trial.Spans, spans: true,
		found: func(ctx context.Context) (int, error) { return j.SpanCount(ctx, service) }}
	return s.behind(ctx, c.OTLPGRPC(), otlp)
}

func pyroscope(ctx context.Context, _ string) (*subject, error) {
	p, err := backend.StartPyroscope(ctx)
	if err != nil {
		return nil, err
	}
	s := &subject{process: p, book: trial.Profiles, found: p.Taken, forgets: true}
	return s.behind(ctx, p.URL(), func(url string) []string {
		return []string{"PYROSCOPE_SERVER_ADDRESS=" + url, "PYROSCOPE_UPLOAD_INTERVAL=" + uploadEvery.String()}
	})
}

// otlp has batches of spans sent each second, not each five: a row is short.
func otlp(url string) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_BSP_SCHEDULE_DELAY=1000"}
}

// behind puts the proxy before the subject.
func (s *subject) behind(ctx context.Context, address string, env func(url string) []string) (*subject, error) {
	var err error
	if s.proxy, err = trial.NewProxy(ctx, address); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.env = env(s.proxy.URL())
	return s, nil
}

func (s *subject) stop() error {
	var err error
	if s.proxy != nil {
		err = s.proxy.Close()
	}
	if s.mounted { // the process has files open there
		err = errors.Join(err, s.process.Kill(), unmount(s.process.Dir()))
	}
	err = errors.Join(err, s.process.Stop())
	if s.next != nil {
		err = errors.Join(err, s.next.Close())
	}
	for _, o := range s.others {
		err = errors.Join(err, o.Stop())
	}
	return err
}

// arrived is what has arrived in all.
func (s *subject) arrived(ctx context.Context) (int, error) {
	n, err := s.found(ctx)
	return s.kept + n, err
}

// kill kills the process as a crash would. What it forgets is counted before; nothing can
// arrive in between, because the connections are cut before that.
func (s *subject) kill(ctx context.Context) error {
	if s.forgets {
		if err := s.proxy.Set(trial.Mode{Kind: trial.Refuse}); err != nil {
			return err
		}
		n, err := s.still(ctx)
		if err != nil {
			return fmt.Errorf("before it was killed: %w", err)
		}
		s.kept += n
	}
	return s.process.Kill()
}

// again starts the process after kill.
func (s *subject) again(ctx context.Context) error {
	if err := s.process.Start(ctx); err != nil {
		return err
	}
	return s.proxy.Set(trial.Mode{Kind: trial.Pass})
}

// still is what has been found when it is the same in a row of looks: what was under way
// has arrived then.
func (s *subject) still(ctx context.Context) (n int, err error) {
	same := 0
	err = backend.Poll(ctx, func() (bool, error) {
		now, err := s.found(ctx)
		if now != n {
			n, same = now, 0
		}
		same++
		return same >= 5, err
	})
	return n, err
}
