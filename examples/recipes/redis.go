package recipes

import (
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
)

// OpenRedis returns a client. Each command is a span of its request. Dialling and the greetings of
// a new connection make no spans, and the attributes contain no values.
func OpenRedis(o *redis.Options) (*redis.Client, error) {
	client := redis.NewClient(o)
	greeting := func(cmd redis.Cmder) bool {
		return cmd.Name() == "hello" || cmd.Name() == "client"
	}
	return client, redisotel.InstrumentTracing(client,
		redisotel.WithDBStatement(false),
		redisotel.WithCallerEnabled(false),
		redisotel.WithDialFilter(true),
		redisotel.WithCommandFilter(greeting),
		redisotel.WithCommandsFilter(func(cmds []redis.Cmder) bool { return greeting(cmds[0]) }))
}
