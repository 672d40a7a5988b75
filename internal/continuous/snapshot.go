package continuous

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"runtime"
	"runtime/pprof"
	"slices"

	"github.com/google/pprof/profile"
)

// The kinds of the runtime's profiles.
const (
	Heap      = "heap"
	Goroutine = "goroutine"
	Mutex     = "mutex"
	Block     = "block"
	Leak      = "goroutineleak" // also the name of the runtime's profile
)

// A Snapshot records one kind of profile of the runtime. The profile contains the changes since the
// last profile of this kind. For memory in use and for goroutines, the profile contains current
// values. The profile contains the function name of each frame.
type Snapshot struct {
	Kind string
	// Take writes the profile in the format of pprof. Take writes nothing if the profile is empty.
	Take func(io.Writer) error
}

// RuntimeSnapshots returns the snapshots of this process, except for leaked goroutines.
func RuntimeSnapshots() []Snapshot {
	return []Snapshot{
		newSnapshot(Heap, 2), // allocated objects and bytes; the other two columns are in use
		newSnapshot(Goroutine, 0),
		unlessEmpty(runtime.MutexProfile, newSnapshot(Mutex, 2)),
		unlessEmpty(runtime.BlockProfile, newSnapshot(Block, 2)),
	}
}

// leaks returns the snapshot of leaked goroutines, or nil if the runtime has no such profile.
func leaks() *Snapshot {
	if pprof.Lookup(Leak) == nil {
		return nil
	}
	s := newSnapshot(Leak, 0)
	return &s
}

// newSnapshot returns the snapshot of a profile of runtime/pprof, whose first columns are sums
// since the start of the program.
func newSnapshot(kind string, sums int) Snapshot {
	d := newDeltas(sums)
	return Snapshot{kind, func(w io.Writer) error {
		var whole bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&whole, 0); err != nil {
			return err
		}
		return d.rewrite(w, whole.Bytes())
	}}
}

// rewrite writes a profile of the runtime as a snapshot.
func (d *deltas) rewrite(w io.Writer, whole []byte) error {
	p, err := profile.ParseData(whole)
	if err != nil {
		return err
	}
	d.subtract(p)
	nameFrames(p)
	return p.Compact().Write(w)
}

// unlessEmpty skips a profile while the runtime has no record: the application has not enabled the
// profile.
func unlessEmpty(records func([]runtime.BlockProfileRecord) (int, bool), s Snapshot) Snapshot {
	return Snapshot{s.Kind, func(w io.Writer) error {
		if n, _ := records(nil); n == 0 {
			return nil
		}
		return s.Take(w)
	}}
}

// deltas subtract the sums of the last profile.
type deltas struct {
	sums  int // columns
	seeds [2]maphash.Seed
	last  map[[2]uint64][]int64 // by stack
}

func newDeltas(sums int) *deltas {
	return &deltas{sums: sums, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// subtract reduces p to the changes since the last profile, and removes samples without values.
func (d *deltas) subtract(p *profile.Profile) {
	if d.sums == 0 {
		return
	}
	now := make(map[[2]uint64][]int64, len(d.last))
	var key []byte
	for _, s := range p.Sample {
		key = stackOf(key[:0], s)
		k := [2]uint64{maphash.Bytes(d.seeds[0], key), maphash.Bytes(d.seeds[1], key)}
		sums, before := now[k], d.last[k]
		if sums == nil {
			sums = make([]int64, d.sums)
			now[k] = sums
		}
		for i := range d.sums {
			sums[i] += s.Value[i]
			if before != nil { // the runtime may list a stack several times
				known := min(s.Value[i], before[i])
				s.Value[i] -= known
				before[i] -= known
			}
		}
	}
	d.last = now
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return !slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
}

// stackOf appends the identity of a sample's stack: its addresses, and the size of its allocations.
func stackOf(key []byte, s *profile.Sample) []byte {
	for _, l := range s.Location {
		key = binary.NativeEndian.AppendUint64(key, l.Address)
	}
	for _, size := range s.NumLabel["bytes"] {
		key = binary.NativeEndian.AppendUint64(key, uint64(size))
	}
	return key
}

// nameFrames names frames without a name, such as C code, by the program counter. Viewers omit
// nameless frames, or join them.
func nameFrames(p *profile.Profile) {
	last := uint64(0)
	for _, f := range p.Function {
		last = max(last, f.ID)
	}
	name := func(l *profile.Location) *profile.Function {
		last++
		f := &profile.Function{ID: last, Name: fmt.Sprintf("%#x", l.Address)}
		if l.Mapping != nil {
			f.Filename = l.Mapping.File
		}
		p.Function = append(p.Function, f)
		return f
	}
	for _, l := range p.Location {
		if len(l.Line) == 0 {
			l.Line = []profile.Line{{Function: name(l)}}
		}
		for i := range l.Line {
			if f := l.Line[i].Function; f == nil || f.Name == "" {
				l.Line[i].Function = name(l)
			}
		}
	}
}

// take returns the snapshot, nothing if it is empty.
func (s *Snapshot) take() ([]byte, error) {
	var data bytes.Buffer
	err := recovered(func() error { return s.Take(&data) })
	return data.Bytes(), err
}

// recovered returns the error or the panic of f. The content of a profile must not end the program.
func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return f()
}
