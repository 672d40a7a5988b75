package observer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func ExampleTimeline_Observe() {
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return 0 }})
	ctx := observer.NewContext(context.Background(), tl)

	obs, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			fmt.Println(e.Type(), e.Name())
		}
	}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer obs.Disconnect()

	marks.Mark(ctx, "cache.miss")
	marks.Time(ctx, "render").End()
	tl.Deliver() // now instead of in some milliseconds
	// Output:
	// mark cache.miss
	// measure render
}
