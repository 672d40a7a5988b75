package sessions_test

import (
	"context"
	"errors"
	"testing"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/record"
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
			if err := s.CheckRemote(); (err == nil) != c.remote {
				t.Errorf("CheckRemote: %v", err)
			}
		})
	}
	t.Run("modules that the policy does not have", func(t *testing.T) {
		s := open(t, sessions.Config{Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleMain}}})
		_, err := s.Start(s.ctx, sessions.StartOptions{Remote: true, Modules: []string{profiling.ModuleStandard}})
		if !errors.Is(err, profiling.ErrNotAllowed) {
			t.Errorf("got %v", err)
		}
		if (*record.Timeline)(s.tl).Observed(observer.Mark) {
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
