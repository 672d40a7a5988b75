package bridgegrpc_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// outcomes are data points as text: attributes and count, sorted.
func outcomes(points []metricdata.HistogramDataPoint[float64]) string {
	var out []string
	for _, p := range points {
		var kvs []string
		for _, kv := range p.Attributes.ToSlice() {
			kvs = append(kvs, string(kv.Key)+"="+kv.Value.String())
		}
		out = append(out, fmt.Sprintf("%v × %d\n", kvs, p.Count))
	}
	sort.Strings(out)
	return strings.Join(out, "")
}

func TestDurations(t *testing.T) {
	r := newRig(t)
	release := make(chan struct{})
	r.shop.buy = func(ctx context.Context, in *text) (*text, error) {
		<-release
		return in, nil
	}
	r.start(t)
	for range 3 {
		go func() { release <- struct{}{} }()
		if _, err := r.buy(r.ctx, "tea"); err != nil {
			t.Fatal(err)
		}
	}
	for _, side := range []string{"client", "server"} {
		points := r.points(t, "rpc."+side+".call.duration")
		if len(points) != 1 || points[0].Count != 3 {
			t.Fatalf("%s: %s", side, outcomes(points))
		}
		// In seconds, and in the conventions' buckets.
		if sum := points[0].Sum; sum <= 0 || sum > deadline.Seconds() {
			t.Errorf("%s: three calls took %v s", side, sum)
		}
		want := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
		if !slices.Equal(points[0].Bounds, want) {
			t.Errorf("%s: bounds %v", side, points[0].Bounds)
		}
	}
}
