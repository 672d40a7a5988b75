package pyroscope

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/internal/continuous"
	"github.com/perfline/perfline/profiling/profile"
)

// lastTries is the number of attempts in a row after whose failure Flush and Shutdown give up.
const lastTries = 3

// A Pusher profiles the program and delivers the profiles to a server. Its methods may be called
// concurrently.
type Pusher struct {
	source *continuous.Source
	labels map[string]string // of all series
	fit    fitter
	client *client
	queue  *queue.Queue[*upload]
	to     string // the server, without secrets

	releaseIDs func() // ends the attribute pyroscope.profile.id of spans

	shutdown within.Once
}

// Start profiles from now on, and pushes a profile of each kind every [Config].UploadInterval until
// Shutdown, and one of leaked goroutines every [Config].LeakInterval. It does not end with ctx.
// Start succeeds when the server is away.
//
// Errors name the field or the variable, the value and the rule. They wrap
// [profiling.ErrNotAllowed] if PERFLINE_PROFILING forbids profiling. Start logs wrong variables
// that do no harm.
func Start(ctx context.Context, c Config) (*Pusher, error) {
	return start(ctx, c, continuous.ThisProcess(ctx, c.Spans), nil)
}

func start(ctx context.Context, c Config, of continuous.Process, dial dialer) (*Pusher, error) {
	tags, err := c.resolve(ctx)
	if err != nil {
		return nil, err
	}
	instance := make([]byte, 8) // the server asks for 16 hexadecimal digits
	_, _ = rand.Read(instance)  // never fails
	p := &Pusher{
		labels: seriesLabels(c.ApplicationName, hex.EncodeToString(instance), tags),
		fit:    newFitter(len(tags), c.TraceIDs),
		client: newClient(c, of.Now, dial), to: secret.URL(c.ServerAddress),
	}
	continuous.Unlabelled(func() {
		p.queue = queue.New(queue.Config[*upload]{
			What: "profiles", To: p.to, MaxBytes: c.QueueSize, BatchCount: 1, DropOldest: true,
			GiveUp: lastTries,
			Send:   p.client.send, Logger: c.Logger,
		})
	})
	p.source, err = continuous.Start(continuous.Config{
		Interval: c.UploadInterval, LeakInterval: c.LeakInterval, Sink: sink{p}, Process: of,
		Counts: "Stats", Logger: c.Logger,
	})
	if err != nil {
		_ = p.queue.Shutdown(context.Background()) // it is empty
		p.client.close()
		return nil, err
	}
	p.releaseIDs = profiling.HoldProfileIDs(c.Spans)
	return p, nil
}

// Flush takes profiles now, except of leaked goroutines, and returns when all waiting profiles are
// delivered or lost. The error says how many were lost and why. It is also an error when three
// attempts in a row fail, or when ctx ends: then profiles still wait. After Shutdown, Flush does
// nothing.
func (p *Pusher) Flush(ctx context.Context) error {
	if err := continuous.Flush(ctx, p.source, p.queue, p.to); err != nil {
		return fmt.Errorf("pyroscope: %w", err)
	}
	return nil
}

// Shutdown takes the last profiles, except of leaked goroutines, and delivers those that wait. It
// gives up when ctx ends, and cancels the request under way, or when three attempts in a row fail.
// If any profile since Start did not arrive, the error says how many, and why. Further calls return
// the same, or an error when their own context ends before. Stats are final then.
func (p *Pusher) Shutdown(ctx context.Context) error {
	return p.shutdown.Do(ctx, 2*within.Grace, "pyroscope: the shutdown", p.stop)
}

func (p *Pusher) stop(ctx context.Context) (err error) {
	p.releaseIDs()
	if e := p.source.Stop(ctx); e != nil {
		err = fmt.Errorf("pyroscope: the last profiles were not taken before Shutdown's context was over: %w", e)
	}
	e := p.queue.Shutdown(ctx)
	p.client.close()
	s := p.Stats()
	if s.Lost() == 0 {
		return err
	}
	return errors.Join(err, fmt.Errorf("pyroscope: %d of %d profiles did not reach %s: %s: %w",
		s.Lost(), s.Accepted, p.to, causes(s), cmp.Or(errors.Unwrap(e), p.queue.Reason())))
}

// LastMinute returns the CPU samples of the last minute, as far as they have been taken: samples
// are taken each UploadInterval. The first call returns an empty trace. From then on samples stay
// in memory, at most 2^18, until no call came for five minutes.
func (p *Pusher) LastMinute() *profile.Trace { return p.source.LastMinute() }

// Stats returns the counts since Start. They are final after Shutdown.
func (p *Pusher) Stats() profiling.ExporterStats { return continuous.Stats(p.source, p.queue) }

// causes returns the causes of lost profiles, with their counts.
func causes(s profiling.ExporterStats) string {
	var causes []string
	for _, c := range []struct {
		n    uint64
		what string
	}{
		{s.Refused, "refused"}, {s.Unanswered, "not answered"},
		{s.Dropped, "dropped because the queue was full"}, {s.Pending, "given up"},
	} {
		if c.n > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(causes, ", ")
}
