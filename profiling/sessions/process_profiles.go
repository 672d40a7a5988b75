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

// The names of [Session.ProcessProfiles], which are the runtime's.
const (
	allocs = "allocs"
	mutex  = "mutex"
	block  = "block"
)

// maxProcessProfile bounds a profile of the process, in bytes of pprof's compressed format.
const maxProcessProfile = 16 << 20

// A processStart has the runtime's profiles at the start of a session. They count from the start of
// the program.
type processStart struct {
	at       time.Time
	max      int               // of a profile, in bytes
	profiles map[string][]byte // by name; nil if it could not be read
}

// newProcessStart reads the runtime's profiles. It makes a garbage collection first: without one,
// the profile of allocations lacks the newest.
func newProcessStart(most int) *processStart {
	runtime.GC()
	p := &processStart{at: time.Now(), max: most, profiles: map[string][]byte{}}
	for _, name := range []string{allocs, mutex, block} {
		if name == mutex && !mutexesAreProfiled() {
			continue
		}
		p.profiles[name], _ = p.read(name) // an error comes again at the end
	}
	return p
}

func mutexesAreProfiled() bool { return runtime.SetMutexProfileFraction(-1) > 0 }

// A processProfile is what one of the runtime's profiles grew by in a session.
type processProfile struct {
	name string
	data []byte // in pprof's format, compressed
}

// grown returns what the profiles have grown by since the start, without frames of functions that
// shows rejects.
func (p *processStart) grown(id SessionID, shows func(function string) bool) (all []processProfile,
	failed []error) {
	runtime.GC()
	end := time.Now()
	for _, name := range []string{allocs, mutex, block} {
		before, started := p.profiles[name]
		if !started || name == mutex && !mutexesAreProfiled() {
			continue
		}
		data, err := p.grownBy(name, before, end, id, shows)
		if err != nil {
			failed = append(failed, fmt.Errorf("profile %s of the process: %w", name, err))
		} else if data != nil {
			all = append(all, processProfile{name, data})
		}
	}
	return all, failed
}

func (p *processStart) grownBy(name string, before []byte, end time.Time, id SessionID,
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
	// without samples that did not grow
	grown, err := profile.Merge([]*profile.Profile{first, last})
	if err != nil {
		return nil, err
	}
	if name == block && len(grown.Sample) == 0 {
		return nil, nil // whether the program has set a rate cannot be read
	}
	hide(grown, shows)
	grown.TimeNanos, grown.DurationNanos = p.at.UnixNano(), int64(end.Sub(p.at))
	grown.Comments = append(grown.Comments,
		fmt.Sprintf("of the whole process, from the start of perfline's session %d to its stop",
			id))
	data := bounded{max: p.max}
	if err := grown.Write(&data); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

func (p *processStart) read(name string) ([]byte, error) {
	data := bounded{max: p.max}
	// runtime/pprof drops errors of its writer
	if err := cmp.Or(pprof.Lookup(name).WriteTo(&data, 0), data.err); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// bounded is a buffer with a limit.
type bounded struct {
	bytes.Buffer
	max int   // bytes
	err error // set when there was no room
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		b.err = fmt.Errorf("it has more than %d bytes, which is the most", b.max)
		return 0, b.err
	}
	return b.Buffer.Write(p)
}

// hide removes frames of functions that shows rejects. A stack may have no frame afterwards. Its
// values stay.
func hide(p *profile.Profile, shows func(function string) bool) {
	for _, l := range p.Location {
		l.Line = slices.DeleteFunc(l.Line,
			func(line profile.Line) bool {
				return line.Function == nil ||
					!shows(line.Function.Name)
			})
	}
	for _, s := range p.Sample {
		s.Location = slices.DeleteFunc(s.Location,
			func(l *profile.Location) bool { return len(l.Line) == 0 })
	}
	p.Location = slices.DeleteFunc(p.Location,
		func(l *profile.Location) bool { return len(l.Line) == 0 })
	p.Function = slices.DeleteFunc(p.Function,
		func(f *profile.Function) bool { return !shows(f.Name) })
}

// shows reports whether the session may show a function.
func (s *recording) shows(function string) bool {
	return !s.o.Remote || s.r.c.Policy.Shows(function)
}

// takeProcess takes what the profiles of the process have grown by, unless the session is released
// already.
func (s *recording) takeProcess() (all []processProfile, failed uint64) {
	if s.processStart == nil || s.progress.ctx.Err() != nil {
		return nil, 0
	}
	all, errs := s.processStart.grown(s.id, s.shows)
	if len(errs) > 0 {
		s.r.c.Logger.Warn("perfline: a profiling session lacks profiles of the process", "session",
			s.id, "error", errors.Join(errs...))
	}
	return all, uint64(len(errs))
}

// ProcessProfiles returns the names of the profiles of the whole process that the session has, or
// none without StartOptions.Process. The profiles are not of requests: the runtime does not know
// for which request a goroutine allocated or waited.
//
//   - "allocs" has all allocations between the two garbage collections that the session makes, as
//     the program's MemProfileRate samples them. Its values of memory in use are what the memory
//     grew by, which may be negative.
//   - "mutex" has contention of mutexes. It is missing unless the program's mutex profile fraction
//     was set at the start and at the stop.
//   - "block" has waiting for channels, mutexes and the like. It is missing if nothing was
//     recorded, which is also the case if the program has set no block profile rate.
//
// A wait counts when it ends. The profiles begin shortly before the session and end shortly after
// it, and have what the recorder did meanwhile.
func (s *Session) ProcessProfiles() []string {
	names := make([]string, len(s.processProfiles))
	for i := range s.processProfiles {
		names[i] = s.processProfiles[i].name
	}
	return names
}

// WriteProcessProfile writes one of [Session.ProcessProfiles] in pprof's format. The error wraps
// [ErrNotFound] for other names, or is w's.
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
