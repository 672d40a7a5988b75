package sessions_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

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
			t.Setenv("PERFLINE_PROFILING", c.setting)
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
		})
	}
	t.Run("modules that the policy does not have", func(t *testing.T) {
		s := open(t, sessions.Config{Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleMain}}})
		_, err := s.Start(s.ctx, sessions.StartOptions{Remote: true, Modules: []string{profiling.ModuleStandard}})
		if !errors.Is(err, profiling.ErrNotAllowed) {
			t.Errorf("got %v", err)
		}
		if (*record.Timeline)(s.tl).Observed(record.Mark) {
			t.Error("a session that was refused observes")
		}
		s.start(entriesOnly) // the recorder is free
	})
}

func TestStartOptions(t *testing.T) {
	s := open(t, sessions.Config{})
	_, err := s.Start(s.ctx, sessions.StartOptions{SampleInterval: -1})
	wantErr(t, err, sessions.ErrInvalid, "-1ns")
	s.play()
	ctx, cancel := context.WithCancel(s.ctx)
	id, err := s.Start(ctx, sessions.StartOptions{SampleInterval: 20 * ms})
	if err != nil {
		t.Fatal(err)
	}
	cancel() // it does not end with ctx
	if st := s.Statuses()[0]; st.ID != id || st.State != sessions.InProgress || st.Sampler != "cpu, started" {
		t.Errorf("status is %+v", st)
	}
	if got := s.stop(id); got.Trace() == nil || got.Trace().Interval != 20*ms {
		t.Errorf("trace is %+v", got.Trace())
	}
}

// Clients outside the program see no function that the policy hides, also in sessions that the program has started. The program sees all.
func TestRemoteSession(t *testing.T) {
	everything(t)
	s := open(t, sessions.Config{Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleStandard}}})
	player := s.play()
	id := s.start(sessions.StartOptions{Process: true})
	if _, err := s.RemoteSession(id); !errors.Is(err, sessions.ErrState) {
		t.Errorf("of a session that runs: %v", err)
	}
	player().sample(10)
	allocate(100)
	own := s.stop(id)
	remote, err := s.RemoteSession(id)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.RemoteSession(id); again != remote {
		t.Error("it is made again for each client")
	}
	for who, session := range map[string]*sessions.Session{"the program": own, "a client": remote} {
		hidden := 0
		for _, f := range session.Trace().Frames {
			if f.Name == "main.work" {
				hidden++
			}
		}
		groups := 0
		for _, tl := range session.Timelines() {
			for e := range session.All(tl.ID) {
				if e.Type == sessions.Samples {
					groups++
				}
				if e.Name == "main.work" {
					hidden++
				}
			}
		}
		for _, name := range session.ProcessProfiles() {
			for _, sample := range parsed(t, session, name).Sample {
				if calls(sample, "sessions_test.allocate") {
					hidden++
				}
			}
		}
		if wants := who == "the program"; (hidden > 2) != wants || !wants && hidden > 0 {
			t.Errorf("%s sees %d places with functions that the policy hides", who, hidden)
		}
		if len(session.Trace().Samples) != 10 || groups == 0 || len(session.ProcessProfiles()) == 0 || session.ID() != id {
			t.Errorf("%s sees %d samples in %d groups and the profiles %v", who, len(session.Trace().Samples), groups, session.ProcessProfiles())
		}
	}
	if err := s.Release(id); err != nil {
		t.Error(err)
	}
	if _, err := s.RemoteSession(id); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("of a session that was released: %v", err)
	}
}
