//go:build linux && !perfline_portable

package cpuprof

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

const answerTimeout = 100 * time.Millisecond

func discard(*sampling.Sample) {}

// faked returns an engine of a CPU profiler that no runtime has.
func faked(t *testing.T) (*Engine, *samplingtest.CPUProfiler) {
	t.Helper()
	p := samplingtest.NewCPUProfiler(t)
	e := newEngine(sampling.NewSymbols(), answerTimeout, p)
	p.Nudged = e.entry + 1
	return e, p
}

// bubble runs a test in a bubble, with an engine that has started.
func bubble(t *testing.T, test func(*testing.T, *Engine, *samplingtest.CPUProfiler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		mustStart(t, e)
		test(t, e, p)
		e.Stop(discard)
	})
}

func mustStart(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Start(e.Interval(0)); err != nil {
		t.Fatal(err)
	}
}

func TestStart(t *testing.T) {
	t.Run("busy", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, p := faked(t)
			if err := p.Other().Start(&samplingtest.ForeignProfile{}); err != nil {
				t.Fatal(err)
			}
			if err := e.Start(e.Interval(0)); !errors.Is(err, sampling.ErrBusy) || errors.Is(err, sampling.ErrStopping) {
				t.Errorf("other code profiles, and Start returns %v", err)
			}
			p.Other().Stop()
			mustStart(t, e)
			e.Stop(discard)
			samplingtest.WantFree(t, p)
		})
	})
	t.Run("twice", func(t *testing.T) {
		bubble(t, func(t *testing.T, e *Engine, _ *samplingtest.CPUProfiler) {
			if err := e.Start(e.Interval(0)); err == nil || errors.Is(err, sampling.ErrBusy) {
				t.Errorf("a second Start: %v, want an error that is not of other code", err)
			}
		})
	})
	t.Run("free after Stop", func(t *testing.T) {
		bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
			for range 3 {
				if err := p.Other().Start(&samplingtest.ForeignProfile{}); err == nil {
					t.Error("other code got the CPU profiler while the engine runs")
				}
				e.Stop(discard)
				samplingtest.WantFree(t, p)
				mustStart(t, e)
			}
		})
	})
	t.Run("not running", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, p := faked(t)
			e.Stop(discard)
			if err := e.Tick(discard); err != nil {
				t.Error(err)
			}
			samplingtest.WantFree(t, p)
		})
	})
}

// While other code's StopCPUProfile writes, Start does not queue up behind it: the code may begin
// its next profile.
func TestStartWhileAProfileIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		w := samplingtest.NewGate()
		if err := p.Other().Start(w); err != nil {
			t.Fatal(err)
		}
		go p.Other().Stop()
		<-w.Entered
		asked := false
		p.Before = func(call string) { asked = asked || call == "Start" }
		if err := e.Start(e.Interval(0)); !errors.Is(err, sampling.ErrStopping) || asked {
			t.Errorf("Start: %v, and it asked for the CPU profiler: %v; want ErrStopping, and no", err, asked)
		}
		close(w.Open)
		synctest.Wait()
		mustStart(t, e)
		e.Stop(discard)
	})
}

// A request that gets no answer is waited for as long as New says. The next Start gets its answer,
// or Stop withdraws the request.
func TestRequestWithoutAnAnswer(t *testing.T) {
	for name, then := range map[string]func(*testing.T, *Engine){
		"Start gets the answer":       func(t *testing.T, e *Engine) { mustStart(t, e); e.Stop(discard) },
		"Stop withdraws the request":  func(_ *testing.T, e *Engine) { e.Stop(discard) },
		"Start and Stop come in vain": func(_ *testing.T, e *Engine) { _ = e.Start(e.Interval(0)); e.Stop(discard); e.Stop(discard) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, p := faked(t)
				w := samplingtest.NewGate()
				if err := p.Other().Start(w); err != nil {
					t.Fatal(err)
				}
				var requests atomic.Int32
				p.Before = func(call string) {
					// After the engine has looked whether other code is in StopCPUProfile.
					if call == "Start" && requests.Add(1) == 1 {
						go p.Other().Stop()
						<-w.Entered
					}
				}
				began := time.Now()
				err := e.Start(e.Interval(0))
				if took := time.Since(began); !errors.Is(err, sampling.ErrStopping) || took != answerTimeout {
					t.Errorf("Start: %v after %v, want ErrStopping after %v", err, took, answerTimeout)
				}
				if strings.HasPrefix(name, "Start gets") {
					close(w.Open)
					synctest.Wait()
					then(t, e)
				} else {
					then(t, e)
					close(w.Open)
				}
				time.Sleep(time.Second)
				samplingtest.WantFree(t, p)
			})
		})
	}
}

func TestTaken(t *testing.T) {
	for name, c := range map[string]struct {
		take func(samplingtest.Other)
		want string // in the error
	}{
		"by StopCPUProfile":       {func(o samplingtest.Other) { go o.Stop() }, "StopCPUProfile was called"},
		"by SetCPUProfileRate(0)": {func(o samplingtest.Other) { o.SetRate(0) }, "SetCPUProfileRate(0) was called"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
				p.Add(nil, e.entry) // not by a nudge: a nudge's return address is behind the entry
				c.take(p.Other())
				synctest.Wait()
				n := 0
				err := e.Flush(func(*sampling.Sample) { n++ })
				for err == nil {
					err = e.Flush(func(*sampling.Sample) { n++ })
				}
				if !errors.Is(err, sampling.ErrTaken) || !strings.Contains(err.Error(), c.want) || n != 1 {
					t.Errorf("Flush: %v and %d samples, want ErrTaken, %q, and the sample of before", err, n, c.want)
				}
				synctest.Wait()
				f := &samplingtest.ForeignProfile{}
				if err := p.Other().Start(f); err != nil {
					t.Errorf("the code that took the profiler does not get it: %v", err)
				}
				e.Stop(discard) // must not stop theirs
				if err := e.Tick(discard); err != nil || f.Writes() > 0 {
					t.Errorf("an engine that does not run: Tick returns %v, other code's profile has ended: %v", err, f.Writes() > 0)
				}
				p.Other().Stop()
			})
		})
	}
}

// Code that stops our profile after we turned its rate off waits for us unseen.
func TestReleaseWhileOtherCodeWaits(t *testing.T) {
	for name, starts := range map[string]bool{"and goes": false, "and starts": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p := faked(t)
				o := owner{cpu: p, answerTimeout: answerTimeout}
				if err := o.acquire(100); err != nil {
					t.Fatal(err)
				}
				p.SetRate(0)
				o.drain(func([]uint64, []unsafe.Pointer) {})
				f, done := &samplingtest.ForeignProfile{}, make(chan error)
				go func() {
					p.Other().Stop()
					if starts {
						done <- p.Other().Start(f)
					}
					close(done)
				}()
				synctest.Wait() // in StopCPUProfile
				o.release()
				err := <-done
				synctest.Wait()
				switch {
				case !starts:
					samplingtest.WantFree(t, p)
				case err == nil: // else the profiler was ours for a moment
					if f.Writes() > 0 {
						t.Error("the profile of the code that waited was stopped by us")
					}
					p.Other().Stop()
				}
			})
		})
	}
}

// Should runtime/pprof write before the log's end, we must not read beside it.
func TestWriterThatDoesNotWaitForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		p.Caller = "another function"
		if err := e.Start(e.Interval(0)); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "another function writes") {
			t.Errorf("Start: %v; want an error that wraps ErrUnsupported and says why", err)
		}
		samplingtest.WantFree(t, p)
	})
}
