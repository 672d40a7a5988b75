package pyroscope_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// Every interval a profile of each kind is pushed, of the time since the last.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{t: t}
		began := time.Now()
		const interval = 10 * time.Second
		p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}, UploadInterval: interval}, time.Now, &played{lengths: []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second, 2 * time.Second}})
		time.Sleep(32 * time.Second)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		s := p.Stats()
		wantStats(t, s, profiling.ExporterStats{Accepted: 4 * perFlush, Delivered: 4 * perFlush, ContinuousStats: profiling.ContinuousStats{
			State: profiling.Stopped, Engine: "played", Fallback: "a reason", LostSamples: 4,
			Gaps: 4, GapTime: 4 * time.Millisecond,
		}})
		for _, kind := range []string{"cpu", "heap", "goroutine"} {
			got := n.of(kind)
			if len(got) != 4 {
				t.Fatalf("%d profiles of kind %s, want 4", len(got), kind)
			}
			for i, r := range got {
				from, until := interval*time.Duration(i), min(interval*time.Duration(i+1), 32*time.Second)
				at, length := began.Add(until), time.Duration(0) // a snapshot is of the time when it is taken
				if kind == "cpu" {
					at, length = began.Add(from), until-from
				}
				if r.profile.TimeNanos != at.UnixNano() || r.profile.DurationNanos != int64(length) {
					t.Errorf("%s profile %d is of %v, for %d ns, want of %v for %v", kind, i, time.Unix(0, r.profile.TimeNanos), r.profile.DurationNanos, at, length)
				}
			}
		}
	})
}

// The samples of a pushed profile stand for the CPU time of the process.
func TestPushedSamplesStandForTheCPUTime(t *testing.T) {
	n := &network{t: t}
	p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{samples: 30, cpuTime: 450 * time.Millisecond})
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	for _, r := range n.of("cpu") {
		var samples, cpu int64
		for _, s := range r.profile.Sample {
			samples, cpu = samples+s.Value[0], cpu+s.Value[1]
		}
		if samples != 30 || cpu != int64(450*time.Millisecond) {
			t.Errorf("%d samples stand for %v, want 30 and 450ms", samples, time.Duration(cpu))
		}
	}
	if len(n.of("cpu")) != 1 {
		t.Errorf("%d profiles, want 1", len(n.of("cpu")))
	}
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
			p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}}, now, &played{lengths: []time.Duration{15 * time.Second, 15 * time.Second}})
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
				if r.profile.TimeNanos != want[i] || r.profile.DurationNanos != int64(15*time.Second) {
					t.Errorf("profile %d is of %d, for %d ns, want of %d for 15 s", i, r.profile.TimeNanos, r.profile.DurationNanos, want[i])
				}
			}
		})
	}
}

// A profiler that ends is read to its end, and another takes its place. The log has one line.
func TestProfilerEnds(t *testing.T) {
	n := &network{t: t}
	var log testLog
	failed := errors.New("engine failed")
	first, second, third := &played{stopNext: true, samples: 5}, &played{err: failed, samples: 4}, &played{}
	p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}, Logger: log.logger()}, time.Now, first, second, third)
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
	log.want(t, "CPU profiling ended and was restarted; further restarts are counted in Stats.Restarts but not logged")
}

