package sessions_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// An observer whose callback does not return holds a session up for a second, which has
// what was recorded all the same.
func TestHungCallback_SP3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := open(t, sessions.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		id := s.start(entriesOnly)
		release := s.hold()
		time.Sleep(ms)
		marks.Mark(s.ctx, "pending")
		began := time.Now()
		got := s.stop(id)
		if took := time.Since(began); took != time.Second {
			t.Errorf("Stop took %v", took)
		}
		if events := eventsOf(got); events != "hold pending" {
			t.Errorf("events are %q", events)
		}
		if want := "callbacks must not block"; strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not say %q once: %s", want, log.String())
		}
		release()
		log.Reset()
		s.stop(s.start(entriesOnly))
		if log.Len() > 0 {
			t.Errorf("of a session that nobody holds up: %s", log.String())
		}
		s.Close()
	})
}

// A callback may stop the session, and close the recorder.
func TestStopInACallback_SP3(t *testing.T) {
	for name, stop := range map[string]func(*studio, sessions.SessionID){
		"Stop":  func(s *studio, id sessions.SessionID) { s.stop(id) },
		"Close": func(s *studio, _ sessions.SessionID) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, sessions.Config{})
				id := s.start(entriesOnly)
				took := make(chan time.Duration)
				obs, err := s.tl.Observe(func(observer.List) {
					began := time.Now()
					stop(s, id)
					took <- time.Since(began)
				}, observer.Options{Type: observer.Mark})
				if err != nil {
					t.Fatal(err)
				}
				marks.Mark(s.ctx, "m")
				if took := <-took; took != time.Second {
					t.Errorf("it took %v", took)
				}
				obs.Disconnect()
				s.Close()
			})
		})
	}
}
