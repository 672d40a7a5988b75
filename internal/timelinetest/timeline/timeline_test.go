package timeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

func TestEntries_PT15(t *testing.T) {
	tl := newManual()
	rec(tl.Timeline).Record(record.Measure, "b", 30, 5, nil)
	rec(tl.Timeline).Record(record.Mark, "a", 10, 0, nil)
	rec(tl.Timeline).Record(record.Resource, "r", 20, 1, []slog.Attr{slog.String(observer.InitiatorKey, "fetch")})
	rec(tl.Timeline).Record(record.Mark, "tie", 10, 0, nil)
	want(t, "PT-15 by start, ties in order of recording", names(tl.Entries()), "a", "tie", "r", "b")
	want(t, "PT-16 by type", names(tl.EntriesByType(observer.Mark)), "a", "tie")
	want(t, "PT-16 by name", names(tl.EntriesByName("a")), "a")
	want(t, "PT-16 by name and type", names(tl.EntriesByName("a", observer.Measure)))
	want(t, "PT-16 case-sensitive", names(tl.EntriesByName("A")))
	want(t, "PT-16 empty name is a name", names(tl.EntriesByName("")))
	want(t, "PT-17 initiatorType", names(tl.Entries(observer.Filter{InitiatorType: "fetch"})), "r")
	want(t, "PT-17 all that is given must match", names(tl.Entries(observer.Filter{InitiatorType: "fetch", Type: observer.Mark})))
	want(t, "any of several filters", names(tl.Entries(observer.Filter{Name: "a"}, observer.Filter{Name: "b"})), "a", "b")
	if rec(tl.Timeline).Record("frame", "f", 0, 0, nil) {
		t.Error("an unknown type was recorded")
	}
	if _, err := rec(tl.Timeline).NewEntry("frame", "f", 0, 0); err == nil {
		t.Error("NewEntry of an unknown type: no error")
	}
}

func TestSupportedEntryTypes_PT32(t *testing.T) {
	got := observer.SupportedEntryTypes()
	all := []observer.Type{observer.GC, observer.Mark, observer.Measure, observer.Navigation, observer.Resource, observer.Server}
	if !slices.Equal(got, all) {
		t.Errorf("PT-32: got %q, want %q", got, all)
	}
	for i := 1; i < len(got); i++ {
		if got[i-1] >= got[i] {
			t.Errorf("PT-32: %q before %q: not alphabetical", got[i-1], got[i])
		}
	}
	got[0] = "changed"
	if observer.SupportedEntryTypes()[0] == "changed" {
		t.Error("PT-32: the caller can change the list")
	}
}

func TestEntryJSON_PT12(t *testing.T) {
	tl := newManual()
	rec(tl.Timeline).Record(record.Mark, "plain", 1500*time.Microsecond, 0, nil)
	rec(tl.Timeline).Record(record.Measure, "full", 2*time.Millisecond, 250*time.Microsecond, []slog.Attr{
		slog.String("s", "x"), slog.Int("i", -1), slog.Uint64("u", math.MaxUint64), slog.Float64("f", 0.5), slog.Bool("b", true),
		slog.Duration("d", 1500*time.Microsecond), slog.Time("t", time.Unix(0, 0).UTC()),
		slog.Group("g", slog.Int("n", 1), slog.Group("h", slog.Int("n", 2))), slog.Group("", slog.Int("inlined", 3)),
		slog.Any("e", errors.New("bad")), slog.Any("c", make(chan int)), slog.Any("nan", math.NaN()), slog.Any("l", []int{1, 2}),
	})
	for i, want := range []string{
		`{"name":"plain","entryType":"mark","startTime":1.5,"duration":0,"detail":null}`,
		`{"name":"full","entryType":"measure","startTime":2,"duration":0.25,"detail":{"s":"x","i":-1,"u":18446744073709551615,"f":0.5,` +
			`"b":true,"d":1.5,"t":"1970-01-01T00:00:00Z","g":{"n":1,"h":{"n":2}},"inlined":3,"e":"bad","c":"","nan":"NaN","l":"[1 2]"}}`,
	} {
		got, err := json.Marshal(tl.Entries()[i])
		if err != nil {
			t.Fatal(err)
		}
		if c := bytes.Index(got, []byte(`"c":"0x`)); c >= 0 { // a channel's text is its address
			end := c + len(`"c":"`) + bytes.IndexByte(got[c+len(`"c":"`):], '"')
			got = append(got[:c+len(`"c":"`):c+len(`"c":"`)], got[end:]...)
		}
		if sortKeys(t, string(got)) != sortKeys(t, want) {
			t.Errorf("PT-12:\n got %s\nwant %s", got, want)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]float64{0: 0, 51_150 * time.Microsecond: 51.15, -3 * time.Millisecond: -3, 1: 1e-6, time.Hour: 3.6e6} {
		if got := record.Milliseconds(d); got != want {
			t.Errorf("%v: %v ms, want %v", d, got, want)
		}
	}
}

func TestChildren(t *testing.T) {
	process := newManual()
	_, got := watch(t, process.Timeline, marksOnly)
	process.now = 100
	child := process.NewChild()
	if rec(child).Parent() != rec(process.Timeline) || rec(process.Timeline).Parent() != nil {
		t.Error("Parent is wrong")
	}
	process.now = 130
	var seen []time.Duration
	if _, err := process.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			seen = append(seen, e.StartTime())
			if e.Timeline() != child {
				t.Error("the entry does not know its timeline")
			}
		}
	}, marksOnly); err != nil {
		t.Fatal(err)
	}
	add(child, observer.Mark, "m")
	if e := child.Entries(); len(e) != 1 || e[0].StartTime() != 30 {
		t.Errorf("the request sees %v, want one entry at 30ns", e)
	}
	want(t, "the process's buffer", names(process.Entries()))
	process.run()
	want(t, "the process's observer", *got, "m")
	if len(seen) != 1 || seen[0] != 130 {
		t.Errorf("on the process's axis it starts at %v, want 130ns", seen)
	}
}

