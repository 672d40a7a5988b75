package observer_test

import (
	"fmt"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/record"
)

func ExampleTimeline_Observe() {
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return 0 }})

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

	// Package marks records with one call: marks.Mark(ctx, "cache.miss").
	recorder := (*record.Timeline)(tl)
	recorder.Record(observer.Mark, "cache.miss", tl.Now(), 0, nil)
	recorder.Record(observer.Measure, "render", tl.Now(), 0, nil)
	tl.Deliver() // now instead of in some milliseconds
	// Output:
	// mark cache.miss
	// measure render
}
