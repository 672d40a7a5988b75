package observertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/timelinetest/internal/leaktest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/observertest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestRecorder(t *testing.T) {
	rec := observertest.NewRecorder()
	ctx := rec.Context(context.Background())
	marks.Mark(ctx, "first", slog.Int("n", 1))
	timing := marks.Time(ctx, "work")
	rec.Clock.Advance(3 * time.Millisecond)
	timing.End()
	request := rec.Timeline.NewChild()
	marks.Mark(observer.NewContext(ctx, request), "of a request")
	request.Close()

	if got, want := rec.Names(observer.Mark), []string{"first", "of a request"}; !slices.Equal(got, want) {
		t.Errorf("marks %q, want %q", got, want)
	}
	work := rec.Entries(observer.Filter{Name: "work"})
	if len(work) != 1 || work[0].Duration() != 3*time.Millisecond {
		t.Errorf("%v, want one measure of 3ms", work)
	}
	rec.Reset()
	marks.Mark(ctx, "after")
	if got, want := rec.Names(observer.Mark), []string{"after"}; !slices.Equal(got, want) {
		t.Errorf("after Reset marks %q, want %q", got, want)
	}
}

// A test's entries are those that it causes.
func TestRecorderHasNoCollections(t *testing.T) {
	rec := observertest.NewRecorder()
	runtime.GC()
	marks.Mark(rec.Context(context.Background()), "mark")
	if got := rec.Entries(); len(got) != 1 {
		t.Errorf("recorded %v, want the mark only", got)
	}
}

// More than a timeline would hold, and in the order of time however often one looks.
func TestRecorderKeepsAll(t *testing.T) {
	rec := observertest.NewRecorder()
	const many = 70_000
	for range many {
		marks.Mark(rec.Context(context.Background()), "m")
	}
	for range 4_000 {
		marks.Mark(observer.NewContext(context.Background(), rec.Timeline.NewChild()), "of a request")
	}
	if n := len(rec.Entries()); n != many+4_000 {
		t.Errorf("%d entries, want %d", n, many+4_000)
	}
	rec.Reset()
	outer := marks.Time(rec.Context(context.Background()), "outer")
	rec.Clock.Advance(1)
	inner := marks.Time(rec.Context(context.Background()), "inner")
	rec.Clock.Advance(1)
	inner.End()
	rec.Entries()
	outer.End()
	if got := rec.Names(observer.Measure); !slices.Equal(got, []string{"outer", "inner"}) {
		t.Errorf("measures %q, want outer first, which began first", got)
	}
}

func TestRecordersAreApart(t *testing.T) {
	a, b := observertest.NewRecorder(), observertest.NewRecorder()
	marks.Mark(a.Context(context.Background()), "a")
	if got := b.Entries(); len(got) != 0 {
		t.Errorf("the other recorder has %v", got)
	}
}

func TestClockDoesNotGoBack(t *testing.T) {
	var c observertest.Clock
	c.Advance(2)
	defer func() {
		if recover() == nil || c.Now() != 2 {
			t.Errorf("Advance(-1) did not panic, or moved the clock to %v", c.Now())
		}
	}()
	c.Advance(-1)
}

func ExampleRecorder() {
	lookUp := func(ctx context.Context, key string) {
		marks.Mark(ctx, "cache.miss", slog.String("key", key))
	}

	rec := observertest.NewRecorder()
	lookUp(rec.Context(context.Background()), "socks")

	for _, e := range rec.Entries() {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
	// Output: {"name":"cache.miss","entryType":"mark","startTime":0,"duration":0,"detail":{"key":"socks"}}
}
