package sessions_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// A session counts the marks between a start and a stop.
func ExampleRecorder() {
	timeline := observer.NewTimeline(observer.TimelineOptions{}) // without one, the process's
	ctx := observer.NewContext(context.Background(), timeline)
	recorder := sessions.NewRecorder(sessions.Config{Timeline: timeline})
	defer recorder.Close()

	id, err := recorder.Start(ctx, sessions.StartOptions{NoSamples: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for product := range 3 {
		marks.Mark(ctx, "cache.miss", slog.Int("product", product))
	}
	marks.Mark(ctx, "order.paid")
	session, err := recorder.Stop(ctx, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tl := range session.Timelines() {
		events, _, err := session.Events(ctx, sessions.Query{
			Timeline: tl.ID,
			Mode:     sessions.ReduceUniqueEvents,
			Types:    []sessions.EventType{sessions.Mark},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, e := range events {
			fmt.Println(e.Type, e.Name, e.Hits)
		}
	}
	// Unordered output:
	// MARK cache.miss 3
	// MARK order.paid 1
}
