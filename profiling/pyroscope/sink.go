package pyroscope

import (
	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/internal/queue"
)

// A sink encodes profiles and queues them. After an encoding error it still queues the complete
// ones.
type sink struct {
	queue  *queue.Queue[*upload]
	labels map[string]string // of all series
	fit    fitter
}

var _ continuous.Sink = sink{}

func (s sink) CPU(c continuous.CPU) error {
	profiles, err := encodeCPU(c, s.fit)
	s.add("cpu", profiles)
	return err
}

func (s sink) Runtime(r continuous.Runtime) error {
	profiles, err := encodeRuntime(r, s.fit)
	s.add(r.Kind, profiles)
	return err
}

func (s sink) add(kind string, profiles [][]byte) {
	for _, data := range profiles {
		s.queue.Add(newUpload(kind, s.labels, data))
	}
}
