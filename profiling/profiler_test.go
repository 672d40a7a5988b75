package profiling_test

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

func TestMain(m *testing.M) {
	// The environment of the test run must not decide the tests.
	if err := os.Unsetenv("PERFLINE_PROFILING"); err != nil {
		panic(err)
	}
	profiling.UseFakeEngines()
	leaktest.Main(m)
}

func start(t *testing.T, o profiling.Options) *profiling.Profiler {
	t.Helper()
	p, err := profiling.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Stop() })
	return p
}

func stop(t *testing.T, p *profiling.Profiler) *profile.Trace {
	t.Helper()
	tr, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestStartRefuses_JSP22(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name string
		o    profiling.Options
		want string // in the error
	}{
		{"a negative interval", profiling.Options{SampleInterval: -ms, MaxBufferSize: 1}, "SampleInterval -1ms"},
		{"a negative buffer size", profiling.Options{SampleInterval: ms, MaxBufferSize: -1}, "MaxBufferSize -1"},
		{"a budget of NaN", profiling.Options{SampleInterval: ms, MaxBufferSize: 1, Wall: true, WallBudget: math.NaN()}, "WallBudget NaN"},
		{"a negative budget", profiling.Options{SampleInterval: ms, MaxBufferSize: 1, Wall: true, WallBudget: -0.1}, "WallBudget -0.1"},
		{"no selection that there is", profiling.Options{SampleInterval: ms, MaxBufferSize: 1, Spans: 3}, "Spans 3"},
		{"a budget of more than a core", profiling.Options{SampleInterval: ms, MaxBufferSize: 1, Wall: true, WallBudget: 1.5}, "WallBudget 1.5"},
	}
	if math.MaxInt > math.MaxUint32 {
		limit := uint64(math.MaxUint32)
		tooLarge := int(limit + 1)
		tests = append(tests, struct {
			name string
			o    profiling.Options
			want string
		}{"more than an unsigned long", profiling.Options{SampleInterval: ms, MaxBufferSize: tooLarge}, "MaxBufferSize 4294967296"})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := profiling.Start(t.Context(), tt.o)
			if err == nil {
				_, _ = p.Stop()
				t.Fatal("no error")
			}
			if p != nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "must be") && !strings.Contains(err.Error(), "must not be") {
				t.Errorf("%v: want %q and the rule", err, tt.want)
			}
		})
	}
}

// SampleInterval returns the interval in use, here the engine's shortest.
func TestShortestInterval_JSP20(t *testing.T) {
	p := start(t, profiling.Options{SampleInterval: 1})
	if d := p.SampleInterval(); d <= 1 || d > 10*time.Millisecond {
		t.Errorf("the shortest interval is %v", d)
	}
}

// starts is called when a span starts, by OpenTelemetry.
type starts func()

func (f starts) OnStart(context.Context, sdktrace.ReadWriteSpan) { f() }
func (starts) OnEnd(sdktrace.ReadOnlySpan)                       {}
func (starts) Shutdown(context.Context) error                    { return nil }
func (starts) ForceFlush(context.Context) error                  { return nil }

