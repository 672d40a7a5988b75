package pyroscope

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go/godeltaprof"
	"github.com/grafana/pyroscope-go/upstream"
)

// spyName is what the server knows Go's profiles by.
const spyName = "gospy"

// A snapshot is a profile that the runtime keeps, of the time since it was taken last:
// godeltaprof tells the difference. What is in use, and goroutines, are those of the moment.
type snapshot struct {
	kind               string
	units, aggregation string
	types              map[string]*upstream.SampleType // how the server shows its values
	// take writes it in pprof's format; it may write nothing, when there is nothing to tell.
	take func(io.Writer) error
}

// snapshots are those of a process, from now on.
func snapshots(fit fitter) []snapshot {
	heap, mutex, block := godeltaprof.NewHeapProfiler(), godeltaprof.NewMutexProfiler(), godeltaprof.NewBlockProfiler()
	return []snapshot{{
		kind: "heap",
		types: map[string]*upstream.SampleType{
			"alloc_objects": {Units: "objects"},
			"alloc_space":   {Units: "bytes"},
			"inuse_objects": {Units: "objects", Aggregation: "average"},
			"inuse_space":   {Units: "bytes", Aggregation: "average"},
		},
		take: heap.Profile,
	}, {
		kind: "goroutine", units: "goroutines", aggregation: "average",
		types: map[string]*upstream.SampleType{
			"goroutine": {DisplayName: "goroutines", Units: "goroutines", Aggregation: "average"},
		},
		take: func(w io.Writer) error { return goroutines(w, fit) },
	}, {
		kind:  "mutex",
		types: lockTypes("mutex"),
		take:  unlessEmpty(runtime.MutexProfile, mutex.Profile),
	}, {
		kind:  "block",
		types: lockTypes("block"),
		take:  unlessEmpty(runtime.BlockProfile, block.Profile),
	}}
}

func lockTypes(kind string) map[string]*upstream.SampleType {
	return map[string]*upstream.SampleType{
		"contentions": {DisplayName: kind + "_count", Units: "lock_samples"},
		"delay":       {DisplayName: kind + "_duration", Units: "lock_nanoseconds"},
	}
}

// unlessEmpty takes a profile only if the runtime has a record, which it has not unless
// the application switched that on.
func unlessEmpty(records func([]runtime.BlockProfileRecord) (int, bool), take func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if n, _ := records(nil); n == 0 {
			return nil
		}
		return take(w)
	}
}

// goroutines writes the profile of goroutines. Its samples have the labels of goroutines,
// as those of the CPU have, but no ids: a profile of goroutines is read by what they are, and
// each id would make a sample of its own.
func goroutines(w io.Writer, fit fitter) error {
	var raw bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&raw, 0); err != nil {
		return err
	}
	p, err := profile.Parse(&raw)
	if err != nil {
		return err
	}
	fit.spanIDs, fit.traceIDs = false, false
	fit.fit(p)
	plain := bytes.Buffer{}
	if err := p.Compact().WriteUncompressed(&plain); err != nil { // joins what has become equal
		return err
	}
	data, err := compress(plain.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// maxWhole is how many bytes, compressed, a profile may have to be sent as it is: one of
// more may be beyond the server's limits without its compression.
const maxWhole = 128 << 10

// uploads takes the snapshot and makes what is sent of it: nothing when there is nothing.
// godeltaprof reads the runtime's own memory, whose layout it knows of each Go release: a
// panic of it must not be the program's.
func (s *snapshot) uploads(begin, end time.Time) (all []*upload, err error) {
	defer func() {
		if v := recover(); v != nil {
			all, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	var data bytes.Buffer
	if err := s.take(&data); err != nil {
		return nil, err
	}
	var parts [][]byte
	switch {
	case data.Len() == 0:
		return nil, nil
	case data.Len() <= maxWhole:
		parts = [][]byte{bytes.Clone(data.Bytes())}
	default:
		p, err := profile.Parse(&data)
		if err != nil {
			return nil, err
		}
		if parts, err = encode(p); err != nil {
			return nil, err
		}
	}
	for _, part := range parts {
		all = append(all, &upload{kind: s.kind, job: upstream.UploadJob{
			StartTime: begin, EndTime: end, SpyName: spyName, Units: s.units, AggregationType: s.aggregation,
			Format: upstream.FormatPprof, Profile: part, SampleTypeConfig: s.types,
		}})
	}
	return all, nil
}
