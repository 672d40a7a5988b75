package pyroscope

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/profiling"
)

// New returns an exporter that pushes profiles to a Pyroscope server. The exporter does nothing
// until Start is called.
//
// The exporter's Start method checks c. The error names the field or the variable, the value and
// the rule. If an invalid variable can be ignored, Start logs the variable and uses the default.
// c.Resource and c.Logger override the arguments of Start.
//
// The exporter pushes a profile of each kind every [Config].UploadInterval. The interval for
// profiles of leaked goroutines is [Config].LeakInterval.
func New(c Config) profiling.Exporter { return continuous.NewExporter(receiver(c, nil)) }

// Start returns a new exporter that already runs. The exporter uses c.Resource and c.Logger.
// Profiling continues after the end of ctx. If PERFLINE_PROFILING forbids profiling, the error
// wraps [profiling.ErrNotAllowed].
func Start(ctx context.Context, c Config) (profiling.Exporter, error) {
	e := New(c)
	if err := e.Start(ctx, nil, nil); err != nil {
		return nil, err
	}
	return e, nil
}

func receiver(c Config, dial dialer) continuous.Receiver {
	address, _ := given(c.ServerAddress, "ServerAddress", envAddress)
	return continuous.Receiver{
		Package: "pyroscope", Config: c, Logger: c.Logger, Address: address,
		Open: func(env continuous.Environment) (*continuous.Delivery, error) {
			return open(c, env, dial)
		},
	}
}

// open makes the delivery to the server.
func open(c Config, env continuous.Environment, dial dialer) (*continuous.Delivery, error) {
	settings, tags, err := c.resolve(env)
	if err != nil {
		return nil, err
	}
	instance := make([]byte, 8) // the server asks for 16 hexadecimal digits
	_, _ = rand.Read(instance)  // never fails
	cl, to := newClient(c, dial), secret.URL(c.ServerAddress)
	q := continuous.NewQueue(settings, queue.Config[*upload]{To: to, Send: cl.send})
	labels := seriesLabels(c.ApplicationName, hex.EncodeToString(instance), tags)
	return &continuous.Delivery{
		Settings: settings, Sink: sink{q, labels, newFitter(len(tags), c.TraceIDs)}, Queue: q,
		To: to, ProfileIDs: true, Close: func() error { cl.close(); return nil },
	}, nil
}
