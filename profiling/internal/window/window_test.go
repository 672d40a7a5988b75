package window

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
	"github.com/perfline/perfline/profiling/profile"
)

const answerTimeout = 100 * time.Millisecond

func TestMain(m *testing.M) { leaktest.Main(m) }

// faked returns an engine of a CPU profiler that no runtime has. Each of its profiles has one
// sample.
func faked(t *testing.T) (*Engine, *samplingtest.CPUProfiler) {
	t.Helper()
	p := samplingtest.NewCPUProfiler(t)
	p.Profile = func(int) []byte { return encoded(t) }
	return New(sampling.NewSymbols(), answerTimeout, p), p
}

// bubble runs a test in a bubble, with an engine that has started.
func bubble(t *testing.T, test func(*testing.T, *Engine, *samplingtest.CPUProfiler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		mustStart(t, e)
		test(t, e, p)
		e.Stop(func(*sampling.Sample) {})
	})
}

func mustStart(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Start(interval); err != nil {
		t.Fatal(err)
	}
}

// encoded is a CPU profile with two samples of main.work, as runtime/pprof writes them.
func encoded(t *testing.T) []byte {
	f := &pprofpb.Function{ID: 1, Name: "main.work", Filename: "main.go", StartLine: 3}
	l := &pprofpb.Location{ID: 1, Line: []pprofpb.Line{{Function: f, Line: 7}}}
	p := &pprofpb.Profile{
		SampleType: []*pprofpb.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Function:   []*pprofpb.Function{f}, Location: []*pprofpb.Location{l},
		Sample: []*pprofpb.Sample{{Location: []*pprofpb.Location{l}, Value: []int64{2, 20e6}, Label: map[string][]string{"part": {"70"}, "at": {"x"}}}},
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

func TestIntervalIsFixed(t *testing.T) {
	e, _ := faked(t)
	for _, asked := range []time.Duration{math.MinInt64, 0, time.Millisecond, time.Hour} {
		if got := e.Interval(asked); got != 10*time.Millisecond {
			t.Errorf("Interval(%v) = %v, want 10ms", asked, got)
		}
	}
	if got := e.Period(); got != time.Second {
		t.Errorf("Period() = %v, want 1s", got)
	}
}

// Tick, Flush and Stop emit the samples of a window each. Their time is the window's.
func TestSamples(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, _ *samplingtest.CPUProfiler) {
		last := e.window.startedAt
		for name, end := range map[string]func(func(*sampling.Sample)) error{
			"Tick": e.Tick, "Flush": e.Flush, "Stop": func(emit func(*sampling.Sample)) error { e.Stop(emit); return nil },
		} {
			if e.window == nil {
				mustStart(t, e)
				last = e.window.startedAt
			}
			time.Sleep(time.Second)
			c := &collected{}
			if err := end(c.emit); err != nil || len(c.samples) != 1 {
				t.Fatalf("%s: %d samples, error %v, want the one of the window", name, len(c.samples), err)
			}
			s := c.samples[0]
			if s.Since < last || s.At < s.Since || s.At > sampling.Now() {
				t.Errorf("%s: a sample from %d to %d, want from %d at the earliest to the window's end", name, s.Since, s.At, last)
			}
			last = s.At
			call := profile.Call{Name: "main.work", File: "main.go", StartLine: 3, Line: 7}
			if len(s.Stack) != 1 || *s.Stack[0] != call || s.Count != 2 || s.Weight != 20*time.Millisecond || s.Tag != nil || s.Cut || s.Marker != profile.Ordinary {
				t.Errorf("%s: got %+v", name, s)
			}
			if want := []spanlabels.Label{{Key: "at", Value: "x"}, {Key: "part", Value: "70"}}; !slices.Equal(s.Labels, want) {
				t.Errorf("%s: labels %v, want %v", name, s.Labels, want)
			}
		}
		if e.Lost() != 0 {
			t.Errorf("Lost() = %d, want 0", e.Lost())
		}
	})
}

// A profile that cannot be read is counted as one lost sample.
func TestProfileThatIsNone(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		p.Profile = func(int) []byte { return []byte("no profile") }
		if err := e.Tick(func(*sampling.Sample) { t.Error("a sample") }); err != nil || e.Lost() != 1 {
			t.Errorf("Tick: %v, %d lost, want no error, and 1", err, e.Lost())
		}
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		nothing := func(*sampling.Sample) { t.Error("a sample of an engine that does not run") }
		for range 2 {
			e.Stop(nothing)
			if err := errors.Join(e.Tick(nothing), e.Flush(nothing)); err != nil {
				t.Errorf("Tick and Flush of an engine that does not run: %v", err)
			}
			for range 2 { // a second Start changes nothing
				mustStart(t, e)
			}
			e.Stop(func(*sampling.Sample) {})
			samplingtest.WantFree(t, p)
			f := &samplingtest.ForeignProfile{}
			if err := p.Other().Start(f); err != nil {
				t.Fatal(err)
			}
			e.Stop(nothing)
			synctest.Wait()
			if f.Writes() > 0 {
				t.Error("a second Stop ended a profile of other code")
			}
			p.Other().Stop()
		}
	})
}

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		if err := p.Other().Start(&samplingtest.ForeignProfile{}); err != nil {
			t.Fatal(err)
		}
		if err := e.Start(interval); !errors.Is(err, sampling.ErrBusy) || errors.Is(err, sampling.ErrStopping) {
			t.Errorf("Start while other code profiles: %v, want %v", err, sampling.ErrBusy)
		}
		if err := e.Tick(nil); err != nil {
			t.Errorf("Tick of an engine that did not start: %v", err)
		}
		p.Other().Stop()
		mustStart(t, e)
		e.Stop(func(*sampling.Sample) {})
		samplingtest.WantFree(t, p)
	})
}

