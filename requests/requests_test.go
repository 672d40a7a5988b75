package requests_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
)

func start(t *testing.T, c perfline.Config) *perfline.Pipeline {
	t.Helper()
	c.Service, c.Logger = "test", slog.New(slog.DiscardHandler)
	pl, err := perfline.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pl.Shutdown(context.Background()) })
	return pl
}

// serve makes a request that took some time, and returns its root.
func serve(t *testing.T, pl *perfline.Pipeline, name string, took time.Duration) trace.SpanContext {
	t.Helper()
	began := time.Now()
	ctx, span := pl.TracerProvider().Tracer("test").Start(t.Context(), name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
	marks.Mark(ctx, "cache.miss")
	span.End(trace.WithTimestamp(began.Add(took)))
	return span.SpanContext()
}

func names(all []requests.Request) string {
	var list []string
	for _, q := range all {
		list = append(list, q.Root().Name)
	}
	return strings.Join(list, " ")
}

// The lists have what their names say, in their orders, with the bounds of the configuration.
func TestLists(t *testing.T) {
	pl := start(t, perfline.Config{
		Keep:   bridge.KeepPolicy{Slow: time.Second},
		Recent: requests.Config{Newest: 2, Slowest: 1},
	})
	for i, took := range []time.Duration{5 * time.Millisecond, 2 * time.Second, time.Second, 10 * time.Millisecond} {
		serve(t, pl, fmt.Sprint("r", i), took)
	}
	s := pl.Recent()
	for list, c := range map[string][2]string{
		"newest": {names(s.Newest()), "r3 r2"}, "slowest": {names(s.Slowest()), "r1"}, "kept": {names(s.Kept()), "r2 r1"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", list, c[0], c[1])
		}
	}
}

func TestFind(t *testing.T) {
	pl := start(t, perfline.Config{})
	id := serve(t, pl, "GET /", 3*time.Second)
	q, ok := pl.Recent().Find(id.TraceID(), id.SpanID())
	root := q.Root()
	if !ok || root.TraceID != id.TraceID() || root.SpanID != id.SpanID() || root.Name != "GET /" || root.Class != "request" ||
		root.End.Sub(root.Start) != 3*time.Second || root.Keep != "slow" || root.Failed {
		t.Errorf("found %t: %+v", ok, root)
	}
	if _, ok := pl.Recent().Find(id.TraceID(), trace.SpanID{1}); ok {
		t.Error("found a request that is not there")
	}
}

// Both ways of writing have the span, its mark, and what the request waited for.
func TestWrite(t *testing.T) {
	pl := start(t, perfline.Config{})
	id := serve(t, pl, "GET /", 20*time.Millisecond)
	q, _ := pl.Recent().Find(id.TraceID(), id.SpanID())
	waited := q.WithWaits(&waits.Request{
		TraceID: id.TraceID(), RootID: id.SpanID(), Start: q.Root().Start, Duration: 20 * time.Millisecond,
		Causes: []waits.Cause{{Kind: waits.Mutex, Duration: 15 * time.Millisecond, Function: "main.(*cart).total", SpanID: id.SpanID()}},
	})
	for _, c := range []struct {
		name  string
		write func(*bytes.Buffer, requests.Request) error
		parts []string
	}{
		{"waterfall", func(b *bytes.Buffer, q requests.Request) error { return requests.WriteWaterfall(b, q, nil) }, []string{"GET /", "cache.miss", "(*cart).total"}},
		{"SVG", func(b *bytes.Buffer, q requests.Request) error { return requests.WriteSVG(b, q) }, []string{"GET /", "cache.miss"}},
	} {
		var b bytes.Buffer
		if err := c.write(&b, waited); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, part := range c.parts {
			if !strings.Contains(b.String(), part) {
				t.Errorf("%s lacks %q:\n%s", c.name, part, &b)
			}
		}
		b.Reset()
		if err := c.write(&b, q); err != nil || strings.Contains(b.String(), "total") {
			t.Errorf("%s of the request without waits has them, or fails: %v", c.name, err)
		}
	}
}

// Who does not look at the result of Find gets an error, and no panic.
func TestWriteWithoutRequest(t *testing.T) {
	q, _ := start(t, perfline.Config{}).Recent().Find(trace.TraceID{1}, trace.SpanID{1})
	var b bytes.Buffer
	for name, err := range map[string]error{"waterfall": requests.WriteWaterfall(&b, q, nil), "SVG": requests.WriteSVG(&b, q)} {
		if err == nil || !strings.Contains(err.Error(), "the zero Request") || b.Len() > 0 {
			t.Errorf("%s: %v, and wrote %q", name, err, &b)
		}
	}
	if root := q.Root(); root.TraceID.IsValid() {
		t.Errorf("the zero Request has the root %+v", root)
	}
}

func Example() {
	pl, err := perfline.Start(context.Background(), perfline.Config{Service: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = pl.Shutdown(context.Background()) }()
	// … the program serves requests …

	for _, q := range pl.Recent().Slowest() {
		if err := requests.WriteWaterfall(os.Stdout, q, pl.LastMinute()); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
}
