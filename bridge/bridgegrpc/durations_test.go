package bridgegrpc_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/bridge/internal/kinds"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// calls returns a function that makes a client's call of a method, which fails.
func calls(t *testing.T, meters metric.MeterProvider) func(ctx context.Context, method string) {
	t.Helper()
	h := bridgegrpc.Client{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: meters}.Handler()
	failed := errors.New("fails")
	return func(ctx context.Context, method string) {
		h.HandleRPC(h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: method}), &stats.End{Client: true, Error: failed})
	}
}

// Calls of methods that clients make up are counted, however many there are.
func TestDurationsOfManyMethods(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	call := calls(t, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(-1)))
	tl := observer.NewTimeline(observer.TimelineOptions{})
	defer tl.Close()
	ctx := observer.NewContext(t.Context(), tl)
	const each = 3 * kinds.MaxKinds / 4
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for range 2 {
				for i := range each {
					call(ctx, "/"+strconv.Itoa(g*each+i))
				}
			}
		})
	}
	wg.Wait()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	points := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints
	if len(points) != 2*each {
		t.Errorf("%d points, want %d", len(points), 2*each)
	}
	for _, p := range points {
		if p.Count != 2 || p.Attributes.Len() != 4 {
			t.Errorf("%v: counted %d times, want 2", p.Attributes.ToSlice(), p.Count)
		}
	}
}

// Without metrics there are no attributes to make: a call of a new method costs no more than the others.
func TestAllocNoMetrics(t *testing.T) {
	call := calls(t, noopmetric.NewMeterProvider())
	var methods []string
	for i := range 1001 {
		methods = append(methods, "/"+strconv.Itoa(i))
	}
	i := 0
	known := testing.AllocsPerRun(1000, func() { call(t.Context(), methods[0]) })
	if got := testing.AllocsPerRun(1000, func() { call(t.Context(), methods[i]); i++ }); got != known {
		t.Errorf("calls of new methods allocate %v times, others %v", got, known)
	}
}

// The header of a call that is cut off may come in while its end is recorded: no moment lies after the end.
func TestResponseAtTheEnd(t *testing.T) {
	now := time.Second
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return now }})
	defer tl.Close()
	h := bridgegrpc.Client{TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider()}.Handler()
	ctx := h.TagRPC(observer.NewContext(t.Context(), tl), &stats.RPCTagInfo{FullMethodName: "/m"})
	now = time.Minute // by the goroutine that reads the header, after the other one has read the clock
	h.HandleRPC(ctx, &stats.InHeader{Client: true})
	now = 3 * time.Second
	h.HandleRPC(ctx, &stats.End{Client: true, Error: context.Canceled})
	entries := tl.Entries()
	if len(entries) != 1 {
		t.Fatalf("%d entries", len(entries))
	}
	e := entries[0]
	if at, _ := attr(e, record.ResponseStart); at.Duration() != 2*time.Second {
		t.Errorf("the response starts at %v of %v", at, e.Duration())
	}
	if e.StartTime() != time.Second || e.Duration() != 2*time.Second {
		t.Errorf("%v, want from 1 s to 3 s", e)
	}
}
