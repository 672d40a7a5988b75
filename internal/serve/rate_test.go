package serve_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/internal/serve"
)

func TestRate(t *testing.T) {
	r := serve.NewRate(2)
	origin := time.Unix(0, 0)
	at := func(seconds int) time.Time { return origin.Add(time.Duration(seconds) * time.Second) }
	for _, step := range []struct {
		name    string
		seconds int
		wait    time.Duration
	}{
		{"the first", 0, 0},
		{"the second", 10, 0},
		{"one too many", 20, 40 * time.Second},
		{"a moment before the first is a minute old", 59, time.Second},
		{"when the first is a minute old", 60, 0},
		{"until the second is a minute old", 60, 10 * time.Second},
		{"long after", 300, 0},
	} {
		if got := r.Take(at(step.seconds)); got != step.wait {
			t.Errorf("%s: the wait is %v, want %v", step.name, got, step.wait)
		}
	}
	r.Take(at(301))
	r.Undo(at(301))
	r.Undo(at(299)) // nothing was counted then
	if got := r.Take(at(302)); got != 0 {
		t.Errorf("after a use was taken back, the wait is %v, want none", got)
	}
	if got := r.Take(at(303)); got != 57*time.Second {
		t.Errorf("the wait is %v, want 57s", got)
	}
}

func TestRateOfNone(t *testing.T) {
	for _, most := range []int{0, -1} {
		r := serve.NewRate(most)
		if got := r.Take(time.Now()); got != time.Minute || r.Most() != 0 {
			t.Errorf("NewRate(%d): the wait is %v for %d uses, want a minute for none", most, got, r.Most())
		}
	}
}
