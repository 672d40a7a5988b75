package marks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// request is a context as bridgehttp.Middleware makes it, on a timeline with a clock
// that the examples move by hand.
func request() (ctx context.Context, tl *observer.Timeline, pass func(time.Duration)) {
	var now time.Duration
	process := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return now }})
	tl = process.NewChild()
	return observer.NewContext(context.Background(), tl), tl, func(d time.Duration) { now += d }
}

func ExampleMark() {
	ctx, tl, pass := request()

	pass(2 * time.Millisecond)
	marks.Mark(ctx, "cache.miss", slog.String("key", "user:7"))

	for _, e := range tl.Entries() {
		fmt.Println(e.Type(), e.Name(), e.StartTime(), e.Detail())
	}
	// Output: mark cache.miss 2ms [key=user:7]
}

func ExampleTime() {
	ctx, tl, pass := request()

	render := func() {
		defer marks.Time(ctx, "render", slog.String("page", "home")).End()
		pass(3 * time.Millisecond)
	}
	render()

	for _, e := range tl.Entries() {
		fmt.Println(e.Type(), e.Name(), e.StartTime(), e.Duration(), e.Detail())
	}
	// Output: measure render 0s 3ms [page=home]
}

func ExampleStart() {
	ctx, tl, pass := request()

	ctx, checkout := marks.Start(ctx, "checkout")
	pass(time.Millisecond)
	marks.Mark(ctx, "paid") // under checkout's span, with a bridge
	pass(time.Millisecond)
	checkout.End()

	for _, e := range tl.Entries() {
		fmt.Println(e.Type(), e.Name(), e.StartTime(), e.Duration())
	}
	// Output:
	// measure checkout 0s 2ms
	// mark paid 1ms 0s
}

func ExampleMeasure() {
	ctx, _, pass := request()

	pass(time.Millisecond)
	marks.Mark(ctx, "queued")
	pass(5 * time.Millisecond)
	marks.Mark(ctx, "paid")

	m, err := marks.Measure(ctx, "queue→paid", marks.MeasureOptions{
		Start: marks.Named("queued"),
		End:   marks.Named("paid"),
	})
	fmt.Println(m.StartTime(), m.Duration(), err)

	_, err = marks.Measure(ctx, "queue→sent", marks.MeasureOptions{Start: marks.Named("sent")})
	fmt.Println(err)
	// Output:
	// 1ms 5ms <nil>
	// marks: measure "queue→sent": Start "sent": no mark of that name on this timeline: mark it first, under the same request and while that runs
}

// bridgehttp.Middleware sets these moments; a measure can start from them.
func ExampleNamed() {
	ctx, tl, pass := request()

	pass(4 * time.Millisecond)
	if err := (*record.Timeline)(tl).SetTiming(record.ResponseStart, tl.Now()); err != nil { // the first byte is written
		fmt.Println(err)
	}
	pass(3 * time.Millisecond)

	m, err := marks.Measure(ctx, "stream", marks.MeasureOptions{Start: marks.Named(record.ResponseStart)})
	fmt.Println(m, err)

	_, err = marks.Measure(ctx, "close", marks.MeasureOptions{Start: marks.Named(record.ResponseEnd)})
	fmt.Println(err)
	// Output:
	// measure "stream" at 4ms for 3ms <nil>
	// marks: measure "close": Start "responseEnd": this moment of the request has not come, or the service does not tell it
}

func ExampleTimerify() {
	ctx, tl, pass := request()

	var slowest time.Duration
	load := marks.Timerify("user.load", func(_ context.Context, id int) (string, error) {
		pass(4 * time.Millisecond)
		if id == 0 {
			return "", errors.New("no such user")
		}
		return "Ada", nil
	}, marks.TimerifyOptions{
		Attrs:     []slog.Attr{slog.String("db", "users")},
		Histogram: func(_ context.Context, took time.Duration) { slowest = max(slowest, took) },
	})

	fmt.Println(load(ctx, 7))
	fmt.Println(load(ctx, 0))

	for _, e := range tl.Entries() {
		fmt.Println(e, e.Detail())
	}
	fmt.Println("slowest", slowest)
	// Output:
	// Ada <nil>
	//  no such user
	// measure "user.load" at 0s for 4ms [db=users]
	// measure "user.load" at 4ms for 4ms [db=users error=no such user]
	// slowest 4ms
}

func ExampleNewHandler() {
	ctx, tl, _ := request()
	log := slog.New(marks.NewHandler(slog.DiscardHandler, slog.LevelWarn)) // DiscardHandler: where your logs go

	log.InfoContext(ctx, "cache warmed")
	log.With("shop", 7).WarnContext(ctx, "stock low", "item", "socks", "left", 2)

	for _, e := range tl.Entries() {
		fmt.Println(e.Type(), e.Name(), e.Detail())
	}
	// Output: mark stock low [level=WARN shop=7 item=socks left=2]
}
