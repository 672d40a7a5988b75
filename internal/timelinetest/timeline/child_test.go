package timeline_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

type otherKey struct{}

func TestContext(t *testing.T) {
	ctx := context.Background()
	tl := newManual()
	child := tl.NewChild()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want *observer.Timeline
	}{
		{"nil", nil, observer.ProcessTimeline()},
		{"empty", ctx, observer.ProcessTimeline()},
		{"nil timeline", observer.NewContext(ctx, nil), observer.ProcessTimeline()},
		{"process", observer.NewContext(ctx, tl.Timeline), tl.Timeline},
		{"the innermost", observer.NewContext(observer.NewContext(ctx, tl.Timeline), child), child},
		{"under other values", context.WithValue(observer.NewContext(ctx, child), otherKey{}, 1), child},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := observer.FromContext(c.ctx); got != c.want {
				t.Errorf("got %p, want %p", got, c.want)
			}
		})
	}
	if d := observer.ProcessTimeline(); rec(d).Parent() != nil || d.Now() <= 0 || !d.Origin().Before(time.Now()) {
		t.Errorf("the default timeline has parent %v, is at %v and began at %v", rec(d).Parent(), d.Now(), d.Origin())
	}
	cancelled, cancel := context.WithCancel(observer.NewContext(ctx, child))
	cancel()
	if observer.FromContext(cancelled) != child {
		t.Error("a cancelled context lost its timeline")
	}
}

// One entry, seen by observers of three generations, starts at the same moment.
func TestGenerations(t *testing.T) {
	process := newManual()
	process.now = 100 * time.Millisecond
	child := process.NewChild()
	process.now = 300 * time.Millisecond
	grandchild := child.NewChild()
	process.now = 450 * time.Millisecond

	seen := map[string]observer.Entry{}
	for name, on := range map[string]*observer.Timeline{"process": process.Timeline, "child": child, "grandchild": grandchild} {
		if _, err := on.Observe(func(l observer.List) { seen[name] = l.Entries()[0] }, marksOnly); err != nil {
			t.Fatal(err)
		}
	}
	add(grandchild, observer.Mark, "m")
	process.run()
	for name, w := range map[string]string{"process": "450", "child": "350", "grandchild": "150"} {
		e := seen[name]
		got, err := json.Marshal(e)
		if want := `{"name":"m","entryType":"mark","startTime":` + w + `,"duration":0,"detail":null}`; err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, want)
		}
		if w := grandchild.Origin().Add(150 * time.Millisecond); !e.Time().Equal(w) {
			t.Errorf("%s: Time is %v, want %v", name, e.Time(), w)
		}
		if e.Timeline() != grandchild {
			t.Errorf("%s: the entry's timeline is another", name)
		}
	}
	want(t, "the child's own buffer", names(child.Entries()))
	if s := child.Stats()[observer.Mark]; s.Recorded != 1 || s.Delivered != 3 {
		t.Errorf("stats are %+v, want 1 recorded and 3 delivered: they are the process's", s)
	}
}

func TestSiblingsAreApart(t *testing.T) {
	process := newManual()
	a, b := process.NewChild(), process.NewChild()
	_, got := watch(t, b, both)
	add(a, observer.Mark, "m")
	add(process.Timeline, observer.Mark, "m")
	process.run()
	want(t, "the sibling's observer", *got)
	want(t, "the sibling's entries", names(b.Entries()))
	if _, ok := rec(b).Latest("m"); ok {
		t.Error("the sibling knows the mark's name")
	}
	if n := rec(b).Clear(record.Mark); n != 0 {
		t.Errorf("the sibling cleared %d", n)
	}
	if at, ok := rec(a).Latest("m"); !ok || at != 0 {
		t.Errorf("Latest is %v, %v after the sibling's Clear", at, ok)
	}
}

// A measured clock: Origin + StartTime is the moment, on every axis.
func TestEntryTime(t *testing.T) {
	process := observer.NewTimeline(observer.TimelineOptions{})
	origin := time.Now().Add(-time.Second) // the request was read from the wire before
	for name, on := range map[string]*observer.Timeline{
		"process": process, "request": process.NewChild(), "request with an origin": view(&rec(process).NewUnit(origin, nil).Timeline),
	} {
		before := time.Now()
		add(on, observer.Mark, "m")
		after := time.Now()
		e := on.Entries()[0]
		if d := e.Time().Sub(on.Origin().Add(e.StartTime())); d != 0 {
			t.Errorf("%s: Time is %v away from Origin + StartTime", name, d)
		}
		if e.Time().Before(before) || e.Time().After(after) {
			t.Errorf("%s: Time is %v, want one between %v and %v", name, e.Time(), before, after)
		}
		if d := on.Since(e.Time()); d != e.StartTime() {
			t.Errorf("%s: Since is %v, want %v", name, d, e.StartTime())
		}
	}
	early := &rec(process).NewUnit(origin, nil).Timeline
	early.Record(record.Navigation, "GET /", 0, time.Second, nil)
	if e := view(early).Entries()[0]; !e.Time().Equal(origin) || e.StartTime() != 0 {
		t.Errorf("an entry from the origin on is at %v, start %v, want %v", e.Time(), e.StartTime(), origin)
	}
}

// The answers of a timeline without a buffer do not depend on the collector's runs.
func TestNoBuffer(t *testing.T) {
	process := newManual(func(o *observer.TimelineOptions) { o.BufferSize, o.ChildBufferSize = -1, -1 })
	_, got := watch(t, process.Timeline, marksOnly)
	for name, on := range map[string]*observer.Timeline{"process": process.Timeline, "request": process.NewChild()} {
		add(on, observer.Mark, name)
		want(t, name+" before the collection", names(on.Entries()))
		_, before := rec(on).Latest(name)
		rec(process.Timeline).Flush()
		want(t, name+" after the collection", names(on.Entries()))
		if _, after := rec(on).Latest(name); before != after {
			t.Errorf("%s: Latest says %v before a collection and %v after it", name, before, after)
		}
	}
	process.run()
	if len(*got) != 2 {
		t.Errorf("the observer got %v, want both", *got)
	}
}

func TestLatestOfNothing(t *testing.T) {
	process := newManual()
	process.now = 7
	child := process.NewChild()
	if at, ok := rec(child).Latest("never made"); ok || at != 0 {
		t.Errorf("UT-21: got %v, %v, want 0, false", at, ok)
	}
	rec(child).Record(record.Measure, "a measure", 0, 1, nil)
	if at, ok := rec(child).Latest("a measure"); ok {
		t.Errorf("UT-21: a measure's name was taken for a mark's, at %v", at)
	}
}
