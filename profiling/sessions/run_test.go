package sessions

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// What a session needs while it records is given up when it is put together; its status stays.
func TestWhatIsGivenUp(t *testing.T) {
	r, s := run1(t, Config{}, StartOptions{})
	late, err := s.tl.NewEntry(observer.Mark, "late", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Stop(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	s.take([]observer.Entry{late}) // a callback that came too late
	if s.observer != nil || s.sampler != nil || s.before != nil || s.log != nil {
		t.Errorf("kept: observer %t, sampler %t, trace %t, log %t", s.observer != nil, s.sampler != nil, s.before != nil, s.log != nil)
	}
	if st := s.status(); !strings.HasSuffix(st.Sampler, ", stopped") || st.Samples != got.Stats().Samples || st.Entries != got.Stats().Entries {
		t.Errorf("status is %+v", st)
	}
}

// The context of what puts a session together ends with that.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which finds that nothing would end it
		r, s := run1(t, Config{Keep: -1}, StartOptions{NoSamples: true})
		if _, err := r.Stop(t.Context(), s.id); err != nil {
			t.Fatal(err)
		}
		<-s.progress.ctx.Done()
		r.Close()
	})
}

// Stop of a session that is ready never fails, whatever has become of ctx.
func TestStopOfWhatIsReady(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		r, s := run1(t, Config{}, StartOptions{NoSamples: true})
		if !r.overlong(s) {
			t.Fatal("the session is not in progress")
		}
		s.end()
		<-s.ready
		if _, err := r.Stop(over, s.id); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
}

// hold has the timeline's deliveries wait until release is called.
func hold(t *testing.T, tl *observer.Timeline) (release func()) {
	t.Helper()
	entered, over := make(chan struct{}), make(chan struct{})
	obs, err := tl.Observe(func(observer.List) { close(entered); <-over }, observer.Options{Type: observer.Server})
	if err != nil {
		t.Fatal(err)
	}
	tl.Record(observer.Server, "hold", tl.Now(), 0, nil)
	<-entered
	return func() { obs.Disconnect(); close(over) }
}

// A session that starts while the one before still observes does not take that for somebody else.
func TestStartWaitsForTheSessionBefore_SP12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, first := run1(t, Config{}, StartOptions{NoSamples: true})
		release := hold(t, first.tl)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = r.Stop(over, first.id)
		if !first.tl.Observed(observer.Mark) {
			t.Fatal("the first session has gone already")
		}
		began := time.Now()
		id, err := r.Start(t.Context(), StartOptions{NoSamples: true})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != patience {
			t.Errorf("Start took %v", took)
		}
		if d := r.runs[id].demand; d.observed[observer.Mark] || !d.observed[observer.Server] {
			t.Errorf("others want %v", d.observed)
		}
		release()
		r.Close()
	})
}

// A session that was released while it was put together has no timer to forget it.
func TestNoExpiryAfterRelease_SP5(t *testing.T) {
	r, s := run1(t, Config{}, StartOptions{NoSamples: true})
	release := hold(t, s.tl)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = r.Stop(over, s.id)
	if err := r.Release(s.id); err != nil {
		t.Fatal(err)
	}
	release()
	<-s.ready
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.expiry != nil {
		t.Error("a timer waits for what is released")
	}
}

// Labels cost what they cost unless somebody else has every span labelled anyway (SP-12).
func TestLabelCost_SP12(t *testing.T) {
	for _, c := range []struct {
		name   string
		others spanlabels.Scope
		o      StartOptions
		want   bool
	}{
		{"alone", 0, StartOptions{}, true},
		{"beside a profiler of local roots", spanlabels.LocalRoots, StartOptions{}, true},
		{"beside a profiler of every span", spanlabels.EverySpan, StartOptions{}, false},
		{"without samples", 0, StartOptions{NoSamples: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.others != 0 {
				p, err := profiling.Start(t.Context(), profiling.Options{MaxBufferSize: 1000, Scope: c.others})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _, _ = p.Stop() }()
			}
			r, s := run1(t, Config{}, c.o)
			if got := s.costs.label; got > 0 != c.want {
				t.Errorf("a label costs %v", got)
			}
			r.Close()
		})
	}
}

// What a sample costs is measured by the sampler, and is overhead of what was sampled (SP-12).
func TestSampleCost_SP12(t *testing.T) {
	r, s := run1(t, Config{}, StartOptions{})
	for range 50 {
		profiling.ForceSample()
	}
	got, err := r.Stop(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	if st := got.Stats(); st.Samples == 0 || st.Profiling.SampleCost == 0 {
		t.Skipf("nothing is sampled here, or it is not known at what cost: %+v", st)
	}
	for _, tl := range got.Timelines() {
		if tl.Samples > 0 && tl.AggregatedOverhead > 0 {
			return
		}
	}
	t.Errorf("samples cost nothing: %+v", got.Timelines())
}
