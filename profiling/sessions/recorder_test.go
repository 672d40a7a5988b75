package sessions_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// A studio is a recorder of a timeline, and contexts with that.
type studio struct {
	*sessions.Recorder
	t   *testing.T
	tl  *observer.Timeline
	ctx context.Context
}

func open(t *testing.T, c sessions.Config) *studio {
	if c.Timeline == nil {
		c.Timeline = observer.NewTimeline(observer.TimelineOptions{})
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	s := &studio{t: t, Recorder: sessions.NewRecorder(c), tl: c.Timeline, ctx: observer.NewContext(context.Background(), c.Timeline)}
	t.Cleanup(s.Close)
	return s
}

var entriesOnly = sessions.StartOptions{NoSamples: true}

func (s *studio) start(o sessions.StartOptions) sessions.SessionID {
	s.t.Helper()
	id, err := s.Start(context.Background(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *studio) stop(id sessions.SessionID) *sessions.Session {
	s.t.Helper()
	got, err := s.Stop(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s *studio) state(id sessions.SessionID) sessions.State {
	for _, st := range s.Statuses() {
		if st.ID == id {
			return st.State
		}
	}
	return "unknown"
}

func wantBad(t *testing.T, err error, texts ...string) {
	t.Helper()
	var bad sessions.BadRequest
	if !errors.As(err, &bad) {
		t.Errorf("got %v, want a BadRequest", err)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// eventsOf are the names of all events but collections of garbage.
func eventsOf(s *sessions.Session) string {
	var all []sessions.Event
	for _, tl := range s.Timelines() {
		for e := range s.All(tl.ID) {
			if e.Type != sessions.GC {
				all = append(all, e)
			}
		}
	}
	return names(all)
}

// hold has the timeline's deliveries wait, which post-processing needs, until release is called.
func (s *studio) hold() (release func()) {
	s.t.Helper()
	entered, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	obs, err := s.tl.Observe(func(observer.List) { once.Do(func() { close(entered); <-over }) }, observer.Options{Type: observer.Server})
	if err != nil {
		s.t.Fatal(err)
	}
	s.tl.Record(nil, observer.Server, "hold", s.tl.Now(), 0, nil)
	<-entered
	return sync.OnceFunc(func() { close(over); obs.Disconnect() })
}

var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func TestOneAtATime_SP1_SP2_SP9(t *testing.T) {
	s := open(t, sessions.Config{})
	_, err := s.Stop(s.ctx, 1)
	wantBad(t, err, "session 1 is not in progress")
	first := s.start(entriesOnly)
	if first == 0 {
		t.Error("an id is 0")
	}
	_, err = s.Start(s.ctx, entriesOnly)
	wantBad(t, err, "session 1 is in progress")
	_, err = s.Session(first)
	wantBad(t, err, "recording")
	_, err = s.Stop(s.ctx, first+1)
	wantBad(t, err, "session 2 is not in progress, session 1 is")
	s.stop(first)
	_, err = s.Stop(s.ctx, first)
	wantBad(t, err, "session 1 is not in progress")
	if got, err := s.Session(first); err != nil || got.ID() != first {
		t.Errorf("the session that was stopped: %v, %v", got, err)
	}
	if second := s.start(entriesOnly); second <= first {
		t.Errorf("id %d after %d", second, first)
	}
	if got, want := s.Stats(), (sessions.RecorderStats{Started: 2, Refused: 1, Stopped: 1}); got != want {
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
				wantBad(t, err)
			}
		})
	}
	wg.Wait()
	if n := started.Load(); n != 1 {
		t.Errorf("%d sessions were started at once", n)
	}
}

// Recording ends with the call of Stop, the events come later.
func TestStop_SP3_SP4(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	marks.Mark(s.ctx, "before")
	release := s.hold()
	defer release()
	if _, err := s.Stop(over, id); !errors.Is(err, context.Canceled) {
		t.Errorf("Stop with a context that is over: %v", err)
	}
	if got := s.state(id); got != sessions.Processing {
		t.Errorf("state is %q", got)
	}
	_, err := s.Session(id)
	wantBad(t, err, "processing")
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
}

// All that other goroutines recorded before the stop is in the session.
func TestStopHasEverything_SP3(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	const goroutines, each = 8, 1000
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
	if n := ask(t, got, sessions.Query{Timeline: 1, Types: []sessions.EventType{sessions.Mark}}); len(n.List) != goroutines*each {
		t.Errorf("%d marks, want %d; %+v", len(n.List), goroutines*each, got.Stats())
	}
}

func TestRelease_SP4_SP5_SP6(t *testing.T) {
	s := open(t, sessions.Config{MaxSessions: 3})
	a := s.start(entriesOnly)
	wantBad(t, s.Release(a), "in progress")
	wantBad(t, s.Release(9), "session 9 is not known")
	kept := s.stop(a)
	s.stop(s.start(entriesOnly))
	c := s.start(entriesOnly)
	_, err := s.Start(s.ctx, entriesOnly)
	wantBad(t, err)
	if err := s.Release(a); err != nil {
		t.Error(err)
	}
	_, err = s.Session(a)
	wantBad(t, err, "session 1 is not known")
	wantBad(t, s.Release(a))
	if kept.ID() != a || len(s.Statuses()) != 2 {
		t.Errorf("%+v", s.Statuses())
	}
	if err := s.Release(0); err != nil { // all but the one in progress
		t.Error(err)
	}
	if got := s.Statuses(); len(got) != 1 || got[0].ID != c || got[0].State != sessions.InProgress {
		t.Errorf("after releasing all: %+v", got)
	}
	s.stop(c)
	if err := s.Release(0); err != nil || len(s.Statuses()) != 0 {
		t.Errorf("%v, %+v", err, s.Statuses())
	}
	if got := s.Stats().Released; got != 3 {
		t.Errorf("%d released", got)
	}
	if d := s.start(entriesOnly); d != c+1 {
		t.Errorf("id %d after %d", d, c)
	}
}

// A session that is released is not kept in memory until it would have expired.
func TestReleaseFreesMemory_SP5(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	session := weak.Make(s.stop(id))
	runtime.GC()
	if session.Value() == nil {
		t.Fatal("a session is gone that was not released")
	}
	if err := s.Release(id); err != nil {
		t.Fatal(err)
	}
	for range 100 { // what put it together may not have returned yet
		runtime.GC()
		if session.Value() == nil {
			return
		}
	}
	t.Error("a session that was released is still in memory")
}

func TestMaxSessions(t *testing.T) {
	s := open(t, sessions.Config{MaxSessions: 2})
	first := s.start(entriesOnly)
	s.stop(first)
	s.stop(s.start(entriesOnly))
	_, err := s.Start(s.ctx, entriesOnly)
	wantBad(t, err, "2 sessions are kept")
	if err := s.Release(first); err != nil {
		t.Fatal(err)
	}
	s.start(entriesOnly)
}

// A session that is released while it is put together is never there.
func TestReleaseWhileProcessing_SP5(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	for range 20_000 { // several slices
		marks.Mark(s.ctx, "m")
	}
	release := s.hold()
	defer release()
	stopped := make(chan error)
	go func() {
		_, err := s.Stop(context.Background(), id)
		stopped <- err
	}()
	for st, err := range s.Watch(s.ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if st.State == sessions.Processing {
			break
		}
	}
	if err := s.Release(id); err != nil {
		t.Fatal(err)
	}
	release()
	wantBad(t, <-stopped, "was released")
}

func TestMaxEvents(t *testing.T) {
	s := open(t, sessions.Config{MaxEvents: 3})
	id := s.start(entriesOnly)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		marks.Mark(s.ctx, name)
	}
	got := s.stop(id)
	if st := got.Stats(); eventsOf(got) != "a b c" || st.Dropped != 2 || st.Entries != 3 {
		t.Errorf("%q, %+v", eventsOf(got), st)
	}
}

// Entries that the timeline had no room for are counted.
func TestLost(t *testing.T) {
	s := open(t, sessions.Config{Timeline: observer.NewTimeline(observer.TimelineOptions{MaxPending: 64, Scheduler: func(func()) {}})})
	for range 1000 { // before the session
		marks.Mark(s.ctx, "m")
	}
	id := s.start(entriesOnly)
	const n = 500
	for range n {
		marks.Mark(s.ctx, "m")
	}
	got := s.stop(id)
	came := uint64(len(ask(t, got, sessions.Query{Timeline: 1, Types: []sessions.EventType{sessions.Mark}}).List))
	if lost := got.Stats().Lost; lost == 0 || lost+came != n {
		t.Errorf("of %d entries %d came and %d were lost", n, came, lost)
	}
}

// A session that nobody stops ends at MaxLength, can be stopped once, and is forgotten after Keep.
func TestMaxLengthAndKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{MaxLength: time.Minute, Keep: time.Hour})
		id := s.start(entriesOnly)
		marks.Mark(s.ctx, "m")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got := s.state(id); got != sessions.Ready || s.Stats().Overlong != 1 {
			t.Fatalf("state is %q, %+v", got, s.Stats())
		}
		second := s.start(entriesOnly)
		marks.Mark(s.ctx, "n")
		got := s.stop(id)
		if got.Length() < time.Minute || got.Length() > time.Minute+time.Second || eventsOf(got) != "m" {
			t.Errorf("%v long, %q", got.Length(), eventsOf(got))
		}
		_, err := s.Stop(s.ctx, id)
		wantBad(t, err, "session 1 is not in progress, session 2 is")
		if got := s.state(second); got != sessions.InProgress {
			t.Errorf("the other session is %q", got)
		}
		if got := eventsOf(s.stop(second)); got != "n" {
			t.Errorf("it has %q", got)
		}
		time.Sleep(time.Hour - 2*time.Second)
		synctest.Wait()
		if got := len(s.Statuses()); got != 2 {
			t.Errorf("%d sessions just before they expire", got)
		}
		if err := s.Release(second); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		_, err = s.Session(id)
		wantBad(t, err, "has expired")
		if got, want := s.Stats(), (sessions.RecorderStats{Started: 2, Stopped: 2, Overlong: 1, Released: 1, Expired: 1}); got != want {
			t.Errorf("counts are %+v, want %+v", got, want)
		}
		s.Close()
	})
}

func TestKeepForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{Keep: -1})
		id := s.start(entriesOnly)
		s.stop(id)
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if got := s.state(id); got != sessions.Ready {
			t.Errorf("state is %q", got)
		}
		s.Close()
	})
}

// Close is the service's end: nothing runs after it, and nothing is kept (SP-4).
func TestClose_SP4_SP6(t *testing.T) {
	s := open(t, sessions.Config{})
	kept := s.start(entriesOnly)
	s.stop(kept)
	id := s.start(sessions.StartOptions{})
	s.Close()
	s.Close()
	_, err := s.Start(s.ctx, entriesOnly)
	if err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Start: %v", err)
	}
	for _, id := range []sessions.SessionID{kept, id} {
		_, err = s.Session(id)
		wantBad(t, err, "not known")
		_, err = s.Stop(s.ctx, id)
		wantBad(t, err)
	}
	for _, typ := range observer.SupportedEntryTypes() {
		if s.tl.Observed(typ) {
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
		if s.tl.Observed(observer.Mark) {
			t.Fatal("the timeline is observed after Close")
		}
		wg.Wait()
	}
}

func TestRemote(t *testing.T) {
	remote := sessions.StartOptions{Remote: true, NoSamples: true}
	for _, c := range []struct {
		name, setting string
		policy        profiling.Policy
		local, remote bool
	}{
		{"nobody said anything", "", profiling.Policy{}, true, false},
		{"the application allows it", "", profiling.Policy{Remote: true}, true, true},
		{"who runs it allows it", "remote", profiling.Policy{}, true, true},
		{"who runs it forbids it", "off", profiling.Policy{Remote: true}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(profiling.EnvVariable, c.setting)
			s := open(t, sessions.Config{Policy: c.policy})
			for o, want := range map[*sessions.StartOptions]bool{&entriesOnly: c.local, &remote: c.remote} {
				id, err := s.Start(s.ctx, *o)
				if (err == nil) != want || err != nil && !errors.Is(err, profiling.ErrNotAllowed) {
					t.Errorf("%+v: %v", *o, err)
				}
				if err == nil {
					if st := s.Statuses()[0]; st.Remote != o.Remote {
						t.Errorf("status is %+v", st)
					}
					s.stop(id)
					_ = s.Release(id)
				}
			}
			if err := s.RemoteAllowed(); (err == nil) != c.remote {
				t.Errorf("RemoteAllowed: %v", err)
			}
		})
	}
	t.Run("modules that the policy does not have", func(t *testing.T) {
		s := open(t, sessions.Config{Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleMain}}})
		_, err := s.Start(s.ctx, sessions.StartOptions{Remote: true, Modules: []string{profiling.ModuleStandard}})
		if !errors.Is(err, profiling.ErrNotAllowed) {
			t.Errorf("got %v", err)
		}
		if s.tl.Observed(observer.Mark) {
			t.Error("a session that was refused observes")
		}
		s.start(entriesOnly) // the recorder is free
	})
}

