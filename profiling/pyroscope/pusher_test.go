package pyroscope

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
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
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// Every interval a profile of each kind is pushed, of the time since the last.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{t: t}
		began := time.Now()
		p := play(t, Config{HTTPClient: &http.Client{Transport: n}, UploadInterval: 10 * time.Second}, time.Now, &played{lengths: []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second, 2 * time.Second}})
		time.Sleep(32 * time.Second)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		s := p.Stats()
		wantStats(t, s, Stats{Accepted: 4 * perFlush, Sent: 4 * perFlush, State: profiling.Stopped, Engine: "played", Fallback: "a reason", LostSamples: 4, Gaps: 4, GapTime: 4 * time.Millisecond, BusyGaps: 4, BusyTime: 4 * time.Microsecond})
		for _, kind := range []string{"cpu", "heap", "goroutine"} {
			got := n.of(kind)
			if len(got) != 4 {
				t.Fatalf("%d profiles of kind %s, want 4", len(got), kind)
			}
			for i, r := range got {
				from, until := p.interval*time.Duration(i), min(p.interval*time.Duration(i+1), 32*time.Second)
				if r.from != fmt.Sprint(began.Add(from).UnixNano()) || r.until != fmt.Sprint(began.Add(until).UnixNano()) {
					t.Errorf("%s profile %d is from %s until %s, want from %v until %v after %d", kind, i, r.from, r.until, from, until, began.UnixNano())
				}
				if kind == "cpu" && (r.profile.TimeNanos != began.Add(from).UnixNano() || r.profile.DurationNanos != int64(until-from)) {
					t.Errorf("cpu profile %d is of %d, for %d ns", i, r.profile.TimeNanos, r.profile.DurationNanos)
				}
			}
		}
	})
}

// A wall clock that jumps counts from the next profile on, whose length it does not change.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			n := &network{t: t}
			var mu sync.Mutex // guards wall
			wall := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			now := func() time.Time {
				mu.Lock()
				defer mu.Unlock()
				return wall
			}
			p := play(t, Config{HTTPClient: &http.Client{Transport: n}}, now, &played{lengths: []time.Duration{15 * time.Second, 15 * time.Second}})
			want := []int64{}
			for _, after := range []time.Duration{15 * time.Second, 15*time.Second + jump} {
				mu.Lock()
				wall = wall.Add(after)
				want = append(want, wall.Add(-15*time.Second).UnixNano())
				mu.Unlock()
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for i, r := range n.of("cpu") {
				if r.profile.TimeNanos != want[i] || r.profile.DurationNanos != int64(15*time.Second) || r.from != fmt.Sprint(want[i]) {
					t.Errorf("profile %d is of %d and from %s, for %d ns, want of %d for 15 s", i, r.profile.TimeNanos, r.from, r.profile.DurationNanos, want[i])
				}
			}
		})
	}
}

// A session that ends is sent whole and another takes its place, which is said once.
func TestSessionEnds(t *testing.T) {
	n := &network{t: t}
	var log testLog
	failed := errors.New("engine failed")
	first, second, third := &played{stopNext: true, samples: 5}, &played{err: failed, samples: 4}, &played{}
	p := play(t, Config{HTTPClient: &http.Client{Transport: n}, Logger: log.logger()}, time.Now, first, second, third)
	counts := func(want ...int) {
		t.Helper()
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, r := range n.of("cpu") {
			got = append(got, len(r.profile.Sample))
		}
		n.mu.Lock()
		n.got = nil
		n.mu.Unlock()
		if !slices.Equal(got, want) {
			t.Errorf("profiles of %d samples, want %d", got, want)
		}
	}
	counts(1) // which ends the first
	second.mu.Lock()
	second.stopped = true // by itself
	second.mu.Unlock()
	counts(1)
	counts(1)
	if s := p.Stats(); s.Restarts != 2 || s.Failed != 0 {
		t.Errorf("counts are %+v", s)
	}
	log.want(t, "the CPU session for the server ended and was started again")
}

