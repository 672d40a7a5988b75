package recipes_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/marks"
)

// Commands of a request are its child spans.
func TestRedis(t *testing.T) {
	rec, ctx, end := record(t)
	server := miniredis.RunT(t)
	client, err := recipes.OpenRedis(&redis.Options{Addr: server.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.Set(ctx, "socks", "7", 0).Err(); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "stored")
	if got, err := client.Get(ctx, "socks").Result(); err != nil || got != "7" {
		t.Errorf("got %q, %v", got, err)
	}
	end()
	rec.Want(`
		GET /items
		  set
		  * stored
		  get
	`)
}
