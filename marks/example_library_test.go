package marks_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer/observertest"
)

// A cache is a library's. It marks "cache.hit" and "cache.miss" with the key, and
// measures "cache.load", which what the loader measures is inside of, and
// "cache.decode".
type cache struct {
	load    func(ctx context.Context, key string) (string, error)
	decoded map[string]string
}

func (c *cache) Get(ctx context.Context, key string) (string, error) {
	if value, ok := c.decoded[key]; ok {
		marks.Mark(ctx, "cache.hit", slog.String("key", key))
		return value, nil
	}
	marks.Mark(ctx, "cache.miss", slog.String("key", key))
	raw, err := c.fetch(ctx, key)
	if err != nil {
		return "", err
	}
	c.decoded[key] = c.decode(ctx, raw)
	return c.decoded[key], nil
}

// fetch calls code that may measure itself: Start, and its context.
func (c *cache) fetch(ctx context.Context, key string) (raw string, err error) {
	ctx, t := marks.Start(ctx, "cache.load", slog.String("key", key))
	defer func() { t.End(slog.Bool("ok", err == nil)) }()
	return c.load(ctx, key)
}

// decode calls no other code, so Time is enough.
func (c *cache) decode(ctx context.Context, raw string) string {
	defer marks.Time(ctx, "cache.decode", slog.Int("bytes", len(raw))).End()
	return strings.ToUpper(raw)
}

// How a library marks what it does, and tests that.
func Example_library() {
	rec := observertest.NewRecorder()
	ctx := rec.Context(context.Background()) // in a service: the request's
	socks := &cache{decoded: map[string]string{}, load: func(ctx context.Context, key string) (string, error) {
		defer marks.Time(ctx, "db.query").End()
		rec.Clock.Advance(3 * time.Millisecond)
		return "wool", nil
	}}

	for range 2 {
		if _, err := socks.Get(ctx, "winter"); err != nil {
			fmt.Println(err)
		}
	}

	for _, e := range rec.Entries() {
		fmt.Println(e, e.Detail())
	}
	// Output:
	// mark "cache.miss" at 0s [key=winter]
	// measure "db.query" at 0s for 3ms []
	// measure "cache.load" at 0s for 3ms [key=winter ok=true]
	// measure "cache.decode" at 3ms [bytes=4]
	// mark "cache.hit" at 3ms [key=winter]
}
