package profiling

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perfline/perfline/internal/goruntime"
)

// logTo has a handler get what slog's default logger gets, until the test ends.
func logTo(t *testing.T, h slog.Handler) {
	t.Helper()
	logger, output, flags := slog.Default(), log.Writer(), log.Flags()
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(output)
		log.SetFlags(flags)
	})
	slog.SetDefault(slog.New(h))
}

// logged is what slog's default logger gets until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	logTo(t, slog.NewTextHandler(&log, nil))
	return &log
}

// A handle is a handler that does what a test wants.
type handle struct {
	slog.Handler
	do func(slog.Record)
}

func (handle) Enabled(context.Context, slog.Level) bool { return true }

func (h handle) Handle(_ context.Context, r slog.Record) error {
	h.do(r)
	return nil
}

// lineOf is a record's message and attributes.
func lineOf(r slog.Record) string {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	return line
}

// A handler that blocks has one goroutine and 32 lines. Further lines are counted.
func TestLogIsBounded(t *testing.T) {
	const lines = 32
	synctest.Test(t, func(t *testing.T) {
		var q engineLog
		open := make(chan struct{})
		var got []string
		logTo(t, handle{do: func(r slog.Record) {
			<-open
			got = append(got, lineOf(r))
		}})
		q.log(slog.LevelInfo, "first")
		synctest.Wait()
		before := runtime.NumGoroutine()
		for n := range lines + 10 {
			q.log(slog.LevelInfo, fmt.Sprint("line ", n))
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines for lines that wait, %d for the first", n, before)
		}
		close(open)
		synctest.Wait()
		if len(got) != 1+lines || got[0] != "first" || got[1] != "line 0 dropped_lines=10" || got[lines] != fmt.Sprint("line ", lines-1) {
			t.Errorf("%d lines:\n%s\nwant the first %d, in their order, and how many were dropped", len(got), strings.Join(got, "\n"), 1+lines)
		}
		q.log(slog.LevelInfo, "later")
		synctest.Wait() // the goroutine ends, or the bubble would not
		if last := got[len(got)-1]; last != "later" {
			t.Errorf("the last line is %q, want \"later\"", last)
		}
	})
}

// A handler that panics or exits ends neither the process nor the log.
func TestLogHandlerFails(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("handler") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var q engineLog
				var got []string
				logTo(t, handle{do: func(r slog.Record) {
					if r.Message == "bad" {
						fail()
					}
					got = append(got, lineOf(r))
				}})
				for _, message := range []string{"bad", "good", "bad"} {
					q.log(slog.LevelInfo, message)
				}
				synctest.Wait()
				q.log(slog.LevelInfo, "better")
				synctest.Wait()
				if want := "good dropped_lines=1, better dropped_lines=1"; strings.Join(got, ", ") != want {
					t.Errorf("lines %q, want %q", strings.Join(got, ", "), want)
				}
			})
		})
	}
}

// A message is logged once for each reason, and only for so many reasons.
func TestLogOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q engineLog
		var got []string
		logTo(t, handle{do: func(r slog.Record) { got = append(got, lineOf(r)) }})
		for n := range 3 * maxReasons {
			q.logOnce(slog.LevelWarn, "message", fmt.Sprint(n/2))
		}
		synctest.Wait()
		if len(got) != maxReasons || got[0] != "message reason=0" || got[1] != "message reason=1" {
			t.Errorf("%d lines: %q, want one for each of the first %d reasons", len(got), got, maxReasons)
		}
	})
}

// The handler is asked for a line's level, and does not get the labels of the code that logs.
func TestLogHandlerIsCalledAsBySlog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q engineLog
		var out bytes.Buffer
		logTo(t, slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
		q.log(slog.LevelInfo, "quiet")
		q.log(slog.LevelWarn, "loud")
		synctest.Wait()
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "msg=loud") {
			t.Errorf("log:\n%s\nwant the line of the level that is enabled", got)
		}
		labelled := false
		logTo(t, handle{do: func(slog.Record) { labelled = goruntime.Labels() != nil }})
		pprof.Do(t.Context(), pprof.Labels("app", "shop"), func(context.Context) { q.log(slog.LevelWarn, "line") })
		synctest.Wait()
		if labelled {
			t.Error("the handler's goroutine has the labels of the code that logged first")
		}
	})
}

// A handler may use the profiler.
func TestLogHandlerProfiles(t *testing.T) {
	onDesk(t, func(d *desk) {
		handled := 0
		logTo(t, handle{do: func(slog.Record) {
			handled++
			_, _ = d.start(d.Context(), 0, 0).Stop()
		}})
		d.tell(func(e *fakeEngine) { e.busy = true })
		p := d.start(d.Context(), 0, 0)
		synctest.Wait()
		d.tell(func(e *fakeEngine) { e.busy = false })
		d.pass()
		d.emit(1)
		d.stop(p)
		if handled == 0 {
			t.Error("nothing was logged")
		}
	})
}