// Each part is sent once, with its own times, when the profiler ends just after a cut.
func TestProfilerEndsAfterACut(t *testing.T) {
	n := &network{t: t}
	first := true
	p, err := pyroscope.StartProcess(pyroscope.Config{ServerAddress: "http://server", Resource: service("app"), Logger: slog.New(slog.DiscardHandler), HTTPClient: &http.Client{Transport: n}},
		pyroscope.Process{Now: time.Now, Runtime: 2, Profiler: func(func()) (pyroscope.Profiler, error) {
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
	if len(got) != 2 || got[1].profile.TimeNanos-got[0].profile.TimeNanos != int64(time.Second) || got[0].profile.DurationNanos != int64(time.Second) {
		t.Errorf("%d profiles, want two that follow each other", len(got))
	}
	if s := p.Stats(); s.Restarts != 1 || s.Failed != 0 {
		t.Errorf("counts are %+v", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// endsAfter is a profiler that stops as soon as a trace was taken.
type endsAfter struct{ *played }

func (e endsAfter) TakeTrace() (*profile.Trace, error) {
	t, err := e.played.TakeTrace()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	return t, err
}

// While no profiler can be started, other profiles are pushed, and each failure is counted.
func TestNoNewProfiler(t *testing.T) {
	n := &network{t: t}
	var log testLog
	only := &played{stopNext: true}
	p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}, Logger: log.logger()}, time.Now, only)
	before := p.Stats().State
	for range 2 {
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if without := p.Stats().State; before != profiling.Started || without != profiling.Stopped {
		t.Errorf("state %q before, %q without a profiler", before, without)
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
	log.want(t, "taking a cpu profile failed; further failures are counted in Stats.Failed but not logged\" error=\"no more profilers")
}

// A profiler whose buffer is full is read before the interval is over.
func TestFullProfiler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{t: t}
		first := &played{}
		p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}, UploadInterval: 30 * time.Minute}, time.Now, first, &played{})
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

// A kind that fails has one line in the log, and does not keep others from being taken.
func TestSnapshotPanics(t *testing.T) {
	var log testLog
	taken := 0
	p, err := pyroscope.StartProcess(pyroscope.Config{
		ServerAddress: "http://server", ApplicationName: "app", Resource: service("app"), Logger: log.logger(), HTTPClient: &http.Client{Transport: takesAll{}},
	}, pyroscope.Process{Now: time.Now, Profiler: func(func()) (pyroscope.Profiler, error) { return &played{}, nil }, Snapshots: []pyroscope.Snapshot{
		{"heap", func(io.Writer) error { panic("no such layout") }},
		{"mutex", func(io.Writer) error { return errors.New("no such profile") }},
		{"block", func(w io.Writer) error { taken++; _, err := io.WriteString(w, "x"); return err }},
		{"empty", func(io.Writer) error { return nil }},
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
	log.want(t, `taking a heap profile failed; further failures are counted in Stats.Failed but not logged" error="panic: no such layout"`, `taking a mutex profile failed; further failures are counted in Stats.Failed but not logged" error="no such profile"`)
}

// takesAll is a server that takes what it is sent.
type takesAll struct{}

func (takesAll) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// An idle program sends no CPU profile.
func TestNothingRan(t *testing.T) {
	n := &network{t: t}
	p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{idle: true})
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if got := n.kinds(); got != "heap goroutine" || p.Stats().Failed != 0 {
		t.Errorf("the server was sent %s, counts are %+v", got, p.Stats())
	}
}

func TestNotAllowed(t *testing.T) {
	t.Setenv("PERFLINE_PROFILING", "off")
	if _, err := pyroscope.Start(t.Context(), pyroscope.Config{ServerAddress: "http://127.0.0.1:1", Resource: service("app")}); !errors.Is(err, profiling.ErrNotAllowed) {
		t.Errorf("error %v, want one of ErrNotAllowed", err)
	}
}

// A request has the labels by which the server makes the series of pyroscope-go's profiles, and the configured headers.
func TestRequests(t *testing.T) {
	fraction := runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetMutexProfileFraction(fraction)
	defer runtime.SetBlockProfileRate(0)
	n := &network{t: t}
	p, err := pyroscope.StartProcess(pyroscope.Config{
		ServerAddress: "http://server/base", Resource: service("app"), ApplicationName: "shop", Tags: map[string]string{"zone": "a b&c,}", "k8s.pod": "x"}, TenantID: "tenant",
		BasicAuthUser: "user", BasicAuthPassword: "pass", Headers: map[string]string{"X-A": "b"}, HTTPClient: &http.Client{Transport: n},
	}, pyroscope.Process{Now: time.Now, Runtime: 4, Profiler: func(func()) (pyroscope.Profiler, error) { return &played{}, nil }})
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
		time.Sleep(time.Millisecond) // it may have come by then, or comes in another round
		mu.Unlock()
		<-waited
		mutexes, _ := runtime.MutexProfile(nil)
		blocks, _ := runtime.BlockProfile(nil)
		seen = mutexes > 0 && blocks > 0
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for kind, name := range map[string]string{"cpu": "process_cpu", "heap": "memory", "goroutine": "goroutines", "mutex": "mutex", "block": "block"} {
		got := n.of(kind)
		if len(got) != 1 {
			t.Errorf("%d profiles of kind %s, want 1", len(got), kind)
			continue
		}
		r := got[0]
		user, pass, _ := (&http.Request{Header: r.header}).BasicAuth()
		if r.path != "/base/push.v1.PusherService/Push" || user != "user" || pass != "pass" || r.header.Get("X-Scope-OrgID") != "tenant" || r.header.Get("X-A") != "b" {
			t.Errorf("%s: to %s with %v", kind, r.path, r.header)
		}
		want := map[string]string{
			"__name__": name, "__delta__": "false", "__session_id__": r.labels["__session_id__"], "pyroscope_spy": "gospy",
			"service_name": "shop", "k8s_pod": "x", "zone": "a b&c,}",
		}
		if !maps.Equal(r.labels, want) {
			t.Errorf("%s: labels %q, want %q", kind, r.labels, want)
		}
	}
}

// Two processes, or two pushers, are two series. All profiles of a pusher are of one.
func TestInstances(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	instances, ids := map[string]bool{}, map[string]bool{}
	for range 2 {
		n := &network{t: t}
		p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{})
		if err := p.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		for _, r := range n.got {
			instance := r.labels["__session_id__"]
			if raw, err := hex.DecodeString(instance); err != nil || len(raw) != 8 {
				t.Errorf("the instance is %q, want 16 hexadecimal digits", instance)
			}
			if !uuid.MatchString(r.id) {
				t.Errorf("the profile's id is %q, want a random UUID", r.id)
			}
			instances[instance], ids[r.id] = true, true
		}
	}
	if len(instances) != 2 || len(ids) != 2*perFlush {
		t.Errorf("%d instances, %d ids of profiles, want 2 and %d", len(instances), len(ids), 2*perFlush)
	}
}

// What ran arrives with its labels, made fit, and goroutines with theirs but for ids. The pusher's own time does
// not count for the goroutine that started it.
func TestLabelsArrive(t *testing.T) {
	n := &network{t: t}
	var p profiling.Exporter
	pprof.Do(t.Context(), pprof.Labels("starter", "x"), func(context.Context) {
		p = play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{contexts: []profile.SampleContext{
			{Labels: []profile.Label{{Key: "job.kind", Value: strings.Repeat("é", 2000)}}},
		}})
	})
	parkedFlush(t, p)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range n.of("cpu")[0].profile.Sample {
		if l := s.Label["job_kind"]; len(l) != 1 || l[0] != strings.Repeat("é", 1024) {
			t.Errorf("a sample has the label job_kind=%q", l)
		}
	}
	wantParked(t, n)
	if s := p.Stats(); s.Delivered != s.Accepted || s.Failed != 0 || s.Accepted < 5 {
		t.Errorf("counts are %+v", s)
	}
}

// parkedFlush flushes while three goroutines with labels wait.
func parkedFlush(t *testing.T, p profiling.Exporter) {
	t.Helper()
	stop := make(chan struct{})
	var parked, ready sync.WaitGroup
	for i := range 3 {
		ready.Add(1)
		parked.Go(func() {
			labels := pprof.Labels("span_id", fmt.Sprintf("%016x", i), "trace_id", "01", "span_name", "GET /", "job.kind", "parked\xff")
			pprof.Do(t.Context(), labels, func(context.Context) { park(&ready, stop) })
		})
	}
	ready.Wait()
	err := p.Flush(t.Context())
	close(stop)
	parked.Wait()
	if err != nil {
		t.Fatal(err)
	}
}

//go:noinline
func park(ready *sync.WaitGroup, stop <-chan struct{}) {
	ready.Done()
	<-stop
}

// wantParked wants the goroutines of parkedFlush in their profile, and none with ids or with the labels of the one that
// started the pusher.
func wantParked(t *testing.T, n *network) {
	t.Helper()
	found := int64(0)
	for _, s := range n.of("goroutine")[0].profile.Sample {
		own := slices.ContainsFunc(s.Location, func(l *pprofpb.Location) bool {
			return strings.Contains(l.Line[0].Function.Name, "continuous.(*Source)") || strings.Contains(l.Line[0].Function.Name, "queue.(*Queue")
		})
		if own && s.Label["starter"] != nil {
			t.Errorf("the pusher's goroutine has its starter's labels: %v", s.Label)
		}
		if s.Label["span_id"] != nil || s.Label["trace_id"] != nil {
			t.Errorf("goroutines have ids: %v", s.Label)
		}
		if l := s.Label["job_kind"]; len(l) == 1 && l[0] == "parked\uFFFD" {
			found += s.Value[0]
			if s.Label["span_name"][0] != "GET /" {
				t.Errorf("%d goroutines with %v, want the span's name", s.Value[0], s.Label)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d goroutines with the label are in their profile, want 3", found)
	}
}

// A pusher that has no CPU profile because other code has the profiler reports that in its counts, before and after
// Shutdown.
func TestProfilerInUseElsewhere(t *testing.T) {
	for pprof.StartCPUProfile(io.Discard) != nil { // a profile of another test is still being ended
		time.Sleep(time.Millisecond)
	}
	defer pprof.StopCPUProfile()
	n := &network{t: t}
	var log testLog
	p, err := pyroscope.StartFree(t.Context(), pyroscope.Config{ServerAddress: "http://server", HTTPClient: &http.Client{Transport: n}, Resource: service("app"), Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.State != profiling.Paused || s.Gaps != 1 || s.GapTime <= 0 || s.Failed != 0 {
		t.Errorf("counts are %+v, want it paused, and how long", s)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.Gaps != 2 || s.Failed != 1 {
		t.Errorf("counts are %+v, want all time busy and a profile that could not be taken", s)
	}
	if got := n.of("cpu"); len(got) != 0 {
		t.Errorf("%d CPU profiles", len(got))
	}
	log.want(t, "taking a cpu profile failed")
	log.want(t, profiling.ErrBusy.Error())
}

// The clock of a timeline in ctx does not tell the length of a profile.
func TestTimelineWithAClock(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return time.Hour }})
	n := &network{t: t}
	p, err := pyroscope.StartFree(observer.NewContext(t.Context(), tl), pyroscope.Config{ServerAddress: "http://server", HTTPClient: &http.Client{Transport: n}, Resource: service("app")})
	if err != nil {
		t.Fatal(err)
	}
	for len(n.of("cpu")) == 0 {
		profiling.ForceSample() // as soon as the profiler has the CPU profiler
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

// Everything may be called from everywhere.
func TestConcurrently(t *testing.T) {
	n := &network{t: t}
	p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}}, time.Now, &played{})
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
	if s := p.Stats(); s.Delivered != s.Accepted || s.Delivered != s.LostSamples*perFlush || s.Delivered < 21*perFlush {
		t.Errorf("counts are %+v", s)
	}
}

// Shutdown does not wait for a profiler that does not end.
func TestShutdownWhileAProfilerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: &network{t: t}}}, time.Now, &played{hold: ended})
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
	})
}
