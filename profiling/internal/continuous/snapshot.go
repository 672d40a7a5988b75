package continuous

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"

	"github.com/grafana/pyroscope-go/godeltaprof"
)

// The kinds of the runtime's profiles.
const (
	Heap      = "heap"
	Goroutine = "goroutine"
	Mutex     = "mutex"
	Block     = "block"
	Leak      = "goroutineleak" // also the name of the runtime's profile
)

// A Snapshot is a profile that the runtime keeps. godeltaprof subtracts what it had at the last snapshot, except from
// memory in use and from goroutines, which are of the moment.
type Snapshot struct {
	Kind string
	// Take writes the profile in pprof's format. It writes nothing if there is nothing in it.
	Take func(io.Writer) error
}

// RuntimeSnapshots returns the snapshots of this process.
func RuntimeSnapshots() []Snapshot {
	heap, mutex, block := godeltaprof.NewHeapProfiler(), godeltaprof.NewMutexProfiler(), godeltaprof.NewBlockProfiler()
	return []Snapshot{
		{Heap, heap.Profile},
		{Goroutine, func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 0) }},
		{Mutex, unlessEmpty(runtime.MutexProfile, mutex.Profile)},
		{Block, unlessEmpty(runtime.BlockProfile, block.Profile)},
	}
}

// unlessEmpty takes a profile only if the runtime has a record. It has none unless the application switched that
// profile on.
func unlessEmpty(records func([]runtime.BlockProfileRecord) (int, bool), take func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if n, _ := records(nil); n == 0 {
			return nil
		}
		return take(w)
	}
}

// leaks returns the snapshot of leaked goroutines, or nil if the runtime has no such profile.
func leaks() *Snapshot {
	leaked := pprof.Lookup(Leak)
	if leaked == nil {
		return nil
	}
	return &Snapshot{Leak, func(w io.Writer) error { return leaked.WriteTo(w, 0) }}
}

// give takes the snapshot and gives it to use, unless it is empty.
func (s *Snapshot) give(use func(data []byte) error) error {
	return recovered(func() error {
		var data bytes.Buffer
		if err := s.Take(&data); err != nil || data.Len() == 0 {
			return err
		}
		return use(data.Bytes())
	})
}

// recovered calls f, and returns its panic as an error. godeltaprof reads the runtime's own memory, whose layout it knows for each Go
// release, and profiles may have anything: neither must end the program.
func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f()
}
