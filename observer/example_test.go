package observer_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/observer"
)

func ExampleTimeline_Observe() {
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return 0 }})

	obs, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			fmt.Println(e.Type(), e.Name())
		}
	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Resource}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer obs.Disconnect()

	// Marks come from package marks: marks.Mark(ctx, "cache.miss"). A call comes from its client.
	if err := tl.Queue(context.Background(), observer.Resource, "/prices", tl.Now(), 0); err != nil {
		fmt.Println(err)
	}
	tl.Deliver() // now instead of in some milliseconds
	// Output:
	// resource /prices
}

// A client that nobody instruments has hooks. One of them makes an entry of each call.
func ExampleTimeline_Queue() {
	ctx := observer.NewContext(context.Background(), observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return 7 * time.Second }}))

	// The hook after a call.
	called := func(ctx context.Context, command string, took time.Duration) {
		tl := observer.FromContext(ctx)
		if err := tl.Queue(ctx, observer.Resource, command, tl.Now()-took, took, slog.String(observer.InitiatorKey, "redis")); err != nil {
			fmt.Println(err)
		}
	}
	called(ctx, "GET", 2*time.Millisecond)

	for _, e := range observer.FromContext(ctx).EntriesByType(observer.Resource) {
		fmt.Println(e, e.Detail())
	}
	// Output:
	// resource "GET" at 6.998s for 2ms [initiatorType=redis]
}
