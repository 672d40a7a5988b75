package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Get makes a request and reads the whole answer, which must be 200 OK.
func Get(ctx context.Context, client *http.Client, url string) error {
	return get(ctx, client, url, func(body io.Reader) error {
		_, err := io.Copy(io.Discard, body)
		return err
	})
}

// Expect makes a request, whose answer must be 200 OK and want.
func Expect(ctx context.Context, client *http.Client, url string, want []byte) error {
	return get(ctx, client, url, func(body io.Reader) error {
		got, err := io.ReadAll(body)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("%s: the answer is %q, want %q", url, got, want)
		}
		return err
	})
}

func get(ctx context.Context, client *http.Client, url string, read func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := read(res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}
