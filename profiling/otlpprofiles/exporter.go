package otlpprofiles

import (
	"context"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/profiling"
)

// New returns an exporter that sends profiles over OTLP. The exporter does nothing until Start is
// called. Set the field ProfileExporter of perfline.Config to the exporter. perfline.Start then
// calls the exporter's Start method.
//
// The exporter's Start method checks c. The error names the field or the variable, the value and
// the rule. If an invalid variable can be ignored, Start logs the variable and uses the default.
// c.Logger overrides the logger that Start receives.
//
// The exporter sends a profile of each kind every [Config].Interval. The interval for profiles of
// leaked goroutines is [Config].LeakInterval. An OTLP profile contains one sample type. Therefore a
// heap profile counts as up to four profiles in the exporter's Stats.
func New(c Config) profiling.Exporter { return continuous.NewExporter(receiver(c)) }

func receiver(c Config) continuous.Receiver {
	return continuous.Receiver{
		Package: "otlpprofiles", Config: c, Logger: c.Logger,
		Open: func(e continuous.Environment) (*continuous.Delivery, error) { return open(c, e) },
	}
}

// open makes the delivery to the receiver, and the goroutines of a gRPC connection.
func open(c Config, env continuous.Environment) (*continuous.Delivery, error) {
	settings, err := continuous.Settings{
		Interval: c.Interval, LeakInterval: c.LeakInterval, Spans: c.Spans,
		QueueBytes: c.QueueBytes, Logger: env.Logger,
	}.Resolve(env.Vars, "Interval")
	if err != nil {
		return nil, err
	}
	where := otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}
	send := func(ctx context.Context, body []byte) queue.Answer {
		a := c.Sender.Send(ctx, body)
		return queue.Answer{
			Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered,
			Unknown: a.Unknown, TooLarge: a.TooLarge, Rejected: a.Rejected, Message: a.Message,
		}
	}
	sender, to, err := otlp.Open(env.Vars, where, otlp.Profiles, c.Sender, send)
	if err != nil {
		return nil, err
	}
	q := continuous.NewQueue(settings, queue.Config[*request]{
		To: to, UnknownPause: otlp.UnknownPause,
		Send: func(ctx context.Context, batch []*request) queue.Answer {
			return sender.Send(ctx, batch[0].body)
		},
	})
	return &continuous.Delivery{
		Settings: settings, Sink: &sink{newEncoder(env.Resource, thisProgram()), q}, Queue: q,
		To: to, Close: sender.Close,
	}, nil
}

// A sink encodes profiles and queues them.
type sink struct {
	encoder *encoder
	queue   *queue.Queue[*request]
}

var _ continuous.Sink = (*sink)(nil)

func (s *sink) CPU(c continuous.CPU) error {
	s.encoder.cpu(c, s.add)
	return nil
}

func (s *sink) Runtime(r continuous.Runtime) error { return s.encoder.runtime(r, s.add) }

func (s *sink) add(r request) { s.queue.Add(&r) }

// Count returns the number of profiles in the request r.
func (r *request) Count() int { return r.count }

func (r *request) Bytes() int { return len(r.body) }

// Request returns the length of the request in bytes. The queue sends each request alone, because
// two joined requests would need one common dictionary.
func (r *request) Request() int { return r.Bytes() }
