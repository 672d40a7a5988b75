package timeline_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// A callback may use the timeline in every way but Deliver.
func TestCallbackUsesItsTimeline(t *testing.T) {
	t.Run("PT-5 an observer disconnected by an earlier callback is not called", func(t *testing.T) {
		tl := newManual()
		var second *observer.Observer
		if _, err := tl.Observe(func(observer.List) { second.Disconnect() }, marksOnly); err != nil {
			t.Fatal(err)
		}
		second, got := watch(t, tl.Timeline, marksOnly)
		tl.add(observer.Mark, "m")
		tl.run()
		want(t, "the second observer", *got)
	})
	t.Run("PT-5 an observer registered by a callback is called for later entries only", func(t *testing.T) {
		tl := newManual()
		var got *[]string
		if _, err := tl.Observe(func(observer.List) {
			if got == nil {
				_, got = watch(t, tl.Timeline, marksOnly)
			}
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		tl.add(observer.Mark, "first")
		tl.run()
		tl.add(observer.Mark, "second")
		tl.run()
		want(t, "the new observer", *got, "second")
	})
	t.Run("PT-5 an observer that registers anew in its callback leaves the later ones their turn", func(t *testing.T) {
		tl := newManual()
		var calls []string
		if _, err := tl.Observe(func(l observer.List) {
			calls = append(calls, "first")
			l.Observer().Disconnect()
			if err := l.Observer().Observe(marksOnly); err != nil {
				t.Error(err)
			}
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		if _, err := tl.Observe(func(observer.List) { calls = append(calls, "second") }, marksOnly); err != nil {
			t.Fatal(err)
		}
		for _, order := range [][]string{{"first", "second"}, {"second", "first"}} {
			tl.add(observer.Mark, "m")
			task := tl.tasks[0]
			tl.tasks = nil
			task()
			want(t, "called by one task", calls, order...)
			tl.run()
			calls = nil
		}
	})
	t.Run("PT-8 what a callback records comes in a later one", func(t *testing.T) {
		tl := newManual()
		depth, calls := 0, 0
		if _, err := tl.Observe(func(observer.List) {
			if depth++; depth > 1 {
				t.Error("the callback was called while it ran")
			}
			if calls++; calls < 4 {
				tl.add(observer.Mark, "m")
				rec(tl.Timeline).Flush()
			}
			depth--
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		tl.add(observer.Mark, "m")
		tl.run()
		if calls != 4 {
			t.Errorf("%d calls, want 4", calls)
		}
	})
	t.Run("PT-31 all readers", func(t *testing.T) {
		tl := newManual()
		called := false
		if _, err := tl.Observe(func(l observer.List) {
			called = true
			want(t, "Entries", names(tl.Entries()), "m")
			want(t, "TakeRecords: emptied before the call", names(l.Observer().TakeRecords()))
			if at, ok := rec(tl.Timeline).Latest("m"); !ok || at != 3 {
				t.Errorf("Latest is %v, %v", at, ok)
			}
			if s := tl.Stats()[observer.Mark]; s.Delivered != 1 {
				t.Errorf("Delivered is %d, want 1", s.Delivered)
			}
			if n := rec(tl.Timeline).Clear(record.Mark); n != 1 {
				t.Errorf("cleared %d, want 1", n)
			}
			want(t, "UT-9 the list after Clear", names(l.Entries()), "m")
			if err := l.Observer().Observe(both); err != nil {
				t.Error(err)
			}
			tl.NewChild().Close()
		}, marksOnly); err != nil {
			t.Fatal(err)
		}
		tl.now = 3
		tl.add(observer.Mark, "m")
		tl.run()
		if !called {
			t.Error("not called")
		}
	})
}

func TestCallbackPanics(t *testing.T) {
	for _, c := range []struct {
		name, says string
		f          func()
	}{
		{"PT-7 error", "panic=bad", func() { panic(errors.New("bad")) }},
		{"PT-7 runtime error", "nil map", func() { var m map[string]int; m["k"] = 1 }}, //nolint:govet,staticcheck // the panic is the point
		{"PT-7 nil", "panic=", func() { panic(nil) }},                                  //nolint:govet // the panic is the point
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			tl := newManual(func(o *observer.TimelineOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			_, first := watch(t, tl.Timeline, marksOnly)
			if _, err := tl.Observe(func(observer.List) { c.f() }, marksOnly); err != nil {
				t.Fatal(err)
			}
			_, last := watch(t, tl.Timeline, marksOnly)
			for _, name := range []string{"1", "2"} {
				tl.add(observer.Mark, name)
				tl.run()
			}
			want(t, "the observer before", *first, "1", "2")
			want(t, "the observer after", *last, "1", "2")
			for _, s := range []string{c.says, "entries=1", "callback_test.go", "level=ERROR"} {
				if n := strings.Count(log.String(), s); n < 2 {
					t.Errorf("the two reports say %q %d times: %s", s, n, log.String())
				}
			}
		})
	}
}

// A callback that ends its goroutine (as t.FailNow does) is no reason for the
// others to hear nothing any more.
func TestCallbackEndsItsGoroutine(t *testing.T) {
	tl := newManual()
	ended := false
	if _, err := tl.Observe(func(observer.List) {
		if !ended {
			ended = true
			runtime.Goexit()
		}
	}, marksOnly); err != nil {
		t.Fatal(err)
	}
	_, got := watch(t, tl.Timeline, marksOnly)
	for _, name := range []string{"1", "2"} {
		tl.add(observer.Mark, name)
		done := make(chan struct{})
		go func() {
			defer close(done)
			tl.run()
		}()
		<-done
		tl.run()
		want(t, "PT-7 the other observer, without a further entry", *got, name)
		*got = nil
	}
}

// others runs f on another goroutine and reports whether it ended, as it
// does unless the caller holds a lock that f needs. It leaves nothing behind
// once the lock is free.
func others(f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(time.Minute):
		return false
	}
}

type handler struct{ handle func() }

func (h handler) Enabled(context.Context, slog.Level) bool      { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler            { return h }
func (h handler) WithGroup(string) slog.Handler                 { return h }
func (h handler) Handle(context.Context, slog.Record) (_ error) { h.handle(); return }

// The functions a program hands over run outside the timeline's locks: a log
// handler that reads the timeline must not wait for itself.
func TestHooksRunOutsideLocks(t *testing.T) {
	var tl *manual
	calls := map[string]int{}
	check := func(hook string) {
		calls[hook]++
		if calls[hook] == 1 && !others(rec(tl.Timeline).Flush) {
			t.Errorf("%s was called with the timeline's lock held", hook)
		}
	}
	tl = newManual(func(o *observer.TimelineOptions) {
		schedule := o.Scheduler
		o.Scheduler = func(task func()) { check("Scheduler"); schedule(task) }
		o.Logger = slog.New(handler{func() { check("Logger") }})
	})
	for hook, call := range map[string]func(){
		"Logger": func() { watch(t, tl.Timeline, observer.Options{Types: []observer.Type{observer.Mark, "frame"}}) },
		"Scheduler": func() {
			watch(t, tl.Timeline, observer.Options{Type: observer.Mark, Buffered: true})
		},
		"callback": func() {
			if _, err := tl.Observe(func(observer.List) { check("callback") }, marksOnly); err != nil {
				t.Fatal(err)
			}
			tl.add(observer.Mark, "m")
			tl.run()
		},
	} {
		clear(calls)
		call()
		if calls[hook] == 0 {
			t.Errorf("%s was not called, so this says nothing", hook)
		}
		tl.run()
	}
}
