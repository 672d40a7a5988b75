package sessions_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

func TestOneAtATime_SP1_SP2_SP9(t *testing.T) {
	s := open(t, sessions.Config{})
	_, err := s.Stop(s.ctx, 1)
	wantErr(t, err, sessions.ErrNotFound, "session 1")
	first := s.start(entriesOnly)
	if first == 0 {
		t.Error("an id is 0")
	}
	_, err = s.Start(s.ctx, entriesOnly)
	wantErr(t, err, sessions.ErrInProgress, "stop session 1 first")
	_, err = s.Session(first)
	wantErr(t, err, sessions.ErrState, "recording")
	_, err = s.Stop(s.ctx, first+1)
	wantErr(t, err, sessions.ErrNotFound, "session 2")
	s.stop(first)
	_, err = s.Stop(s.ctx, first)
	wantErr(t, err, sessions.ErrState, "session 1")
	if got, err := s.Session(first); err != nil || got.ID() != first {
		t.Errorf("the session that was stopped: %v, %v", got, err)
	}
	if second := s.start(entriesOnly); second <= first {
		t.Errorf("id %d after %d", second, first)
	}
	if got, want := s.Counts(), map[string]uint64{"started": 2, "refused": 1, "stopped": 1}; !maps.Equal(got, want) {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

func TestConcurrentStarts_SP1(t *testing.T) {
	s := open(t, sessions.Config{})
	var started atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := s.Start(s.ctx, entriesOnly)
			if err == nil {
				started.Add(1)
			} else {
				wantErr(t, err, sessions.ErrInProgress)
			}
		})
	}
	wg.Wait()
	if n := started.Load(); n != 1 {
		t.Errorf("%d sessions were started at once", n)
	}
}

// Recording ends with the call of Stop, the events come later.
func TestStop_SP3_SP4(t *testing.T) { synctest.Test(t, testStop) }

func testStop(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	marks.Mark(s.ctx, "before")
	time.Sleep(ms)
	release := s.hold()
	defer release()
	if _, err := s.Stop(over, id); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop with a context that is over: %v", err)
	}
	if got := s.state(id); got != sessions.Processing {
		t.Errorf("state is %q", got)
	}
	_, err := s.Session(id)
	wantErr(t, err, sessions.ErrState, "processing")
	time.Sleep(ms)
	marks.Mark(s.ctx, "after")
	second := s.start(entriesOnly) // the recorder is free
	release()
	for st, err := range s.Watch(s.ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if st.State == sessions.Ready && (st.Progress != 1 || st.Entries < 2) {
			t.Errorf("status is %+v", st)
		}
	}
	got, err := s.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	if events := eventsOf(got); events != "before hold" {
		t.Errorf("events are %q", events)
	}
	if got.Length() <= 0 || got.Started().Before(s.tl.Origin()) {
		t.Errorf("it ran for %v from %v", got.Length(), got.Started())
	}
	s.stop(second)
	s.Close()
}

// All that other goroutines recorded before the stop is in the session.
func TestStopHasEverything_SP3(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	const goroutines, each = 8, 200
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				marks.Mark(s.ctx, "m")
			}
		})
	}
	wg.Wait()
	got := s.stop(id)
	marks.Mark(s.ctx, "m")
	s.tl.Deliver()
	if n := ask(t, got, sessions.Query{Timeline: 1, Types: []sessions.EventType{sessions.Mark}}); len(n) != goroutines*each {
		t.Errorf("%d marks, want %d; %+v", len(n), goroutines*each, got.Stats())
	}
}

// Close is the service's end: nothing runs after it, and nothing is kept (SP-4).
func TestClose_SP4_SP6(t *testing.T) {
	s := open(t, sessions.Config{})
	player := s.play()
	stopped := s.start(entriesOnly)
	s.stop(stopped)
	id := s.start(sessions.StartOptions{})
	s.Close()
	s.Close()
	_, err := s.Start(s.ctx, entriesOnly)
	wantErr(t, err, sessions.ErrClosed)
	for _, id := range []sessions.SessionID{stopped, id} {
		_, err = s.Session(id)
		wantErr(t, err, sessions.ErrNotFound)
		_, err = s.Stop(s.ctx, id)
		wantErr(t, err, sessions.ErrNotFound)
	}
	if !player().Stopped() {
		t.Error("the sampler goes on")
	}
	for _, typ := range observer.SupportedEntryTypes() {
		if (*record.Timeline)(s.tl).Observed(record.Type(typ)) {
			t.Errorf("%s is still observed", typ)
		}
	}
}

// Close waits for starts that are under way.
func TestCloseWhileStarting(t *testing.T) {
	for range 20 {
		s := open(t, sessions.Config{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { _, _ = s.Start(s.ctx, entriesOnly) })
		}
		s.Close()
		if (*record.Timeline)(s.tl).Observed(record.Mark) {
			t.Fatal("the timeline is observed after Close")
		}
		wg.Wait()
	}
}

// A start calls the program's clock, which may use the recorder: no lock is held. A clock that panics stands still, and Close
// during a start ends the session.
func TestClockUsesTheRecorder(t *testing.T) { synctest.Test(t, testClockUsesTheRecorder) }

func testClockUsesTheRecorder(t *testing.T) {
	var inClock atomic.Pointer[func()] // called once
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration {
		if f := inClock.Swap(nil); f != nil {
			(*f)()
		}
		return time.Second
	}})
	r := sessions.NewRecorder(sessions.Config{Timeline: tl})
	next := func(f func()) { inClock.Store(&f) }
	start := func() (sessions.SessionID, error) {
		return r.Start(t.Context(), sessions.StartOptions{NoSamples: true})
	}

	next(func() { panic("broken") })
	id, err := start()
	if err != nil || id != 1 || (*record.Timeline)(tl).Panics() != 1 {
		t.Fatalf("session %d, %v; %d panics are counted, want one and session 1", id, err, (*record.Timeline)(tl).Panics())
	}
	if _, err := r.Stop(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := r.Release(id); err != nil {
		t.Error(err)
	}
	next(func() {
		if all := r.Statuses(); len(all) != 0 {
			t.Errorf("while a session starts, the statuses are %+v", all)
		}
		_, err := start()
		wantErr(t, err, sessions.ErrInProgress, "being started")
	})
	if id, err = start(); err != nil || id != 2 {
		t.Fatalf("session %d, %v; want session 2", id, err)
	}
	next(func() { _ = r.Counts() })
	if _, err := r.Stop(t.Context(), id); err != nil {
		t.Error(err)
	}

	closed := make(chan struct{})
	next(func() {
		go func() {
			defer close(closed)
			r.Close()
		}()
		synctest.Wait() // until Close waits for the start
		if _, err := r.Session(id); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("while the recorder is being closed: %v", err)
		}
	})
	_, err = start()
	wantErr(t, err, sessions.ErrClosed)
	<-closed
}
