package pyroscope

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go/godeltaprof"
)

// A snapshot is a profile that the runtime keeps. godeltaprof subtracts what it had at the last snapshot, except from
// memory in use and from goroutines, which are of the moment.
type snapshot struct {
	kind string
	// take writes the profile in pprof's format. It writes nothing if there is nothing in it.
	take func(io.Writer) error
}

// snapshots returns the snapshots of this process.
func snapshots(fit fitter) []snapshot {
	heap, mutex, block := godeltaprof.NewHeapProfiler(), godeltaprof.NewMutexProfiler(), godeltaprof.NewBlockProfiler()
	return []snapshot{
		{"heap", heap.Profile},
		{"goroutine", func(w io.Writer) error { return goroutines(w, pprof.Lookup("goroutine"), fit) }},
		{"mutex", unlessEmpty(runtime.MutexProfile, mutex.Profile)},
		{"block", unlessEmpty(runtime.BlockProfile, block.Profile)},
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
func leaks(fit fitter) *snapshot {
	leaked := pprof.Lookup(kindLeak)
	if leaked == nil {
		return nil
	}
	return &snapshot{kindLeak, func(w io.Writer) error { return goroutines(w, leaked, fit) }}
}

// goroutines writes a profile of goroutines, and nothing if there are none. Its samples have labels like CPU samples,
// except for ids: each id would make a sample of its own, and readers look for groups of goroutines.
func goroutines(w io.Writer, of *pprof.Profile, fit fitter) error {
	var raw bytes.Buffer
	if err := of.WriteTo(&raw, 0); err != nil {
		return err
	}
	p, err := profile.Parse(&raw)
	if err != nil || len(p.Sample) == 0 {
		return err
	}
	fit.spanIDs, fit.traceIDs = false, false
	fit.fit(p)
	plain := bytes.Buffer{}
	if err := p.Compact().WriteUncompressed(&plain); err != nil { // joins samples that have become equal
		return err
	}
	data, err := compress(plain.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// maxWhole is the size, compressed, up to which a profile is sent as it is. A larger one may exceed the server's limits,
// which are of uncompressed profiles.
const maxWhole = 128 << 10

// encode takes the snapshot and returns the profiles to send of it: none if it is empty. godeltaprof reads the
// runtime's own memory, whose layout it knows for each Go release: its panics must not end the program.
func (s *snapshot) encode() (parts [][]byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			parts, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	var data bytes.Buffer
	if err := s.take(&data); err != nil {
		return nil, err
	}
	switch {
	case data.Len() == 0:
		return nil, nil
	case data.Len() <= maxWhole:
		return [][]byte{data.Bytes()}, nil
	}
	p, err := profile.Parse(&data)
	if err != nil {
		return nil, err
	}
	return encode(p)
}
