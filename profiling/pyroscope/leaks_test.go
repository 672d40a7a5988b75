package pyroscope_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// leakingFunction is the function of the goroutine that leak starts.
const leakingFunction = "github.com/perfline/perfline/profiling/pyroscope_test.waitForever"

// leak starts a goroutine that no other goroutine can ever wake. It has the labels of a span.
func leak(t *testing.T) {
	t.Helper()
	blocked := make(chan struct{})
	pprof.Do(t.Context(), pprof.Labels("span_id", "0102030405060708", "span_name", "GET /leak"), func(context.Context) {
		go waitForever(blocked)
	})
	<-blocked
}

//go:noinline
func waitForever(blocked chan struct{}) {
	close(blocked)
	<-make(chan struct{})
}

// A program that leaks a goroutine pushes a profile of it, by the runtime's own account. Where the runtime
// has no such profile, nothing is pushed and nothing is logged.
func TestLeakedGoroutine(t *testing.T) {
	leak(t)
	n := &signalling{network: network{t: t}, changed: make(chan struct{}, 1)}
	var log testLog
	p, err := pyroscope.StartFree(t.Context(), pyroscope.Config{
		ServerAddress: "http://server", Resource: service("app"), Logger: log.logger(), HTTPClient: &http.Client{Transport: n},
		UploadInterval: time.Second, LeakInterval: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	for p.Stats().State != profiling.Started { // or other code, which is the runtime on a busy machine, had the CPU profiler
		time.Sleep(time.Millisecond)
	}
	profiling.ForceSample() // a profiler that had to wait, and has no sample at its end, fails
	// Where the runtime has no such profile, the third profile of goroutines comes after the time at which leaked ones would
	// be looked for.
	for supported := pprof.Lookup("goroutineleak") != nil; supported && len(n.of("goroutineleak")) == 0 || !supported && len(n.of("goroutine")) < 3; {
		profiling.ForceSample()
		<-n.changed
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.Failed > 0 || s.Delivered != s.Accepted {
		t.Errorf("counts are %+v", s)
	}
	got := n.of("goroutineleak")
	if pprof.Lookup("goroutineleak") == nil {
		if len(got) > 0 {
			t.Errorf("%d profiles of leaked goroutines from a runtime that has none", len(got))
		}
		return
	}
	if len(got) == 0 {
		t.Fatal("no profile of leaked goroutines")
	}
	if typ := got[0].profile.SampleType[0]; typ.Type != "goroutineleak" || typ.Unit != "count" {
		t.Errorf("the values are %s in %s, want goroutineleak in count", typ.Type, typ.Unit)
	}
	i := slices.IndexFunc(got[0].profile.Sample, func(s *pprofpb.Sample) bool {
		return slices.ContainsFunc(s.Location, func(l *pprofpb.Location) bool { return l.Line[0].Function.Name == leakingFunction })
	})
	if i < 0 {
		t.Fatalf("%s is not in %v", leakingFunction, got[0].profile)
	}
	if s := got[0].profile.Sample[i]; s.Value[0] < 1 || len(s.Label["span_id"]) > 0 || !slices.Equal(s.Label["span_name"], []string{"GET /leak"}) {
		t.Errorf("the sample is %v with labels %v, want the span's name without its id", s.Value, s.Label)
	}
}

// signalling is a network that says when it got something.
type signalling struct {
	network
	changed chan struct{}
}

func (s *signalling) RoundTrip(r *http.Request) (*http.Response, error) {
	defer func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}()
	return s.network.RoundTrip(r)
}

// leakTimes returns when profiles of leaked goroutines were taken in the first three hours, each of which took so long.
func leakTimes(t *testing.T, c pyroscope.Config, took time.Duration, fail error) (at []time.Duration, s profiling.ExporterStats, n *network) {
	t.Helper()
	n = &network{t: t}
	c.ServerAddress, c.ApplicationName, c.Resource, c.HTTPClient = "http://server", "app", service("app"), &http.Client{Transport: n}
	c.UploadInterval = 30 * time.Minute // of the other profiles
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var mu sync.Mutex // guards at
	began := time.Now()
	p, err := pyroscope.StartProcess(c, pyroscope.Process{
		Now: time.Now, Profiler: func(func()) (pyroscope.Profiler, error) { return &played{}, nil },
		Leaks: func(w io.Writer) error {
			mu.Lock()
			at = append(at, time.Since(began))
			mu.Unlock()
			time.Sleep(took)
			if fail != nil {
				return fail
			}
			return onlyLeak.Write(w)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Flush(t.Context()); err != nil { // which takes no profile of leaked goroutines
			t.Error(err)
		}
	}
	time.Sleep(3*time.Hour + time.Minute - time.Since(began))
	if err := p.Shutdown(t.Context()); err != nil { // nor does this
		t.Error(err)
	}
	return at, p.Stats(), n
}

// onlyLeak is a profile of one goroutine.
var onlyLeak = &pprofpb.Profile{
	SampleType: []*pprofpb.ValueType{{Type: "goroutineleak", Unit: "count"}},
	Sample:     []*pprofpb.Sample{{Value: []int64{1}}},
}

// Leaked goroutines are looked for at an interval of their own: by the field or by the variable, or else never.
// It grows to a thousand times the time that it takes. Nothing else has them looked for.
func TestLeakInterval(t *testing.T) {
	for _, c := range []struct {
		name     string
		field    time.Duration
		variable string
		took     time.Duration
		want     time.Duration // 0 is never
	}{
		{"default", 0, "", 0, 0},
		{"field", 30 * time.Minute, "1h", 0, 30 * time.Minute},
		{"off by the field", -1, "1h", 0, 0},
		{"variable", 0, "1h", 0, time.Hour},
		{"off by the variable", 0, "OFF", 0, 0},
		{"wrong variable", 0, "1ms", 0, 0},
		{"slow", 10 * time.Minute, "", 3 * time.Second, 3003 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(envLeaks, c.variable)
			synctest.Test(t, func(t *testing.T) {
				var log testLog
				at, s, n := leakTimes(t, pyroscope.Config{LeakInterval: c.field, Logger: log.logger()}, c.took, nil)
				var want []time.Duration
				first := c.want
				if c.took > 0 {
					first = 10 * time.Minute // how long it takes is not known before
				}
				for next := first; c.want > 0 && next < 3*time.Hour+time.Minute; next += c.want {
					want = append(want, next)
				}
				if !slices.Equal(at, want) {
					t.Errorf("taken at %v, want %v", at, want)
				}
				if got := len(n.of("goroutineleak")); got != len(want) || s.Delivered != s.Accepted {
					t.Errorf("%d arrived, want %d; counts are %+v", got, len(want), s)
				}
				switch {
				case c.variable == "1ms":
					log.want(t, "must be off, or a duration from 1s to 24h, as 10m")
				case c.took > 0:
					log.want(t, "a profile of leaked goroutines took 3s, so that the next one comes after 50m0s")
				default:
					log.want(t)
				}
			})
		})
	}
}

// A profile of leaked goroutines that cannot be taken is counted, and logged once.
func TestLeaksFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testLog
		at, s, _ := leakTimes(t, pyroscope.Config{LeakInterval: time.Hour, Logger: log.logger()}, 0, errors.New("no memory"))
		if len(at) != 3 || s.Failed != 3 {
			t.Errorf("taken %d times, and %d failed, want 3", len(at), s.Failed)
		}
		log.want(t, "taking a goroutineleak profile failed")
	})
}

// Without the runtime's profile, nothing happens.
func TestNoProfileOfLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{t: t}
		p := play(t, pyroscope.Config{HTTPClient: &http.Client{Transport: n}, LeakInterval: time.Minute, UploadInterval: 10 * time.Minute}, time.Now, &played{})
		time.Sleep(time.Hour)
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if strings.Contains(n.kinds(), "leak") || p.Stats().Failed > 0 {
			t.Errorf("pushed %s, counts are %+v", n.kinds(), p.Stats())
		}
	})
}
