package contrib_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.opentelemetry.io/otel/trace"
)

func TestRedis(t *testing.T) {
	logging.Disable() // it tells of the server that is away
	before := []string{"get", "get", "get", "get", "hello", "hello", "lpush"}
	after := []string{"redis.dial", "redis.dial", "redis.dial", "redis.pipeline incr get", "redis.pipeline multi incr exec", "set"}
	same(t, []scenario{
		{name: "under a span", work: commands(true), want: slices.Concat(before, []string{"order"}, after)},
		{name: "under no span", work: commands(false), want: slices.Concat(before, after)},
		{name: "limits", setup: setup{limit: 2}, work: commands(true), want: slices.Concat(before, []string{"order"}, after)},
	})
}

// commands runs commands, alone and in pipelines, with errors, and at the end without the server.
func commands(root bool) func(*testing.T, trace.TracerProvider) {
	return func(t *testing.T, tp trace.TracerProvider) {
		server := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{
			Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		defer client.Close()
		if err := redisotel.InstrumentTracing(client, redisotel.WithTracerProvider(tp)); err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if root {
			var span trace.Span
			ctx, span = tp.Tracer("program").Start(ctx, "order")
			defer span.End()
		}
		want := func(err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		want(client.Set(ctx, "product", "socks", 0).Err(), nil)
		want(client.Get(ctx, "product").Err(), nil)
		want(client.Get(ctx, "nothing").Err(), redis.Nil)
		if client.LPush(ctx, "product", "shoes").Err() == nil {
			t.Error("a push on a text is no error")
		}
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Incr(ctx, "sold")
			p.Get(ctx, "nothing")
			return nil
		})
		want(err, redis.Nil)
		_, err = client.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, "sold").Err() })
		want(err, nil)
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		want(client.Get(cancelled, "product").Err(), context.Canceled)
		server.Close()
		if client.Get(ctx, "product").Err() == nil {
			t.Error("a command without a server is no error")
		}
	}
}
