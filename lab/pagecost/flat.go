package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// flatOut asks for a URL by a number of clients at a time until ctx ends. It returns how many
// answers came.
func flatOut(ctx context.Context, url string, clients int) (answered int64, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var n atomic.Int64
	var failure atomic.Pointer[error]
	var all sync.WaitGroup
	alive := context.WithoutCancel(ctx) // requests under way at the end are answered
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil && failure.Load() == nil {
				if err := ask(alive, client, url); err != nil {
					failure.Store(&err)
					return
				}
				n.Add(1)
			}
		})
	}
	all.Wait()
	if p := failure.Load(); p != nil {
		return n.Load(), *p
	}
	return n.Load(), nil
}

func ask(ctx context.Context, client *http.Client, url string) error {
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
		return fmt.Errorf("%s: status %s", url, resp.Status)
	}
	return nil
}
