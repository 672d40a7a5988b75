package flight

import (
	"bytes"
	"io"
	rt "runtime/trace"
	"testing"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/flight/internal/analysis"
	"github.com/perfline/perfline/profiling/states"
)

// The execution trace has the process's CPU time, from the moment when the recorder is armed.
func TestCPUNotes(t *testing.T) {
	if cputime.Process() == 0 {
		t.Skip("the CPU time of the process is not known on this system")
	}
	snapshots := make(chan []byte, 1)
	r := newRecorder(Config{}, process{
		newRecorder: func(c rt.FlightRecorderConfig) flightRecorder { return rt.NewFlightRecorder(c) },
		read: func(r io.ReadSeeker, _ []analysis.Root, _ func()) ([]states.Request, error) {
			all, err := io.ReadAll(r)
			snapshots <- all
			return nil, err
		},
		threadTime: cputime.Thread,
	})
	if err := r.Arm(0); err != nil {
		t.Fatal(err)
	}
	r.Slow(root(1))
	if all := <-snapshots; !bytes.Contains(all, []byte("perfline.cpu")) {
		t.Errorf("a snapshot of %d bytes has no note of the CPU time", len(all))
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
