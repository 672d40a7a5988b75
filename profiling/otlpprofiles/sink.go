package otlpprofiles

import (
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/profiling/internal/continuous"
)

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

// Count returns the number of profiles.
func (r *request) Count() int { return r.count }

// Bytes returns the size of the request.
func (r *request) Bytes() int { return len(r.body) }

// Request returns the same: a request travels alone. Two would need one dictionary.
func (r *request) Request() int { return r.Bytes() }
