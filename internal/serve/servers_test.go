package serve_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/perfline/perfline/internal/serve"
)

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers serve.Servers
		one, other := new(http.Server), new(http.Server)
		of := func(s *http.Server) context.Context { return context.WithValue(t.Context(), http.ServerContextKey, s) }
		first, done := servers.Context(of(one))
		defer done()
		second, done := servers.Context(of(one))
		defer done()
		elsewhere, done := servers.Context(of(other))
		defer done()
		served, done := servers.Context(of(one))
		done()
		if !errors.Is(context.Cause(served), context.Canceled) {
			t.Errorf("a request that was served has the cause %v", context.Cause(served))
		}
		request, cancel := context.WithCancel(of(one))
		gone, done := servers.Context(request)
		defer done()
		cancel()
		if !errors.Is(context.Cause(gone), context.Canceled) {
			t.Errorf("a request whose client is gone has the cause %v", context.Cause(gone))
		}
		for range 2 { // a program may ask twice
			if err := one.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		late, done := servers.Context(of(one))
		defer done()
		synctest.Wait()
		for name, ctx := range map[string]context.Context{"the first": first, "the second": second, "one that came after it": late} {
			if !errors.Is(context.Cause(ctx), serve.ErrShutdown) {
				t.Errorf("%s request of a server that shut down has the cause %v", name, context.Cause(ctx))
			}
		}
		if elsewhere.Err() != nil {
			t.Errorf("a request of another server has the cause %v", context.Cause(elsewhere))
		}
	})
}

func TestContextWithoutAServer(t *testing.T) {
	var servers serve.Servers
	ctx, done := servers.Context(t.Context())
	if done(); ctx != t.Context() {
		t.Error("a request of no server has another context")
	}
}
