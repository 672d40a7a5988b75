package pyroscope

import "github.com/perfline/perfline/profiling/internal/continuous"

// A sink encodes the profiles of a pusher and queues them. There may be some although encoding
// ended with an error.
type sink struct{ to *Pusher }

var _ continuous.Sink = sink{}

func (s sink) CPU(c continuous.CPU) error {
	profiles, err := encodeCPU(c, s.to.fit)
	s.add("cpu", profiles)
	return err
}

func (s sink) Runtime(r continuous.Runtime) error {
	profiles, err := encodeRuntime(r, s.to.fit)
	s.add(r.Kind, profiles)
	return err
}

func (s sink) add(kind string, profiles [][]byte) {
	for _, data := range profiles {
		s.to.queue.Add(newUpload(kind, s.to.labels, data))
	}
}
