package otlpprofiles

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/internal/continuous"
)

// defaultQueueBytes is the default of [Config].QueueBytes. It holds some minutes of a busy service
// while its receiver is away.
const defaultQueueBytes = 16 << 20

// Config configures [New]. With the zero value, OpenTelemetry's variables decide. A field that is
// set wins over its variable. TLS, timeouts and compression have variables only.
type Config struct {
	// Endpoint is the receiver's base URL, as "http://localhost:4317". For HTTP,
	// "/v1development/profiles" is added unless it has a path. If no variable has one either, it is
	// the default of OTLP: port 4317 of localhost, or 4318 for HTTP.
	Endpoint string

	// Protocol is exporter.GRPC or exporter.HTTP. When neither it nor a variable says which, it is
	// HTTP for port 4318, OTLP's registered one for HTTP, and else GRPC.
	Protocol string

	// Headers are sent with every request, for a tenant or a token.
	Headers map[string]string

	// Sender sends the requests, in place of the three fields above and their variables. Each body
	// is one ExportProfilesServiceRequest. Shutdown closes it if it is an io.Closer. In messages,
	// its name is what its String returns, or its type.
	Sender exporter.Sender

	// Interval is the length of a profile, from a second to 30 minutes. 0 means 15 s.
	Interval time.Duration

	// LeakInterval is how often leaked goroutines are profiled, from a second to 24 hours. Else
	// PERFLINE_LEAK_INTERVAL, else never; negative means never. Read about them in package
	// pyroscope's comment first: each profile costs a garbage collection, and can end some
	// programs.
	LeakInterval time.Duration

	// Spans says which spans the links of CPU samples name. With the zero value,
	// [profiling.LocalRoots], all samples of a request name its server span.
	Spans profiling.Selection

	// QueueBytes bounds the profiles that wait for delivery, in bytes of requests. 0 means 16 MiB,
	// which is some minutes of a busy service.
	QueueBytes int

	Logger *slog.Logger // nil means the one of Start
}

// String leaves out what is often secret: the values of headers, and what is before the endpoint's
// host or in its query.
func (c Config) String() string {
	return fmt.Sprintf("{Endpoint:%s Protocol:%s Headers:%v Interval:%v LeakInterval:%v Spans:%d QueueBytes:%d}",
		secret.URL(c.Endpoint), c.Protocol, slices.Sorted(maps.Keys(c.Headers)), c.Interval,
		c.LeakInterval, c.Spans, c.QueueBytes)
}

// Format prints String for every verb. A struct that embeds a Config inherits Format, and needs one
// of its own.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalText is String for encoding/json, log/slog and others that go by it.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// resolve fills c from the variables and the defaults, and checks it, except for where profiles go.
func (c *Config) resolve(vars *environ.Reader) (err error) {
	if c.QueueBytes < 0 {
		return fmt.Errorf("QueueBytes %d: must not be negative", c.QueueBytes)
	}
	c.QueueBytes = cmp.Or(c.QueueBytes, defaultQueueBytes)
	c.Interval = cmp.Or(c.Interval, continuous.DefaultInterval)
	if err := continuous.CheckInterval("Interval", c.Interval); err != nil {
		return err
	}
	c.LeakInterval, err = continuous.ReadLeakInterval(vars, c.LeakInterval)
	return err
}
