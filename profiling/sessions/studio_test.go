package sessions_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
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

// wantErr checks which error err wraps, and that it has the texts.
func wantErr(t *testing.T, err, want error, texts ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want an error that wraps %q", err, want)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// eventsOf are the names of all events but garbage collections.
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
	(*record.Timeline)(s.tl).Record(record.Server, "hold", s.tl.Now(), 0, nil)
	<-entered
	return sync.OnceFunc(func() { close(over); obs.Disconnect() })
}

var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
