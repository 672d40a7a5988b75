package marks_test

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"strings"
	"testing"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The report of an observer's panic is logged and is no mark, or an observer of
// marks would be called for it, and panic, without end.
func TestHandlerOfAnObserversPanic(t *testing.T) {
	var text bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(marks.NewHandler(slog.NewTextHandler(&text, nil), nil)))
	calls := 0
	o, err := observer.ProcessTimeline().Observe(func(observer.List) {
		calls++
		panic("boom")
	}, observer.Options{Types: []observer.Type{observer.Mark}})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Disconnect()
	marks.Mark(context.Background(), "m")
	for range 3 {
		observer.ProcessTimeline().Deliver()
	}
	if calls != 1 || strings.Count(text.String(), "boom") != 1 {
		t.Errorf("called %d times; logged %s", calls, &text)
	}
}

// slog's default handler prints a line, also when the handler around it becomes the default: without care it would wait for itself.
func TestDefaultHandlerInsidePrints(t *testing.T) {
	before, to := slog.Default(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(to)
	})
	var lines bytes.Buffer
	log.SetOutput(&lines)
	slog.SetDefault(slog.New(marks.NewHandler(slog.Default().Handler(), nil)))
	slog.With("a", 1).WithGroup("g").Info("first", "b", 2)
	log.Print("second")
	for _, line := range []string{"INFO first a=1 g.b=2\n", "INFO second\n"} {
		if got := lines.String(); strings.Count(got, line) != 1 {
			t.Errorf("printed %q, want %q once", got, line)
		}
	}
}
