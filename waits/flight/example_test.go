package flight_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// perfline.Start does all of this with Config.Waits. A program with a set-up of its own calls Slow itself.
func Example() {
	ctx := context.Background()
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	recorder := flight.NewRecorder(flight.Config{})
	if err := recorder.Arm(time.Minute); err != nil {
		log.Fatal(err)
	}
	ready := make(chan *waits.Request)
	recorder.Watch(func(_ bridge.Root, result *waits.Request) { ready <- result })

	var index sync.Mutex
	index.Lock()
	time.AfterFunc(50*time.Millisecond, index.Unlock)

	began := time.Now()
	_, span := provider.Tracer("shop").Start(ctx, "GET /search")
	index.Lock() // 50 ms
	span.End()
	recorder.Slow(bridge.Root{
		TraceID: span.SpanContext().TraceID(), SpanID: span.SpanContext().SpanID(), Name: "GET /search", Start: began, End: time.Now(),
	})

	if result := <-ready; result != nil {
		fmt.Println(result.Name, "has a result")
	}
	if err := recorder.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: GET /search has a result
}
