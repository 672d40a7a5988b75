package main

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

// A fakeProcess is a backend's process that is not there.
type fakeProcess struct {
	dir     string
	arrived int
	down    bool
}

func (p *fakeProcess) Start(context.Context) error { p.down = false; return nil }
func (p *fakeProcess) Kill() error                 { p.arrived = 0; return nil }
func (p *fakeProcess) Stop() error                 { return nil }
func (p *fakeProcess) IsUp() bool                  { return !p.down }
func (p *fakeProcess) Dir() string                 { return p.dir }
func (p *fakeProcess) Log() string                 { return "" }

// fake adds a component to a bench, whose process forgets what has arrived when it is killed.
func fake(ctx context.Context, b *bench, p *fakeProcess) error {
	c, err := b.add(ctx, "fake", p, "127.0.0.1:1")
	if err != nil {
		return err
	}
	c.forgets = true
	c.flows = []*flow{{what: "items", read: service.Spans, count: func(context.Context, string, time.Time) (int, error) { return p.arrived, nil }}}
	return nil
}

func newFake(t *testing.T, p *fakeProcess) *bench {
	t.Helper()
	b := &bench{}
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := fake(t.Context(), b, p); err != nil {
		t.Fatal(err)
	}
	return b
}

// A backend that forgets is killed several times: all that has arrived counts.
func TestArrivalsBeforeKills(t *testing.T) {
	p := &fakeProcess{arrived: 5}
	b := newFake(t, p)
	for _, more := range []int{3, 2, 0} {
		if _, err := b.play(t.Context(), time.Now(), []episode{{component: "fake", kind: killed}}); err != nil {
			t.Fatal(err)
		}
		p.arrived += more
	}
	if n, err := b.flows()[0].arrivals(t.Context(), ""); n != 5+3+2 || err != nil {
		t.Errorf("%d have arrived, %v; want all of 10", n, err)
	}
}

// A schedule that is stopped in the middle of an episode heals before play returns, and leaves out
// the rest.
func TestStoppedScheduleHeals(t *testing.T) {
	p := &fakeProcess{arrived: 1}
	b := newFake(t, p)
	b.failing().forgets = false // so that it can be killed at once
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan string, 1)
	go func() {
		note, _ := b.play(ctx, time.Now(), []episode{{"fake", backend.Lie, 0, time.Hour}, {"fake", killed, time.Hour, time.Hour}})
		over <- note
	}()
	if err := backend.Poll(t.Context(), func() (bool, error) {
		resp, err := http.Get(b.failing().proxy.URL())
		if err == nil { // before that, it passes on to a port without a listener
			resp.Body.Close()
		}
		return err == nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if note := <-over; note != "it said 200 to all" || p.arrived != 1 {
		t.Errorf("the note is %q, the process was killed: %t; want the first episode's note and no kill", note, p.arrived == 0)
	}
	if resp, err := http.Get(b.failing().proxy.URL()); err == nil {
		resp.Body.Close()
		t.Error("the backend lies after the schedule")
	}
}

// TestNotMade has a disk that cannot be made: nothing is to be taken away then, and the row does
// not fail.
func TestNotMade(t *testing.T) {
	start := func(ctx context.Context, b *bench) error {
		return fake(ctx, b, &fakeProcess{dir: filepath.Join(t.TempDir(), "none")})
	}
	r := row{name: "fake/disk full", start: start, try: fault{kind: diskFull}.try}.run(t.Context(), settings{length: minLength, rate: 1})
	if !errors.Is(r.notMade, errNotMade) || len(r.wrong) > 0 {
		t.Errorf("not made: %v; wrong %v, want only the first", r.notMade, r.wrong)
	}
}

// A process whose disk was full may end when there is room again.
func TestEndedProcessStartsAgain(t *testing.T) {
	p := &fakeProcess{down: true}
	c := newFake(t, p).failing()
	for _, want := range []bool{true, false} {
		if ended, err := c.startAgain(t.Context()); ended != want || p.down || err != nil {
			t.Errorf("started again: %t, %v; want %t. The process is down: %t", ended, err, want, p.down)
		}
	}
}