func TestPolicy_JSP24(t *testing.T) {
	o := profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 10}
	other := o
	other.Modules = []string{"go.opentelemetry.io/otel/trace"}
	for _, tt := range []struct {
		name, setting string
		start         func(context.Context, profiling.Options) (*profiling.Profiler, error)
		o             profiling.Options
		refused       string // in the error; "" for none
	}{
		{"own code", "", profiling.Start, o, ""},
		{"own code, off", "off", profiling.Start, o, "PERFLINE_PROFILING is off"},
		{"outside", "", profiling.Policy{}.Start, o, "Policy.Remote"},
		{"outside, allowed by the application", "", profiling.Policy{Remote: true}.Start, o, ""},
		{"outside, allowed by who runs it", "remote", profiling.Policy{}.Start, o, ""},
		{"outside, allowed by the application and off", "OFF", profiling.Policy{Remote: true}.Start, o, "is off"},
		{"outside, a module beyond the policy", "", profiling.Policy{Remote: true}.Start, other, "go.opentelemetry.io/otel/trace"},
		{"outside, a module of the policy", "", profiling.Policy{Remote: true, Modules: other.Modules}.Start, other, ""},
		{"outside, a module where any may be asked for", "", profiling.Policy{Remote: true, Modules: []string{profiling.ModuleAny}}.Start, other, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PERFLINE_PROFILING", tt.setting)
			p, err := tt.start(t.Context(), tt.o)
			if tt.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				_, span := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(starts(profiling.ForceSample))).Tracer("t").Start(t.Context(), "s")
				span.End()
				tr := stop(t, p)
				deps := false // whether frames of other modules are seen
				for _, f := range tr.Frames {
					deps = deps || strings.HasPrefix(f.Name, "go.opentelemetry.io/otel/sdk/")
				}
				if own := tt.name == "own code"; deps != own {
					t.Errorf("frames of other modules: %v, want %v", deps, own)
				}
				return
			}
			if !errors.Is(err, profiling.ErrNotAllowed) || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("error %v, want ErrNotAllowed with %q", err, tt.refused)
			}
		})
	}
	t.Run("any module, which is for a policy to say", func(t *testing.T) {
		all := o
		all.Modules = []string{profiling.ModuleMain, profiling.ModuleAny}
		for _, start := range []func(context.Context, profiling.Options) (*profiling.Profiler, error){
			profiling.Start, profiling.Policy{Remote: true}.Start, profiling.Policy{Remote: true, Modules: []string{profiling.ModuleAny}}.Start,
		} {
			_, err := start(t.Context(), all)
			if err == nil || errors.Is(err, profiling.ErrNotAllowed) || !strings.Contains(err.Error(), `"*" is for a Policy only`) {
				t.Errorf("error %v, want one that says so", err)
			}
		}
	})
	t.Run("a setting that does not exist", func(t *testing.T) {
		t.Setenv("PERFLINE_PROFILING", "maybe")
		if _, err := profiling.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), `"maybe"`) {
			t.Errorf("error %v, want one that names the value", err)
		}
	})
}

