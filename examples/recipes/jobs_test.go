package recipes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// A record continues the trace of its producer, in a span of kind consumer with the consumer's marks.
func TestKafka(t *testing.T) {
	rec, ctx, end := record(t)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, recipes.Produce(ctx, &kgo.Record{Topic: "orders", Value: []byte("socks")})).FirstErr(); err != nil {
		t.Fatal(err)
	}
	end()
	wait, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, r := range client.PollFetches(wait).Records() {
		failed := errors.New("sold out")
		if err := recipes.Consume(rec.Context(t.Context()), r, func(ctx context.Context, _ *kgo.Record) error {
			marks.Mark(ctx, "order.checked")
			return failed
		}); !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
	}
	rec.Want(`
		GET /items
		  process orders (error: sold out)
		    * order.checked
	`)
	if s := rec.Span("process orders"); s == nil || s.SpanKind != trace.SpanKindConsumer {
		t.Errorf("got %+v, want a span of kind consumer", s)
	}
}

// Each run of a cron job is a unit of work of its own.
func TestCron(t *testing.T) {
	rec, _, end := record(t)
	end()
	c := cron.New()
	failed := errors.New("disk full")
	if err := recipes.Schedule(c, "@hourly", "backup", func(ctx context.Context) error {
		marks.Mark(ctx, "backup.begun")
		return failed
	}); err != nil {
		t.Fatal(err)
	}
	c.Entries()[0].Job.Run()
	rec.Want(`
		GET /items
		backup (error: disk full)
		  * backup.begun
		  * exception
	`)
}
