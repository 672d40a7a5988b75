package timeline_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

func TestObserveErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		o    observer.Options
		says []string
	}{
		{"PT-21 neither Types nor Type", observer.Options{}, []string{"neither Types nor Type"}},
		{"PT-24 both", observer.Options{Types: []observer.Type{"mark"}, Type: "measure"}, []string{"[mark]", `"measure"`, "only one"}},
		{"X1 empty list", observer.Options{Types: []observer.Type{}}, []string{"none of the types", "supported are"}},
		{"X1 no supported type left", observer.Options{Types: []observer.Type{"frame", "Mark"}}, []string{`"frame"`, `"Mark"`, `"mark"`}},
		{"X1 unsupported single type", observer.Options{Type: "frame"}, []string{`"frame"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newManual()
			called := false
			_, err := tl.Observe(func(observer.List) { called = true }, c.o)
			if err == nil {
				t.Fatal("no error")
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			tl.add(observer.Mark, "m")
			tl.run()
			if called {
				t.Error("it was registered all the same")
			}
		})
	}
	t.Run("PT-20 nil callback", func(t *testing.T) {
		if _, err := newManual().Observe(nil, marksOnly); err == nil || !strings.Contains(err.Error(), "callback is nil") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("PT-25 single and multiple style on one observer", func(t *testing.T) {
		tl := newManual()
		obs, _ := watch(t, tl.Timeline, marksOnly)
		if err := obs.Observe(observer.Options{Type: observer.Measure}); !errors.Is(err, observer.ErrModification) {
			t.Errorf("Type after Types: %v", err)
		}
		obs, _ = watch(t, tl.Timeline, observer.Options{Type: observer.Mark})
		if err := obs.Observe(both); !errors.Is(err, observer.ErrModification) {
			t.Errorf("Types after Type: %v", err)
		}
		if err := obs.Observe(observer.Options{Types: []observer.Type{"frame"}}); !errors.Is(err, observer.ErrModification) {
			t.Errorf("Types after Type, and not supported either: %v, want the style's error, which comes first", err)
		}
		obs.Disconnect()
		if err := obs.Observe(both); !errors.Is(err, observer.ErrModification) {
			t.Errorf("PT-30 Types after Type and Disconnect, which keeps the style: %v", err)
		}
		if err := obs.Observe(observer.Options{Type: observer.Measure}); err != nil {
			t.Errorf("PT-30 Type after Type and Disconnect: %v", err)
		}
	})
}

func TestUnsupportedTypesAreIgnoredAndLogged_PT22_PT35(t *testing.T) {
	var log bytes.Buffer
	tl := newManual(func(o *observer.TimelineOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	_, got := watch(t, tl.Timeline, observer.Options{Types: []observer.Type{"frame", observer.Mark}})
	tl.add(observer.Mark, "m")
	tl.run()
	want(t, "PT-22", *got, "m")
	if !strings.Contains(log.String(), "frame") || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("PT-35: log is %q", log.String())
	}
}

func TestReObserve(t *testing.T) {
	t.Run("PT-23 Types replaces", func(t *testing.T) {
		tl := newManual()
		obs, got := watch(t, tl.Timeline, marksOnly)
		if err := obs.Observe(observer.Options{Types: []observer.Type{observer.Measure}}); err != nil {
			t.Fatal(err)
		}
		tl.add(observer.Mark, "mark")
		tl.add(observer.Measure, "measure")
		tl.run()
		want(t, "after the second Observe", *got, "measure")

		if err := obs.Observe(observer.Options{Types: both.Types, MaxBuffer: 7}); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			tl.add(observer.Mark, "m")
		}
		tl.run()
		if len(*got) != 1+7 || obs.Lost() != 1 {
			t.Errorf("%d entries came, and %d were lost, want 7 more and 1: the second Observe's MaxBuffer", len(*got), obs.Lost())
		}
	})
	t.Run("PT-26 Type stacks", func(t *testing.T) {
		tl := newManual()
		obs, got := watch(t, tl.Timeline, observer.Options{Type: observer.Mark})
		if err := obs.Observe(observer.Options{Type: observer.Measure}); err != nil {
			t.Fatal(err)
		}
		tl.add(observer.Mark, "mark")
		tl.add(observer.Measure, "measure")
		tl.run()
		want(t, "both types", *got, "mark", "measure")
	})
	t.Run("PT-28 does not clear the buffer", func(t *testing.T) {
		tl := newManual()
		obs, got := watch(t, tl.Timeline, marksOnly)
		tl.add(observer.Mark, "mark")
		if err := obs.Observe(observer.Options{Types: []observer.Type{observer.Measure}}); err != nil {
			t.Fatal(err)
		}
		tl.run()
		want(t, "what was buffered", *got, "mark")
	})
	t.Run("registering twice delivers once", func(t *testing.T) {
		tl := newManual()
		obs, got := watch(t, tl.Timeline, marksOnly)
		if err := obs.Observe(marksOnly); err != nil {
			t.Fatal(err)
		}
		tl.add(observer.Mark, "m")
		tl.run()
		want(t, "entries", *got, "m")
	})
}

func TestBuffered_PT27(t *testing.T) {
	var log bytes.Buffer
	tl := newManual(func(o *observer.TimelineOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	tl.add(observer.Mark, "before")
	tl.add(observer.Measure, "other type")
	_, plain := watch(t, tl.Timeline, observer.Options{Type: observer.Mark})
	_, buffered := watch(t, tl.Timeline, observer.Options{Type: observer.Mark, Buffered: true})
	_, multiple := watch(t, tl.Timeline, observer.Options{Types: []observer.Type{observer.Mark}, Buffered: true})
	tl.add(observer.Mark, "after")
	tl.run()
	want(t, "PT-27 without Buffered", *plain, "after")
	want(t, "PT-27 with Buffered", *buffered, "before", "after")
	want(t, "X4 Buffered with Types is ignored", *multiple, "after")
	if !strings.Contains(log.String(), "Buffered is ignored") {
		t.Errorf("PT-35: log is %q", log.String())
	}

	quiet := newManual()
	quiet.add(observer.Mark, "only")
	quiet.run()
	_, got := watch(t, quiet.Timeline, observer.Options{Type: observer.Mark, Buffered: true})
	quiet.run()
	want(t, "PT-27 queues a task of its own", *got, "only")

	child := newManual().NewChild()
	add(child, observer.Mark, "in the request")
	obs, err := child.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark, Buffered: true})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "PT-27 on a request's timeline", names(obs.TakeRecords()), "in the request")
}

func TestTakeRecordsAndDisconnect_PT30_PT31(t *testing.T) {
	tl := newManual()
	obs, got := watch(t, tl.Timeline, both)
	tl.now = 9
	tl.add(observer.Mark, "later start, queued first")
	rec(tl.Timeline).Record(record.Measure, "earlier start", 1, 3, nil)
	want(t, "PT-31 order of queueing", names(obs.TakeRecords()), "later start, queued first", "earlier start")
	want(t, "PT-31 emptied", names(obs.TakeRecords()))
	tl.run()
	want(t, "PT-31 not delivered again", *got)

	tl.add(observer.Mark, "dropped by Disconnect")
	obs.Disconnect()
	obs.Disconnect()
	tl.add(observer.Mark, "not observed")
	tl.run()
	want(t, "PT-30", *got)
	if err := obs.Observe(marksOnly); err != nil {
		t.Fatal(err)
	}
	tl.add(observer.Mark, "again")
	tl.run()
	want(t, "PT-30 may observe again", *got, "again")
}

func TestDroppedEntriesCount_PT3_PT29(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize = 2 })
	for range 5 {
		tl.add(observer.Mark, "m")
	}
	tl.add(observer.Measure, "fits")
	type call struct {
		n  uint64
		ok bool
	}
	var calls []call
	obs, err := tl.Observe(func(l observer.List) {
		n, ok := l.Dropped()
		calls = append(calls, call{n, ok})
	}, both)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		tl.add(observer.Mark, "delivered though the buffer is full")
		tl.run()
	}
	if err := obs.Observe(both); err != nil {
		t.Fatal(err)
	}
	tl.add(observer.Mark, "m")
	tl.run()
	if w := []call{{4, true}, {0, false}, {6, true}}; !slices.Equal(calls, w) {
		t.Errorf("PT-29: got %v, want %v", calls, w)
	}
	if got := tl.Stats()[observer.Mark]; got.Recorded != 8 || got.BufferFull != 6 || got.Delivered != 3 {
		t.Errorf("PT-3: stats are %+v", got)
	}
	if n := len(tl.EntriesByType(observer.Mark)); n != 2 {
		t.Errorf("PT-3: %d marks in the buffer, want 2", n)
	}
}
