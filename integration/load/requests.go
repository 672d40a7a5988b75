package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Requests sends GET requests to a URL. A request fails unless the answer has the status 200
// and its whole body arrives.
func Requests(ctx context.Context, url string, perSecond float64) *Load {
	client := &http.Client{Timeout: 5 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: defaultUnderWay}}
	// Requests under way when the load ends are waited for.
	alive := context.WithoutCancel(ctx)
	return start(ctx, Config{PerSecond: perSecond,
		Do: func() error { return get(alive, client, url) }}, client.CloseIdleConnections)
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", resp.Status)
	}
	return nil
}
