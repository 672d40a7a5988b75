package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
)

// A Collector is an OpenTelemetry Collector process that runs deploy/collector.yaml:
// what it has acknowledged and not passed on is in files of its folder, which Kill
// leaves. Its methods are for one goroutine at a time.
type Collector struct {
	*server
	scheme string // of its endpoints
}

// CollectorConfig says where a Collector's exporters go.
type CollectorConfig struct {
	// Jaeger takes spans by OTLP over gRPC: host:port or a URL.
	Jaeger string

	// Tempo does, too. Empty means that there is none: the pipeline ends at Jaeger.
	Tempo string

	// Metrics takes them by OTLP over HTTP, below the URL's /v1/metrics. Empty means a
	// port that refuses connections: metrics are accepted, and lost after a minute.
	Metrics string

	// Profiles takes them by OTLP over HTTP, below the URL's /v1development/profiles. Empty means
	// that the Collector does not know profiles.
	Profiles string

	// Logs takes log records by OTLP over HTTP, below the URL's /v1/logs. Empty means a port
	// that refuses connections: records are accepted, and wait in the queue.
	Logs string

	// All takes all signals, profiles too, by OTLP over HTTP below the URL, as they came. Then the
	// Collector does not send to the receivers above, and its queue is in memory.
	All string

	// Certificate and Key are files in PEM. With them, services speak TLS with it.
	Certificate, Key string

	// Tail has it run deploy/collector-tail.yaml, too.
	Tail bool
}

// StartCollector builds the Collector if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartCollector(ctx context.Context, c CollectorConfig) (*Collector, error) {
	config, err := repository("deploy", "collector.yaml")
	if err != nil {
		return nil, err
	}
	additions, err := repository("integration", "backend") // the folder of more configurations
	if err != nil {
		return nil, err
	}
	s, err := newServer(ctx, "collector", "HEALTH", "METRICS", "OTLP_GRPC", "OTLP_HTTP")
	if err != nil {
		return nil, err
	}
	s.args = []string{"--config", config}
	if c.Tail {
		s.args = append(s.args, "--config", strings.TrimSuffix(config, ".yaml")+"-tail.yaml")
	}
	if c.Profiles != "" {
		s.args = append(s.args, "--config", filepath.Join(additions, "collector-profiles.yaml"),
			"--feature-gates=service.profilesSupport")
		s.env = append(s.env, "COLLECTOR_PROFILES_TO="+c.Profiles)
	}
	if c.All != "" {
		s.args = append(s.args, "--config", filepath.Join(additions, "collector-all.yaml"),
			"--feature-gates=service.profilesSupport")
		s.env = append(s.env, "COLLECTOR_ALL_TO="+c.All)
	}
	scheme := "http"
	if c.Certificate != "" {
		scheme = "https"
		s.args = append(s.args, "--config", filepath.Join(additions, "collector-tls.yaml"))
		s.env = append(s.env, "COLLECTOR_CERTIFICATE="+c.Certificate, "COLLECTOR_KEY="+c.Key)
	}
	for name, port := range s.ports {
		s.env = append(s.env, fmt.Sprintf("COLLECTOR_%s_PORT=%d", name, port.number))
	}
	if c.Tempo == "" {
		s.env = append(s.env, "COLLECTOR_TRACES_TO=[otlp_grpc/jaeger]")
		c.Tempo = "127.0.0.1:1" // an exporter that no pipeline has must have an endpoint, too
	}
	if c.Metrics == "" {
		c.Metrics = "http://127.0.0.1:1"
	}
	if c.Logs == "" {
		c.Logs = "http://127.0.0.1:1"
	}
	s.env = append(s.env, "COLLECTOR_HOST=127.0.0.1", "COLLECTOR_STORAGE="+
		filepath.Join(s.dir, "queues"),
		"JAEGER_ENDPOINT="+c.Jaeger, "TEMPO_ENDPOINT="+c.Tempo, "PROMETHEUS_OTLP_ENDPOINT="+
			c.Metrics, "LOGS_OTLP_ENDPOINT="+c.Logs)
	s.ready = s.url("HEALTH")
	if err := s.Start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return &Collector{s, scheme}, nil
}

// OTLPGRPC is the endpoint for OTLP over gRPC.
func (c *Collector) OTLPGRPC() string { return c.endpoint("OTLP_GRPC") }

// OTLPHTTP is the endpoint for OTLP over HTTP.
func (c *Collector) OTLPHTTP() string { return c.endpoint("OTLP_HTTP") }

func (c *Collector) endpoint(listener string) string {
	return c.scheme + strings.TrimPrefix(c.url(listener), "http")
}

// Count returns the Collector's own count since its start, by the name of the metric. It
// adds up the series that have the label, such as exporter="otlp_grpc/jaeger". An empty
// label selects all series. A count that does not exist yet is 0.
func (c *Collector) Count(ctx context.Context, metric, label string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url("METRICS")+"/metrics",
		http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("asking the Collector for %s: %w", metric, err)
	}
	defer resp.Body.Close()
	var sum float64
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text() // name{labels} value
		at := strings.LastIndexByte(line, ' ')
		name, labels, _ := strings.Cut(line[:max(at, 0)], "{")
		if name != metric || !strings.Contains(labels, label) {
			continue
		}
		n, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("the Collector's line %q: %w", line, err)
		}
		sum += n
	}
	return sum, lines.Err()
}
