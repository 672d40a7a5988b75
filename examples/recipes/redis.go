package recipes

import (
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
)

// OpenRedis returns a client whose commands are spans of the request. Spans of dialling and statements with values are left out.
func OpenRedis(o *redis.Options) (*redis.Client, error) {
	client := redis.NewClient(o)
	return client, redisotel.InstrumentTracing(client, redisotel.WithDBStatement(false), redisotel.WithDialFilter(true))
}