func TestClose(t *testing.T) {
	process := newManual()
	_, all := watch(t, process.Timeline, marksOnly)
	child := process.NewChild()
	obs, own := watch(t, child, marksOnly)
	add(child, observer.Mark, "before")
	child.Close()
	child.Close()
	process.Close() // nothing
	add(child, observer.Mark, "after")
	process.run()
	want(t, "the child's observer", *own, "before")
	want(t, "the process's observer", *all, "before", "after")
	if err := obs.Observe(marksOnly); err == nil {
		t.Error("observing a closed timeline: no error")
	}
	add(process.Timeline, observer.Mark, "still open")
	want(t, "the process timeline's buffer", names(process.Entries()), "still open")
}

func TestOverflow(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.MaxPending = 16 })
	_, got := watch(t, tl.Timeline, marksOnly)
	lost := 0
	for range 33 {
		if !rec(tl.Timeline).Record(record.Mark, "m", 0, 0, nil) {
			lost++
		}
	}
	s := tl.Stats()[observer.Mark]
	if lost != 9 || s.Overflow != 9 || s.Recorded != 24 {
		t.Errorf("%d lost, stats %+v, want 9 lost and 24 recorded", lost, s)
	}
	tl.run()
	if len(*got) != 24 {
		t.Errorf("%d delivered, want 24", len(*got))
	}
	if !rec(tl.Timeline).Record(record.Mark, "room again", 0, 0, nil) {
		t.Error("after a collection there is no room")
	}
}

func TestLatestAfterTheBufferIsFull(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize, o.ChildBufferSize = 3, 3 })
	for name, on := range map[string]*observer.Timeline{"process": tl.Timeline, "child": tl.NewChild()} {
		for i := range 10 {
			rec(on).Record(record.Mark, "tick", time.Duration(i), 0, nil)
			rec(tl.Timeline).Flush()
			if at, ok := rec(on).Latest("tick"); !ok || at != time.Duration(i) {
				t.Errorf("UT-21 %s: after tick %d Latest is %v, %v", name, i, at, ok)
			}
		}
		if n := rec(on).Clear(record.Mark, "tick"); n != 3 {
			t.Errorf("%s: cleared %d, want 3", name, n)
		}
		if at, ok := rec(on).Latest("tick"); ok {
			t.Errorf("%s: cleared, but Latest is %v", name, at)
		}
	}
}

func TestTimes(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	origin := time.Now()
	child := &rec(tl).NewUnit(origin, nil).Timeline
	if !child.Origin().Equal(origin) {
		t.Errorf("Origin is %v, want %v", child.Origin(), origin)
	}
	add(view(child), observer.Mark, "m")
	e := view(child).Entries()[0]
	if !e.Time().Equal(origin.Add(e.StartTime())) {
		t.Errorf("Time is %v, want Origin + StartTime = %v", e.Time(), origin.Add(e.StartTime()))
	}
	if d := child.Since(e.Time()); d != e.StartTime() {
		t.Errorf("Since(Time) is %v, want %v", d, e.StartTime())
	}
	a := tl.Now()
	if b := tl.Now(); a <= 0 || b < a {
		t.Errorf("UT-27: now is %v, then %v", a, b)
	}
	if zero := (&observer.Entry{}).Time(); !zero.IsZero() {
		t.Errorf("the zero Entry's time is %v", zero)
	}
	if observer.ProcessTimeline() == nil || observer.FromContext(context.Background()) != observer.ProcessTimeline() {
		t.Error("no default timeline")
	}
}

func TestEntryString(t *testing.T) {
	tl := newManual()
	tl.now = 2 * time.Millisecond
	tl.add(observer.Mark, "a b")
	rec(tl.Timeline).Record(record.Measure, "m", time.Millisecond, -3*time.Microsecond, nil)
	want(t, "as text", []string{fmt.Sprint(tl.Entries()), fmt.Sprint(observer.Entry{})},
		`[measure "m" at 1ms for -3µs mark "a b" at 2ms]`, ` "" at 0s`)
}