// Neither part is sent twice, or not at all, when the session ends just after one was taken.
func TestSessionEndsAfterACut(t *testing.T) {
	sessions := []session{endsAfter{&played{}}, &played{}}
	c := &cpuProfile{start: func(func()) (s session, _ error) { s, sessions = sessions[0], sessions[1:]; return s, nil }, full: make(chan struct{}, 1)}
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	parts, restarted, err := c.cut(false)
	if len(parts) != 2 || parts[0].Stopped != parts[1].Started || !restarted || err != nil {
		t.Errorf("%d parts, restarted %t, error %v", len(parts), restarted, err)
	}
}

// Its two parts are sent with the times that they are of.
func TestTimesOfALastPart(t *testing.T) {
	n := &network{t: t}
	first := true
	p, err := start(Config{ServerAddress: "http://server", Resource: service("app"), Logger: slog.New(slog.DiscardHandler), HTTPClient: &http.Client{Transport: n}},
		process{now: time.Now, snapshots: quiet, session: func(func()) (session, error) {
			if first {
				first = false
				return endsAfter{&played{}}, nil
			}
			return &played{}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	got := n.of("cpu")
	if len(got) != 2 || got[1].profile.TimeNanos-got[0].profile.TimeNanos != int64(time.Second) {
		t.Errorf("%d profiles, want two that follow each other", len(got))
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// endsAfter is a session that stops as soon as a trace was taken.
type endsAfter struct{ *played }

func (e endsAfter) TakeTrace() (*profile.Trace, error) {
	t, err := e.played.TakeTrace()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	return t, err
}

// While no session can be started the rest goes on, and each try is counted.
func TestNoNewSession(t *testing.T) {
	n := &network{t: t}
	var log testLog
	only := &played{stopNext: true}
	p := play(t, Config{HTTPClient: &http.Client{Transport: n}, Logger: log.logger()}, time.Now, only)
	before := p.Stats().State
	for range 2 {
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if without := p.Stats().State; before != profiling.Started || without != profiling.Stopped {
		t.Errorf("state %q before, %q without a session", before, without)
	}
	only.mu.Lock()
	only.stopped, only.stopNext, only.final = false, false, nil
	only.mu.Unlock()
	for range 2 { // the first finds it again
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(n.of("cpu")); got != 2 {
		t.Errorf("%d CPU profiles, want the one before and the one after", got)
	}
	if got := len(n.of("heap")); got != 4 {
		t.Errorf("%d heap profiles, want 4", got)
	}
	if s := p.Stats(); s.Failed != 2 || s.Restarts != 0 || s.State != profiling.Started {
		t.Errorf("counts are %+v", s)
	}
	log.want(t, "no cpu profile could be taken; more of them may fail, which are counted\" error=\"no more sessions")
}

// A session whose buffer is full is sent before its interval is over.
func TestFullSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{t: t}
		first := &played{}
		p := play(t, Config{HTTPClient: &http.Client{Transport: n}, UploadInterval: maxInterval}, time.Now, first, &played{})
		first.mu.Lock()
		first.stopped = true
		first.mu.Unlock()
		first.full()
		first.full()
		synctest.Wait()
		if got := len(n.of("cpu")); got < 1 || p.Stats().Restarts != 1 {
			t.Errorf("%d profiles, counts %+v", got, p.Stats())
		}
	})
}

// A kind that cannot be taken is said once, and does not keep others from being taken.
func TestSnapshotPanics(t *testing.T) {
	var log testLog
	taken := 0
	p, err := start(Config{
		ServerAddress: "http://server", ApplicationName: "app", Resource: service("app"), Logger: log.logger(), HTTPClient: &http.Client{Transport: takesAll{}},
	}, process{now: time.Now, session: func(func()) (session, error) { return &played{}, nil }, snapshots: func(fitter) []snapshot {
		return []snapshot{
			{kind: "heap", take: func(io.Writer) error { panic("no such layout") }},
			{kind: "mutex", take: func(io.Writer) error { return errors.New("no such profile") }},
			{kind: "block", take: func(w io.Writer) error { taken++; _, err := io.WriteString(w, "x"); return err }},
			{kind: "empty", take: func(io.Writer) error { return nil }},
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	// Start takes each once, for what was before.
	if s := p.Stats(); taken != 1+3 || s.Failed != 3*2 || s.Accepted != 3*2 {
		t.Errorf("block was taken %d times, counts are %+v", taken, s)
	}
	log.want(t, `no heap profile could be taken; more of them may fail, which are counted" error="panic: no such layout"`, `no mutex profile could be taken; more of them may fail, which are counted" error="no such profile"`)
}

// takesAll is a server that takes what it is sent.
type takesAll struct{}

func (takesAll) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// A large profile of the runtime's is sent in parts as well.
func TestLargeSnapshot(t *testing.T) {
	of := func(p *pprofpb.Profile) int {
		s := snapshot{kind: "heap", take: p.Write}
		all, err := s.uploads(time.Now(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if small, large := of(flat(100, 0)), of(flat(2*maxSamples, 0)); small != 1 || large != 2 {
		t.Errorf("%d and %d parts, want 1 and 2", small, large)
	}
}

// Without anything to tell no profile is taken.
func TestEmptySnapshot(t *testing.T) {
	for records, want := range map[int]int{0: 0, 1: 1} {
		taken := 0
		s := snapshot{take: unlessEmpty(
			func([]runtime.BlockProfileRecord) (int, bool) { return records, false },
			func(w io.Writer) error { taken++; _, err := io.WriteString(w, "x"); return err })}
		all, err := s.uploads(time.Now(), time.Now())
		if taken != want || len(all) != want || err != nil {
			t.Errorf("with %d records it was taken %d times for %d uploads, error %v, want %d", records, taken, len(all), err, want)
		}
	}
}

// An idle program has nothing to say of its CPU.
func TestNothingRan(t *testing.T) {
	c := &cpuProfile{}
	got, err := c.uploads(&profile.Trace{Stopped: time.Second}, time.Now())
	if len(got) != 0 || err != nil {
		t.Errorf("%d uploads, error %v", len(got), err)
	}
}

func TestNotAllowed(t *testing.T) {
	t.Setenv(profiling.EnvVariable, "off")
	if _, err := Start(t.Context(), Config{ServerAddress: "http://127.0.0.1:1", Resource: service("app")}); !errors.Is(err, profiling.ErrNotAllowed) {
		t.Errorf("error %v, want one of ErrNotAllowed", err)
	}
}

// What the server gets is what its own client sends.
func TestRequests(t *testing.T) {
	fraction := runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetMutexProfileFraction(fraction)
	defer runtime.SetBlockProfileRate(0)
	n := &network{t: t}
	p, err := start(Config{
		ServerAddress: "http://server/base", Resource: service("app"), ApplicationName: "shop", Tags: map[string]string{"zone": "a b&c", "k8s.pod": "x"}, TenantID: "tenant",
		BasicAuthUser: "user", BasicAuthPassword: "pass", Headers: map[string]string{"X-A": "b"}, HTTPClient: &http.Client{Transport: n},
	}, process{now: time.Now, snapshots: snapshots, session: func(func()) (session, error) { return &played{}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Shutdown(context.Background()) }()
	// Whether one waits for the other is chance: until the runtime has seen it.
	for seen := false; !seen; {
		var mu sync.Mutex
		mu.Lock()
		waited := make(chan struct{})
		go func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // contention is wanted
			close(waited)
		}()
		runtime.Gosched()
		mu.Unlock()
		<-waited
		mutexes, _ := runtime.MutexProfile(nil)
		blocks, _ := runtime.BlockProfile(nil)
		seen = mutexes > 0 && blocks > 0
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	series := regexp.MustCompile(`^shop\{__session_id__=[0-9a-f]{16},k8s_pod=x,zone=a b&c\}$`)
	for _, c := range []struct {
		kind, rate, units, aggregation string
		types                          map[string]string // display name, units, aggregation
	}{
		{"cpu", "100", "samples", "sum", nil},
		{"goroutine", "0", "goroutines", "average", map[string]string{"goroutine": "goroutines goroutines average"}},
		{"heap", "0", "", "", map[string]string{
			"alloc_objects": " objects ", "alloc_space": " bytes ", "inuse_objects": " objects average", "inuse_space": " bytes average",
		}},
		{"mutex_duration", "0", "", "", map[string]string{"contentions": "mutex_count lock_samples ", "delay": "mutex_duration lock_nanoseconds "}},
		{"block_duration", "0", "", "", map[string]string{"contentions": "block_count lock_samples ", "delay": "block_duration lock_nanoseconds "}},
	} {
		got := n.of(c.kind)
		if len(got) != 1 {
			t.Errorf("%d profiles of kind %s, want 1", len(got), c.kind)
			continue
		}
		r := got[0]
		user, pass, _ := (&http.Request{Header: r.header}).BasicAuth()
		if r.path != "/base/ingest" || user != "user" || pass != "pass" || r.header.Get("X-Scope-OrgID") != "tenant" || r.header.Get("X-A") != "b" {
			t.Errorf("%s: to %s with %v", c.kind, r.path, r.header)
		}
		if !series.MatchString(r.name) {
			t.Errorf("%s: series %s", c.kind, r.name)
		}
		if r.spy != "gospy" || r.rate != c.rate || r.units != c.units || r.aggregation != c.aggregation || len(r.types) != len(c.types) {
			t.Errorf("%s: spy %s, rate %s, units %s, aggregation %s, types %v", c.kind, r.spy, r.rate, r.units, r.aggregation, r.types)
		}
		for name, want := range c.types {
			if ty := r.types[name]; ty == nil || fmt.Sprint(ty.DisplayName, " ", ty.Units, " ", ty.Aggregation) != want || ty.Cumulative {
				t.Errorf("%s: type %s is shown as %+v, want %s", c.kind, name, ty, want)
			}
		}
	}
}

// Two processes, or two pushers, are two series.
func TestSessionID(t *testing.T) {
	n := &network{t: t}
	names := map[string]bool{}
	for range 2 {
		p := play(t, Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{})
		id := strings.TrimSuffix(strings.TrimPrefix(p.series, "app{__session_id__="), "}")
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != 8 {
			t.Errorf("series %s", p.series)
		}
		names[p.series] = true
	}
	if len(names) != 2 {
		t.Errorf("series %v, want two", names)
	}
}

// The whole of it over the real profiler: what ran arrives with its labels, made fit, and
// goroutines with theirs but for ids. The pusher's own time is not that of whoever started it.
func TestRealProfiler(t *testing.T) {
	n := &network{t: t}
	var p *Pusher
	var err error
	pprof.Do(t.Context(), pprof.Labels("starter", "x"), func(ctx context.Context) {
		p, err = Start(ctx, Config{ServerAddress: "http://server", HTTPClient: &http.Client{Transport: n}, Resource: service("app")})
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var parked sync.WaitGroup
	for i := range 3 {
		parked.Go(func() {
			labels := pprof.Labels("span_id", fmt.Sprintf("%016x", i), "trace_id", "01", "span_name", "GET /", "job.kind", "parked\xff")
			pprof.Do(t.Context(), labels, func(context.Context) { <-stop })
		})
	}
	pprof.Do(t.Context(), pprof.Labels("job.kind", strings.Repeat("é", 2000)), func(context.Context) { burn(time.Second) })
	err = p.Flush(t.Context())
	close(stop)
	parked.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	var labelled, all time.Duration
	for _, r := range n.of("cpu")[:1] {
		if d := time.Since(time.Unix(0, r.profile.TimeNanos)); d > time.Minute || d < time.Duration(r.profile.DurationNanos) {
			t.Errorf("the profile began %v ago, for %v", d, time.Duration(r.profile.DurationNanos))
		}
		for _, s := range r.profile.Sample {
			all += time.Duration(s.Value[1])
			if l := s.Label["job_kind"]; len(l) == 1 && l[0] == strings.Repeat("é", 1024) {
				labelled += time.Duration(s.Value[1])
			}
		}
	}
	// On a busy machine the kernel leaves out more than half of the samples, which is more than
	// weights are made good for.
	if labelled < 300*time.Millisecond || labelled < all/2 {
		t.Errorf("%v of %v have the label, want most, and of the second that it took 300ms at least", labelled, all)
	}
	found := false
	for _, s := range n.of("goroutine")[0].profile.Sample {
		own := slices.ContainsFunc(s.Location, func(l *pprofpb.Location) bool {
			return strings.Contains(l.Line[0].Function.Name, "pyroscope.(*Pusher)") || strings.Contains(l.Line[0].Function.Name, "queue.(*Queue")
		})
		if own && s.Label["starter"] != nil {
			t.Errorf("the pusher's goroutine has its starter's labels: %v", s.Label)
		}
		if s.Label["span_id"] != nil || s.Label["trace_id"] != nil {
			t.Errorf("goroutines have ids: %v", s.Label)
		}
		if l := s.Label["job_kind"]; len(l) == 1 && l[0] == "parked\uFFFD" {
			found = true
			if s.Value[0] != 3 || s.Label["span_name"][0] != "GET /" {
				t.Errorf("%d goroutines with %v, want the 3 as one sample", s.Value[0], s.Label)
			}
		}
	}
	if !found {
		t.Error("the goroutines with a label are not in their profile")
	}
	if s := p.Stats(); s.Sent != s.Accepted || s.Failed != 0 || s.Accepted < 5 {
		t.Errorf("counts are %+v", s)
	}
}

// A pusher that has no CPU profile because other code has the profiler says so, before and after
// Shutdown.
func TestProfilerInUseElsewhere(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	n := &network{t: t}
	var log testLog
	p, err := Start(t.Context(), Config{ServerAddress: "http://server", HTTPClient: &http.Client{Transport: n}, Resource: service("app"), Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.State != profiling.Paused || s.BusyGaps != 1 || s.BusyTime <= 0 || s.Failed != 0 {
		t.Errorf("counts are %+v, want it paused, and how long", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.BusyGaps != 2 || s.BusyTime != s.GapTime || s.Failed != 1 {
		t.Errorf("counts are %+v, want all time busy and a profile that could not be taken", s)
	}
	if got := n.of("cpu"); len(got) != 0 {
		t.Errorf("%d CPU profiles", len(got))
	}
	log.want(t, "no cpu profile could be taken")
	log.want(t, profiling.ErrBusy.Error())
}

// The clock of a timeline in ctx does not tell the length of a profile.
func TestTimelineWithAClock(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return time.Hour }})
	n := &network{t: t}
	p, err := Start(observer.NewContext(t.Context(), tl), Config{ServerAddress: "http://server", HTTPClient: &http.Client{Transport: n}, Resource: service("app")})
	if err != nil {
		t.Fatal(err)
	}
	for len(n.of("cpu")) == 0 {
		burn(50 * time.Millisecond)
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := time.Duration(n.of("cpu")[0].profile.DurationNanos); d <= 0 {
		t.Errorf("the profile is of %v", d)
	}
}

// burn uses so much of a processor, however long the machine takes to give it; where that is
// not known, it takes so long.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := sampling.ThreadCPU
	if used() == 0 {
		began := time.Now()
		used = func() time.Duration { return time.Since(began) }
	}
	for from := used(); used()-from < d; {
		for i := range 1000 {
			sink += i * i
		}
	}
}

var sink int

// Everything may be called from everywhere.
func TestConcurrently(t *testing.T) {
	n := &network{t: t}
	p := play(t, Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if err := p.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				_ = p.Stats()
			}
		})
	}
	all.Wait()
	for range 4 {
		all.Go(func() {
			_ = p.Shutdown(t.Context())
			_ = p.Flush(t.Context())
		})
	}
	all.Wait()
	if s := p.Stats(); s.Sent != s.Accepted || s.Sent != s.LostSamples*perFlush || s.Sent < 21*perFlush {
		t.Errorf("counts are %+v", s)
	}
}

// Shutdown does not wait for a session that does not end.
func TestShutdownWhileASessionHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		p := play(t, Config{HTTPClient: &http.Client{Transport: &network{t: t}}}, time.Now, &played{hold: ended})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := p.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the last profiles were not taken") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		close(ended)
		<-p.done
	})
}
