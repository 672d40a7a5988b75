package sessions

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/google/pprof/profile"
)

// The names of [Session.ProcessProfiles] are the runtime's.
const (
	allocs = "allocs"
	mutex  = "mutex"
	block  = "block"
)

// maxProcessProfile bounds a profile of the process, in bytes of pprof's compressed format.
const maxProcessProfile = 16 << 20

// A processStart holds the runtime's profiles, from the program's start to the session's start.
type processStart struct {
	at       time.Time
	max      int               // bytes of a profile
	profiles map[string][]byte // by name; nil for a profile that could not be read
}

// newProcessStart reads the runtime's profiles after a garbage collection: without the collection,
// the profile of allocations lacks the newest allocations.
func newProcessStart(most int) *processStart {
	runtime.GC()
	p := &processStart{at: time.Now(), max: most, profiles: map[string][]byte{}}
	for _, name := range []string{allocs, mutex, block} {
		if name == mutex && !mutexesAreProfiled() {
			continue
		}
		p.profiles[name], _ = p.read(name) // growthOf reports a failure
	}
	return p
}

func mutexesAreProfiled() bool { return runtime.SetMutexProfileFraction(-1) > 0 }

// A processProfile is the growth of one of the runtime's profiles in a session.
type processProfile struct {
	name string
	data []byte // in pprof's format, compressed
}

// growth returns the growth of the profiles, without frames of functions that shows rejects.
func (p *processStart) growth(id SessionID, shows func(function string) bool) (
	all []processProfile, failed []error) {
	runtime.GC()
	end := time.Now()
	for _, name := range []string{allocs, mutex, block} {
		before, started := p.profiles[name]
		if !started || name == mutex && !mutexesAreProfiled() {
			continue
		}
		switch data, err := p.growthOf(name, before, end, id, shows); {
		case err != nil:
			failed = append(failed, fmt.Errorf("profile %s of the process: %w", name, err))
		case data != nil:
			all = append(all, processProfile{name, data})
		}
	}
	return all, failed
}

func (p *processStart) growthOf(name string, before []byte, end time.Time, id SessionID,
	shows func(string) bool) ([]byte, error) {
	after, err := p.read(name)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, errors.New("it could not be read at the start")
	}
	first, err := profile.ParseData(before)
	if err != nil {
		return nil, err
	}
	last, err := profile.ParseData(after)
	if err != nil {
		return nil, err
	}
	first.Scale(-1)
	// Merge drops samples that did not grow.
	grown, err := profile.Merge([]*profile.Profile{first, last})
	if err != nil {
		return nil, err
	}
	if name == block && len(grown.Sample) == 0 {
		return nil, nil // the runtime does not tell the block profile rate
	}
	hide(grown, shows)
	grown.TimeNanos, grown.DurationNanos = p.at.UnixNano(), int64(end.Sub(p.at))
	grown.Comments = append(grown.Comments, fmt.Sprintf(
		"of the whole process, from the start of perfline's session %d to its stop", id))
	data := limitedBuffer{max: p.max}
	if err := grown.Write(&data); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

func (p *processStart) read(name string) ([]byte, error) {
	data := limitedBuffer{max: p.max}
	// runtime/pprof ignores errors of its writer.
	if err := cmp.Or(pprof.Lookup(name).WriteTo(&data, 0), data.err); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// A limitedBuffer is a buffer with a limit.
type limitedBuffer struct {
	bytes.Buffer
	max int   // bytes
	err error // of a write without room
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		b.err = fmt.Errorf("it has more than %d bytes, which is the most", b.max)
		return 0, b.err
	}
	return b.Buffer.Write(p)
}

// hide removes frames of functions that shows rejects. The values of a stack without frames stay.
func hide(p *profile.Profile, shows func(function string) bool) {
	for _, l := range p.Location {
		l.Line = slices.DeleteFunc(l.Line, func(line profile.Line) bool {
			return line.Function == nil || !shows(line.Function.Name)
		})
	}
	isEmpty := func(l *profile.Location) bool { return len(l.Line) == 0 }
	for _, s := range p.Sample {
		s.Location = slices.DeleteFunc(s.Location, isEmpty)
	}
	p.Location = slices.DeleteFunc(p.Location, isEmpty)
	p.Function = slices.DeleteFunc(p.Function,
		func(f *profile.Function) bool { return !shows(f.Name) })
}

func (s *recording) shows(function string) bool {
	return !s.o.Remote || s.r.policy().Shows(function)
}

// takeProcess returns the growth of the profiles of the process, unless the session is released.
func (s *recording) takeProcess() (all []processProfile, failed uint64) {
	if s.processStart == nil || s.progress.ctx.Err() != nil {
		return nil, 0
	}
	all, errs := s.processStart.growth(s.id, s.shows)
	if len(errs) > 0 {
		s.r.c.Logger.Warn("perfline: a profiling session lacks profiles of the process",
			"session", s.id, "error", errors.Join(errs...))
	}
	return all, uint64(len(errs))
}

// ProcessProfiles returns the names of the session's profiles of the whole process. The list is
// empty unless StartOptions.Process was set. The profiles do not distinguish requests, because the
// runtime does not record the request of an allocation or a wait.
//
//   - "allocs" contains the allocations between the two garbage collections that the recorder runs.
//     The program's runtime.MemProfileRate controls the sampling. The values of memory in use are
//     differences, which may be negative.
//   - "mutex" contains the contention of mutexes. The profile is missing unless the program's mutex
//     profile fraction was above 0 at the start and at the stop.
//   - "block" contains the waits for channels, mutexes and other synchronization. The profile is
//     missing if the runtime recorded nothing, for example without a block profile rate.
//
// The runtime counts a wait when the wait ends. The profiles begin shortly before the session, and
// end shortly after the session. The profiles also contain the recorder's own work.
func (s *Session) ProcessProfiles() []string {
	names := make([]string, len(s.processProfiles))
	for i := range s.processProfiles {
		names[i] = s.processProfiles[i].name
	}
	return names
}

// WriteProcessProfile writes one profile of the process to w, in pprof's format. The parameter name
// must be a result of [Session.ProcessProfiles]. For other names, the error wraps [ErrNotFound]. If
// w fails, WriteProcessProfile returns the error of w.
func (s *Session) WriteProcessProfile(w io.Writer, name string) error {
	for i := range s.processProfiles {
		if s.processProfiles[i].name == name {
			_, err := w.Write(s.processProfiles[i].data)
			return err
		}
	}
	return fmt.Errorf("sessions: session %d: %w: profile %q of the process: must be one of %q",
		s.id, ErrNotFound, name, s.ProcessProfiles())
}
