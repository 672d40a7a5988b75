package otlpprofiles_test

import (
	"context"
	"fmt"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// takesAll is in place of a Collector.
type takesAll struct{}

func (takesAll) Send(context.Context, []byte) exporter.Answer { return exporter.Answer{} }

func ExampleNew() {
	ctx := context.Background()
	pl, err := perfline.Start(ctx, perfline.Config{
		Service: "shop",
		// Without a Sender, OTEL_EXPORTER_OTLP_ENDPOINT says where profiles go.
		ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: takesAll{}}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// … serve …

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := pl.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	stats := pl.Stats().OTLPProfiles
	fmt.Println("profiles lost:", stats.Lost(), "any sent:", stats.Delivered > 0)
	// Output: profiles lost: 0 any sent: true
}
