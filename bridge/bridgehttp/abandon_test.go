package bridgehttp_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

// blocking is a span processor that waits.
type blocking struct{ ends, release, ended chan struct{} }

func (b *blocking) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (b *blocking) ForceFlush(context.Context) error                { return nil }
func (b *blocking) Shutdown(context.Context) error                  { return nil }

func (b *blocking) OnEnd(sdktrace.ReadOnlySpan) {
	b.ends <- struct{}{}
	<-b.release
	b.ended <- struct{}{}
}

type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a))), ContentLength: -1}, nil
}

// The runtime, which finds abandoned bodies, does not wait for span processors: while it waits for one it cleans up
// nothing else.
func TestAbandonDoesNotWait(t *testing.T) {
	const calls = 100 // more than goroutines that the runtime cleans up on
	b := &blocking{ends: make(chan struct{}, calls), release: make(chan struct{}), ended: make(chan struct{}, calls)}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b))
	tl := observer.NewTimeline(observer.TimelineOptions{})
	defer tl.Close()
	client := bridgehttp.Client{TracerProvider: tp}.Transport(answers("body"))
	for range calls {
		func() {
			resp, err := client.RoundTrip(newRequest(t, http.MethodGet, "http://h/", nil).WithContext(observer.NewContext(t.Context(), tl)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}()
	}
	deadline := time.Now().Add(2 * time.Minute)
	for len(b.ends) < calls {
		runtime.GC()
		if time.Now().After(deadline) {
			t.Errorf("%d of %d calls end while the processor waits", len(b.ends), calls)
			break
		}
	}
	close(b.release)
	for range calls {
		runtime.GC() // of a call that ends late
		<-b.ended
	}
}
