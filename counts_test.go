package perfline_test

import (
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A panic of an observer's callback is a count.
func TestCountOfPanics(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	pl, ctx, _ := start(t, perfline.Config{Timeline: tl})
	if _, err := tl.Observe(func(observer.List) { panic("callback") }, observer.Options{Type: observer.Mark}); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "m")
	tl.Deliver()
	for _, c := range pl.Counts() {
		if c.Group == "perfline.panics" && (c.N != 1 || !c.Lost) {
			t.Errorf("the count is %+v, want 1, lost", c)
		}
	}
	if n := pl.Stats().Bridge.Panics; n != 1 {
		t.Errorf("%d panics are counted, want 1", n)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}

// A pipeline lists no counts of parts that it does not have.
func TestCountsOfWhatExists(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{})
	for _, c := range pl.Counts() {
		if strings.HasPrefix(c.Group, "perfline.delivery") || strings.HasPrefix(c.Group, "perfline.profil") {
			t.Errorf("without a backend there is %+v", c)
		}
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
}
