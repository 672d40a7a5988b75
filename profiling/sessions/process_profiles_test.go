package sessions_test

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// A processSession is a session with profiles of the process.
func processSession(t *testing.T, c sessions.Config, o sessions.StartOptions, work func()) *sessions.Session {
	t.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	t.Cleanup(tl.Close)
	c.Timeline = tl
	r := sessions.NewRecorder(c)
	t.Cleanup(r.Close)
	o.Process, o.NoSamples = true, true
	id, err := r.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	work()
	s, err := r.Stop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Stats().ProcessFailed > 0 {
		t.Errorf("%d profiles of the process failed", s.Stats().ProcessFailed)
	}
	return s
}

// values adds up the values of the samples of a function, by the type of the value.
func values(t *testing.T, s *sessions.Session, name, function string) map[string]int64 {
	t.Helper()
	p := parsed(t, s, name)
	sums := map[string]int64{}
	for _, sample := range p.Sample {
		if size := sample.NumLabel["bytes"]; name == sessions.Allocs && !slices.Equal(size, []int64{objectSize}) {
			continue // what the runtime allocated for itself meanwhile
		}
		if calls(sample, function) {
			for i, typ := range p.SampleType {
				sums[typ.Type] += sample.Value[i]
			}
		}
	}
	return sums
}

// calls reports whether a sample's stack has a function.
func calls(s *pprofpb.Sample, function string) bool {
	return slices.ContainsFunc(s.Location, func(l *pprofpb.Location) bool {
		return slices.ContainsFunc(l.Line, func(l pprofpb.Line) bool { return strings.HasSuffix(l.Function.Name, function) })
	})
}

func parsed(t *testing.T, s *sessions.Session, name string) *pprofpb.Profile {
	t.Helper()
	var data bytes.Buffer
	if err := s.WriteProcessProfile(&data, name); err != nil {
		t.Fatal(err)
	}
	p, err := pprofpb.Parse(&data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// everything has the runtime profile everything until the test ends.
func everything(t *testing.T) {
	t.Helper()
	rate, fraction := runtime.MemProfileRate, runtime.SetMutexProfileFraction(1)
	runtime.MemProfileRate = 1
	runtime.SetBlockProfileRate(1)
	t.Cleanup(func() {
		runtime.MemProfileRate = rate
		runtime.SetMutexProfileFraction(fraction)
		runtime.SetBlockProfileRate(0)
	})
}

const objectSize = 64 << 10

var allocated []byte

//go:noinline
func allocate(times int) {
	for range times {
		allocated = make([]byte, objectSize)
	}
}

// contend has a goroutine wait for a mutex, and waits for the goroutine, until the runtime has a record of both in contend
// itself. It may have one of the goroutine alone, in contend's function literal, when that ends first.
//
//go:noinline
func contend(t *testing.T) {
	t.Helper()
	count := func(name string) (n int64) {
		var data bytes.Buffer
		if err := pprof.Lookup(name).WriteTo(&data, 0); err != nil {
			t.Fatal(err)
		}
		p, err := pprofpb.Parse(&data)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.Sample {
			if calls(s, "sessions_test.contend") {
				n += s.Value[0]
			}
		}
		return n
	}
	for mutexes, blocks := count("mutex"), count("block"); count("mutex") == mutexes || count("block") == blocks; {
		var mu sync.Mutex
		var waiter sync.WaitGroup
		mu.Lock()
		waiter.Go(func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // contention is wanted
		})
		time.Sleep(time.Millisecond) // the waiter may have come by then, or comes in another round
		mu.Unlock()
		waiter.Wait()
	}
}

// The profiles of the process have exactly what happened between start and stop.
func TestProcessProfiles(t *testing.T) {
	everything(t)
	contend(t)
	allocate(30) // without a collection, the runtime publishes them in the session
	began := time.Now()
	s := processSession(t, sessions.Config{}, sessions.StartOptions{}, func() {
		allocate(20)
		contend(t)
	})
	length := time.Since(began)
	allocate(7)
	if got, want := s.ProcessProfiles(), []string{sessions.Allocs, sessions.Mutex, sessions.Block}; !slices.Equal(got, want) {
		t.Fatalf("the session has the profiles %q, want %q", got, want)
	}
	if got := values(t, s, sessions.Allocs, "sessions_test.allocate"); got["alloc_objects"] != 20 || got["alloc_space"] != 20*objectSize {
		t.Errorf("allocations are %v, want 20 objects of 64 KiB", got)
	}
	for _, name := range []string{sessions.Mutex, sessions.Block} {
		if got := values(t, s, name, "sessions_test.contend"); got["contentions"] < 1 || got["delay"] <= 0 || time.Duration(got["delay"]) > length {
			t.Errorf("profile %s has %v in a session of %v", name, got, length)
		}
	}
	p := parsed(t, s, sessions.Mutex)
	if p.TimeNanos < began.UnixNano() || p.DurationNanos <= 0 || p.DurationNanos > int64(length) || len(p.Comments) != 1 || !strings.Contains(p.Comments[0], "of the whole process") {
		t.Errorf("it is of %v, for %v, with the comments %q", time.Unix(0, p.TimeNanos), time.Duration(p.DurationNanos), p.Comments)
	}
	var none bytes.Buffer
	if err := s.WriteProcessProfile(&none, "heap"); !errors.Is(err, sessions.ErrNotFound) || !strings.Contains(err.Error(), `"heap"`) || none.Len() > 0 {
		t.Errorf("a profile that does not exist: error %v, %d bytes", err, none.Len())
	}
}

// A quiet session of a program that profiles mutexes has an empty profile of them, which is the truth. Without a rate, there is
// none.
func TestProcessProfilesOfQuietSessions(t *testing.T) {
	if got, want := processSession(t, sessions.Config{}, sessions.StartOptions{}, func() {}).ProcessProfiles(), []string{sessions.Allocs}; !slices.Equal(got, want) {
		t.Errorf("without rates, the session has the profiles %q, want %q", got, want)
	}
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1_000_000))
	if got, want := processSession(t, sessions.Config{}, sessions.StartOptions{}, func() {}).ProcessProfiles(), []string{sessions.Allocs, sessions.Mutex}; !slices.Equal(got, want) {
		t.Errorf("the session has the profiles %q, want %q", got, want)
	}
	off := processSession(t, sessions.Config{}, sessions.StartOptions{}, func() { runtime.SetMutexProfileFraction(0) })
	if got, want := off.ProcessProfiles(), []string{sessions.Allocs}; !slices.Equal(got, want) {
		t.Errorf("mutexes were profiled for a part of the session, it has the profiles %q, want %q", got, want)
	}
}

