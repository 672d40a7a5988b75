package pyroscope_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/perfline/perfline/profiling/pyroscope"
)

func ExampleStart() {
	// In place of a Pyroscope.
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()

	ctx := context.Background()
	pusher, err := pyroscope.Start(ctx, pyroscope.Config{
		ServerAddress:   server.URL,
		ApplicationName: "shop",
		Tags:            map[string]string{"region": "eu-north-1"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// … serve …

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := pusher.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	stats := pusher.Stats()
	fmt.Println("profiles lost:", stats.Lost(), "any sent:", stats.Delivered > 0)
	// Output: profiles lost: 0 any sent: true
}