// A forced sample is of the caller, at once, in every profiler that is started.
func TestForceSample_JSP1_JSP3_JSP10_JSP29(t *testing.T) {
	a := start(t, profiling.Options{SampleInterval: time.Hour})
	b := start(t, profiling.Options{SampleInterval: time.Hour, Wall: true})
	before := observer.ProcessTimeline().Now()
	profiling.ForceSample()
	after := observer.ProcessTimeline().Now()
	for name, p := range map[string]*profiling.Profiler{"cpu": a, "wall": b} {
		tr := stop(t, p)
		found := 0
		for _, s := range tr.Samples {
			var names []string
			for c := range tr.Calls(s) {
				names = append(names, c.Name)
			}
			if len(names) > 0 && strings.HasSuffix(names[0], ".TestForceSample_JSP1_JSP3_JSP10_JSP29") {
				found++
				const inexact = time.Millisecond // of the axis, which comes from one reading of two clocks
				if s.Timestamp < before-inexact || s.Timestamp > after+inexact {
					t.Errorf("%s: at %v, want between %v and %v on the timeline's axis", name, s.Timestamp, before, after)
				}
				if last := names[len(names)-1]; !strings.HasPrefix(last, "testing.") && last != "runtime.goexit" {
					t.Errorf("%s: the outermost frame is %s", name, last)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s: %d samples of the caller in %d, want 1", name, found, len(tr.Samples))
		}
	}
	profiling.ForceSample() // without a profiler it does nothing
	if tr := stop(t, a); len(tr.Samples) != 1 {
		t.Errorf("%d samples after the end", len(tr.Samples))
	}
}

// The time of a request's own timeline is the axis of a profiler started under it.
func TestTimestampsAreOnTheTimeline_JSP10(t *testing.T) {
	tl := &(*record.Timeline)(observer.NewTimeline(observer.TimelineOptions{})).NewUnit(time.Now().Add(-time.Hour), nil).Timeline
	defer tl.Close()
	p, err := profiling.Start(observer.NewContext(t.Context(), (*observer.Timeline)(tl)), profiling.Options{SampleInterval: time.Hour, MaxBufferSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	before := tl.Now()
	profiling.ForceSample()
	after := tl.Now()
	tr := stop(t, p)
	if !tr.Origin.Equal(tl.Origin()) {
		t.Errorf("the trace's origin is %v, the timeline's %v", tr.Origin, tl.Origin())
	}
	if len(tr.Samples) != 1 || tr.Samples[0].Timestamp < before || tr.Samples[0].Timestamp > after {
		t.Errorf("samples %+v, want one between %v and %v", tr.Samples, before, after)
	}
}

// On a timeline with a clock of its own, the times are that clock's: exact where the profiler's
// user makes a call, in between as if the clock ran evenly.
func TestTimestampsAreOnTheTimelinesClock_JSP10(t *testing.T) {
	fakes := profiling.FakeEngines(t)
	var clock atomic.Int64
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return time.Duration(clock.Load()) }})
	clock.Store(int64(time.Hour))
	tl = tl.NewChild() // whose origin is at one hour
	now := func(at time.Duration) { clock.Store(int64(time.Hour + at)) }
	now(10 * time.Second)
	p, err := profiling.Start(observer.NewContext(t.Context(), tl), profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want := func(tr *profile.Trace, started, forced, stopped time.Duration) {
		t.Helper()
		if tr.Started != started || tr.Stopped != stopped || !tr.Origin.Equal(tl.Origin()) {
			t.Errorf("from %v to %v since %v, want from %v to %v since %v", tr.Started, tr.Stopped, tr.Origin, started, stopped, tl.Origin())
		}
		last, found := started, false
		for _, s := range tr.Samples {
			if s.Timestamp < last || s.Timestamp > stopped {
				t.Errorf("a sample at %v after one at %v, in a trace until %v", s.Timestamp, last, stopped)
			}
			last = s.Timestamp
			found = found || s.Timestamp == forced && s.Weight == 0
		}
		if !found {
			t.Errorf("no sample was forced at %v: %+v", forced, tr.Samples)
		}
	}
	fakes.Queue("f", 2)
	now(20 * time.Second)
	profiling.ForceSample()
	now(30 * time.Second)
	part, err := p.TakeTrace()
	if err != nil {
		t.Fatal(err)
	}
	want(part, 10*time.Second, 20*time.Second, 30*time.Second)
	fakes.Queue("f", 2)
	now(40 * time.Second)
	profiling.ForceSample()
	fakes.Queue("f", 2)
	now(time.Minute)
	want(stop(t, p), 30*time.Second, 40*time.Second, time.Minute)
}

// A new profiler has four empty lists, and no samples of other profilers.
func TestStartsEmpty_JSP19_JSP25_JSP26(t *testing.T) {
	first := start(t, profiling.Options{SampleInterval: time.Hour})
	profiling.ForceSample()
	second := start(t, profiling.Options{SampleInterval: time.Hour})
	tr := stop(t, second)
	if !second.Stopped() || first.Stopped() {
		t.Errorf("stopped: %v and %v, want the second only", first.Stopped(), second.Stopped())
	}
	var buf strings.Builder
	if err := tr.WriteJSON(&buf); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(buf.String()), `{"resources":[],"frames":[],"stacks":[],"samples":[]}`; got != want {
		t.Errorf("an empty trace is %s, want %s", got, want)
	}
	if tr := stop(t, first); len(tr.Samples) != 1 {
		t.Errorf("the first profiler has %d samples, want its own one", len(tr.Samples))
	}
}

// Frames of other modules are left out, and the stack is whole without them.
func TestModules_JSP13_JSP14(t *testing.T) {
	sample := func(modules ...string) []string {
		p := start(t, profiling.Options{SampleInterval: time.Hour, Modules: modules})
		func() { profiling.ForceSample() }()
		tr := stop(t, p)
		if len(tr.Samples) != 1 {
			t.Fatalf("%d samples, want 1", len(tr.Samples))
		}
		var names []string
		for c := range tr.Calls(tr.Samples[0]) {
			names = append(names, c.Name)
		}
		return names
	}
	has := func(names []string, prefix string) bool {
		for _, n := range names {
			if strings.HasPrefix(n, prefix) {
				return true
			}
		}
		return false
	}
	const own = "github.com/perfline/perfline/profiling_test."
	if names := sample(); !has(names, own) || !has(names, "testing.") {
		t.Errorf("all modules: %v", names)
	}
	if names := sample(profiling.ModuleMain); !has(names, own) || has(names, "testing.") || has(names, "runtime.") {
		t.Errorf("the main module: %v", names)
	}
	if names := sample(profiling.ModuleStandard); has(names, own) || !has(names, "testing.") {
		t.Errorf("the standard library: %v", names)
	}
	if names := sample("go.opentelemetry.io/otel/trace"); len(names) != 0 {
		t.Errorf("a module that is on no stack: %v", names)
	}
}

// A profiler under a cancelled context has stopped, and has its trace.
func TestStartUnderAContextThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profiling.FakeEngines(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p, err := profiling.Start(ctx, profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 1_000_000})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !p.Stopped() {
			t.Error("the profiler goes on")
		}
		stop(t, p)
	})
}