func TestStartOptions(t *testing.T) {
	s := open(t, sessions.Config{})
	_, err := s.Start(s.ctx, sessions.StartOptions{SampleInterval: -1})
	wantBad(t, err, "-1ns")
	ctx, cancel := context.WithCancel(s.ctx)
	id, err := s.Start(ctx, sessions.StartOptions{SampleInterval: 20 * ms})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // it does not end with ctx
	if st := s.Statuses()[0]; st.ID != id || st.State != sessions.InProgress || !strings.Contains(st.Sampler, ", started") && !strings.Contains(st.Sampler, ", paused") {
		t.Errorf("status is %+v", st)
	}
	if got := s.stop(id); got.Trace() == nil || got.Trace().Interval > 20*ms {
		t.Errorf("trace is %+v", got.Trace())
	}
}

// A session that runs does not keep the requests that are over.
func TestRequestsAreNotKept(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	const n = 10_000
	var some []weak.Pointer[observer.Timeline]
	for i := range n {
		child := s.tl.NewChild()
		marks.Mark(observer.NewContext(s.ctx, child), "m")
		child.Record(nil, observer.Navigation, "/x", 0, child.Now(), nil)
		child.Close()
		if i%500 == 0 {
			some = append(some, weak.Make(child))
			s.tl.Deliver()
		}
	}
	s.tl.Deliver()
	runtime.GC()
	runtime.GC()
	kept := slices.DeleteFunc(some, func(p weak.Pointer[observer.Timeline]) bool { return p.Value() == nil })
	if len(kept) > 1 { // the last may be in a pool's memory
		t.Errorf("%d of %d timelines are still in memory", len(kept), n/500)
	}
	got := s.stop(id)
	frames := map[sessions.FrameID]bool{}
	for _, tl := range got.Timelines() {
		if tl.Name == "/x" {
			frames[tl.FrameID] = true
		}
	}
	if len(frames) != n {
		t.Errorf("%d frames, want %d; %+v", len(frames), n, got.Stats())
	}
}
