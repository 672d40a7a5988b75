package pyroscope

import (
	"context"
	"net/url"
	"testing"
)

// Connections that were silent twice in a row are left: over HTTP/2, a dead one would be used on. The end of the caller's context says nothing about them.
func TestSilentConnectionsAreLeft(t *testing.T) {
	c := newClient(Config{ServerAddress: "http://h"}, nil)
	defer c.close()
	silent := &url.Error{Op: "Post", URL: "http://h", Err: context.DeadlineExceeded}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for i, a := range []struct {
		ctx  context.Context
		err  error
		left bool
	}{
		{t.Context(), silent, false},
		{t.Context(), nil, false},
		{t.Context(), silent, false},
		{over, silent, false},
		{t.Context(), silent, false},
		{t.Context(), silent, true},
		{t.Context(), silent, false},
	} {
		before := c.http.Transport
		c.countSilence(a.ctx, a.err)
		if left := c.http.Transport != before; left != a.left {
			t.Errorf("attempt %d: left %t, want %t", i+1, left, a.left)
		}
	}
}