// While other code's StopCPUProfile writes, Start does not queue up behind it. A request that was
// made before gets its answer from the next Start, or Stop withdraws it.
func TestStartWhileAProfileIsWritten(t *testing.T) {
	for name, c := range map[string]struct{ asked, withdrawn bool }{
		"before the request":                     {},
		"after it":                               {asked: true},
		"after it, and Stop withdraws it":        {asked: true, withdrawn: true},
		"before it, with nothing for Stop to do": {withdrawn: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, p := faked(t)
				w := samplingtest.NewGate()
				if err := p.Other().Start(w); err != nil {
					t.Fatal(err)
				}
				stop := func() {
					go p.Other().Stop()
					<-w.Entered
				}
				var requests atomic.Int32
				p.Before = func(call string) {
					if call == "Start" {
						if requests.Add(1) == 1 && c.asked {
							stop()
						}
					}
				}
				if !c.asked {
					stop()
				}
				want := time.Duration(0)
				if c.asked {
					want = answerTimeout
				}
				began := time.Now()
				err := e.Start(interval)
				if took := time.Since(began); !errors.Is(err, sampling.ErrStopping) || took != want || (requests.Load() > 0) != c.asked {
					t.Errorf("Start: %v after %v and %d requests, want ErrStopping after %v", err, took, requests.Load(), want)
				}
				if c.withdrawn {
					e.Stop(func(*sampling.Sample) { t.Error("a sample") })
				}
				close(w.Open)
				synctest.Wait()
				if !c.withdrawn {
					mustStart(t, e)
					e.Stop(func(*sampling.Sample) {})
				}
				samplingtest.WantFree(t, p)
			})
		})
	}
}

func TestTaken(t *testing.T) {
	for name, c := range map[string]struct {
		next func(*Engine, func(*sampling.Sample)) error
		err  error
	}{
		"seen by Tick":  {(*Engine).Tick, sampling.ErrTaken},
		"seen by Flush": {(*Engine).Flush, sampling.ErrTaken},
		"seen by Stop":  {func(e *Engine, emit func(*sampling.Sample)) error { e.Stop(emit); return nil }, nil},
	} {
		for how, profiles := range map[string]bool{"": false, ", by code that profiles": true, ", by a rate of 0": false, ", by a rate of 0 and a profile": true} {
			t.Run(name+how, func(t *testing.T) {
				bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
					if strings.Contains(how, "rate") {
						p.Other().SetRate(0)
						time.Sleep(time.Second) // the window's writer looks what ended it
					} else {
						p.Other().Stop()
					}
					ended := sampling.Now()
					f := &samplingtest.ForeignProfile{}
					if profiles {
						if err := p.Other().Start(f); err != nil {
							t.Fatal(err)
						}
					}
					got := &collected{}
					if err := c.next(e, got.emit); !errors.Is(err, c.err) {
						t.Errorf("%v, want %v", err, c.err)
					}
					if len(got.samples) != 1 || got.samples[0].At > ended {
						t.Errorf("samples %+v, want the one of the window, at its end before %d", got.samples, ended)
					}
					if err := e.Tick(func(*sampling.Sample) { t.Error("a sample of a window that is over") }); err != nil {
						t.Errorf("Tick after it was taken: %v, want nothing", err)
					}
					synctest.Wait()
					if f.Writes() > 0 {
						t.Error("the engine ended a profile of other code")
					}
					if profiles {
						p.Other().Stop()
					}
					samplingtest.WantFree(t, p)
				})
			})
		}
	}
}

func TestConflicts(t *testing.T) {
	samplingtest.Conflicts(t, func(p *samplingtest.CPUProfiler) sampling.Engine {
		p.Profile = func(int) []byte { return nil }
		return New(sampling.NewSymbols(), answerTimeout, p)
	}, "Start", "Stop", "Stopper")
}

// collected is copies of samples that were emitted.
type collected struct{ samples []sampling.Sample }

func (c *collected) emit(s *sampling.Sample) {
	copied := *s
	copied.Stack, copied.Labels = slices.Clone(s.Stack), slices.Clone(s.Labels)
	c.samples = append(c.samples, copied)
}
