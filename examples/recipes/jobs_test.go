package recipes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kotel"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// A record continues the trace of its producer, in a span of kind consumer with the consumer's marks. A record without a trace is a unit
// of its own, also if the loop that polls has a span.
func TestKafka(t *testing.T) {
	rec, ctx, end := record(t)
	tracer := kotel.NewTracer()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := recipes.NewKafka(tracer, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("socks")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	wait, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	failed := errors.New("sold out")
	var records []*kgo.Record
	for len(records) == 0 && wait.Err() == nil { // the first answer may be an error, after which the client asks again
		records = client.PollFetches(wait).Records()
	}
	for _, r := range append(records, &kgo.Record{Topic: "orders"}) {
		if err := recipes.Handle(ctx, tracer, r, func(ctx context.Context, _ *kgo.Record) error {
			marks.Mark(ctx, "order.checked")
			return failed
		}); !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
	}
	end()
	rec.Want(`
		GET /items (server)
		  orders publish (producer)
		    orders process (consumer) (error: sold out)
		      * order.checked
		orders process (consumer) (error: sold out)
		  * order.checked
	`)
}

// Each run of a cron job is a unit of work of its own.
func TestCron(t *testing.T) {
	rec, _, end := record(t)
	end()
	c := cron.New()
	failed := errors.New("disk full")
	if err := recipes.Schedule(rec.Context(t.Context()), c, "@hourly", "backup", func(ctx context.Context) error {
		marks.Mark(ctx, "backup.begun")
		return failed
	}); err != nil {
		t.Fatal(err)
	}
	c.Entries()[0].Job.Run()
	rec.Want(`
		GET /items (server)
		backup (error: disk full)
		  * backup.begun
		  * exception
	`)
}

// Work that outlives its request is a unit of its own, and goes on when the request's context has ended.
func TestWorkAfterItsRequest(t *testing.T) {
	rec, ctx, end := record(t)
	request, cancel := context.WithCancel(ctx)
	begun, ended := make(chan struct{}), make(chan error, 1)
	rest := context.WithoutCancel(request)
	go func() {
		ended <- recipes.Unit(rest, "mail.send", func(ctx context.Context) error {
			<-begun
			marks.Mark(ctx, "mail.written")
			return ctx.Err()
		})
	}()
	end()
	cancel()
	close(begun)
	if err := <-ended; err != nil {
		t.Errorf("the work ended with its request: %v", err)
	}
	rec.Want(`
		GET /items (server)
		mail.send
		  * mail.written
	`)
}