// A client outside sees the functions that the policy shows. The values stay.
func TestProcessProfilesForClientsOutside(t *testing.T) {
	everything(t)
	for _, c := range []struct {
		modules []string
		own     int64
	}{{nil, 20}, {[]string{profiling.ModuleStandard}, 0}} {
		s := processSession(t, sessions.Config{Policy: profiling.Policy{Remote: true, Modules: c.modules}}, sessions.StartOptions{Remote: true}, func() { allocate(20) })
		if got := values(t, s, sessions.Allocs, "sessions_test.allocate")["alloc_objects"]; got != c.own {
			t.Errorf("modules %q: %d objects in the test's function, want %d", c.modules, got, c.own)
		}
		all := int64(0)
		for _, sample := range parsed(t, s, sessions.Allocs).Sample {
			if slices.Equal(sample.NumLabel["bytes"], []int64{objectSize}) {
				all += sample.Value[0]
			}
		}
		if all < 20 {
			t.Errorf("modules %q: %d objects, want at least 20", c.modules, all)
		}
	}
}

// A profile of the process that is too large is counted and logged, and the session goes on without it.
func TestProcessProfilesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where no callback is late, which is logged, too
		var log bytes.Buffer
		tl := observer.NewTimeline(observer.TimelineOptions{})
		defer tl.Close()
		r := sessions.NewRecorder(sessions.Config{Timeline: tl, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer r.Close()
		r.LimitProcessProfiles(100)
		id, err := r.Start(t.Context(), sessions.StartOptions{NoSamples: true, Process: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Stop(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got, failed := s.ProcessProfiles(), s.Stats().ProcessFailed; len(got) > 0 || failed < 1 {
			t.Errorf("the session has the profiles %q, and %d failed", got, failed)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "profile allocs of the process: it has more than 100 bytes") {
			t.Errorf("logged %s", got)
		}
	})
}

// Profiles of the process are for sessions that begin at once and hide nothing.
func TestProcessProfilesRefused(t *testing.T) {
	r := sessions.NewRecorder(sessions.Config{})
	defer r.Close()
	for want, o := range map[string]sessions.StartOptions{
		`Process with Route "GET /"`:    {Process: true, Route: "GET /"},
		`Process with Modules ["main"]`: {Process: true, Modules: []string{profiling.ModuleMain}},
	} {
		if _, err := r.Start(t.Context(), o); !errors.Is(err, sessions.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want ErrInvalid with %s", err, want)
		}
	}
	s := recorded(t, r)
	if got := s.ProcessProfiles(); len(got) > 0 {
		t.Errorf("without Process, the session has the profiles %q", got)
	}
}

// recorded is a session of nothing.
func recorded(t *testing.T, r *sessions.Recorder) *sessions.Session {
	t.Helper()
	id, err := r.Start(t.Context(), sessions.StartOptions{NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Stop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
