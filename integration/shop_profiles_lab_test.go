//go:build lab

package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLabShopProfiles runs the shop with its profiles in Pyroscope and its traces in Jaeger,
// while it samples itself and is asked for profiles, and holds each against the others.
func TestLabShopProfiles(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := runShop(ctx, t, 15*time.Second, 4*time.Second)
	t.Run("CPU time", func(t *testing.T) { cpuTimes(t, r) })
	t.Run("functions", func(t *testing.T) {
		// Both see the same load; the server also how the shop starts and ends, some percent
		// of the whole, which moves no function's share by more.
		for _, name := range byTime(r.whole)[:min(len(r.whole), 3)] {
			pushed, own := percent(r.whole, name), percent(r.session, name)
			if d := pushed - own; d < -3 || d > 3 {
				t.Errorf("%s has %.1f %% in Pyroscope and %.1f %% in the shop's own session", name, pushed, own)
			}
		}
		if len(r.whole) < 3 {
			t.Errorf("%d functions, want more: %v", len(r.whole), r.whole)
		}
	})
	t.Run("types", func(t *testing.T) {
		for _, want := range []string{
			"process_cpu:cpu:nanoseconds:cpu:nanoseconds", "process_cpu:samples:count:cpu:nanoseconds",
			"memory:alloc_objects:count:space:bytes", "memory:alloc_space:bytes:space:bytes",
			"memory:inuse_objects:count:space:bytes", "memory:inuse_space:bytes:space:bytes",
			"goroutines:goroutine:count:goroutine:count",
			"mutex:contentions:count:contentions:count", "mutex:delay:nanoseconds:contentions:count",
			"block:contentions:count:contentions:count", "block:delay:nanoseconds:contentions:count",
		} {
			if !slices.Contains(r.types, want) {
				t.Errorf("no %s among the types of profiles: %q", want, r.types)
			}
		}
	})
	t.Run("routes", func(t *testing.T) {
		for _, route := range []string{"GET /{$}", "GET /products/{id}", "GET /search", "POST /orders"} {
			if r.routes[route] <= 0 {
				t.Errorf("no CPU time of %q: %v", route, r.routes)
			}
		}
	})
	t.Run("a slow request", func(t *testing.T) { slowRequests(t, r) })
	t.Run("attributes", func(t *testing.T) {
		if searches := profileIDs(ctx, t, r.run); searches != r.spans {
			t.Errorf("Jaeger has %d spans of %s, and had %d", searches, slowRoute, r.spans)
		}
	})
	t.Log("\n" + r.String())
}

func cpuTimes(t *testing.T, r *shopReport) {
	pushed := cpuTime(r.whole)
	// Below: the program's start until it is profiled and its end from the last upload on,
	// some hundredths of a second of several. Above: two samples that stand for more than
	// was used, at the ends.
	if share := float64(pushed) / float64(r.processCPU); share < 0.9 || share > 1.05 {
		t.Errorf("Pyroscope has %v of CPU time of the %v that the process used: %.3f, want 0.9 to 1.05", pushed, r.processCPU, share)
	}
	// Four seconds of this load are some 80 ticks of 10 ms, in which the kernel tells what
	// was used. It is asked before the request and after the answer, which may each be a
	// tick off; making the answer is used, too, but not sampled.
	for _, a := range r.onDemand {
		if share := float64(a.sampled) / float64(a.used); share < 0.75 || share > 1.25 {
			t.Errorf("/debug/pprof/profile has %v of CPU time of %v: %.3f, want 0.75 to 1.25", a.sampled, a.used, share)
		}
	}
	if len(r.onDemand) != 3 {
		t.Errorf("%d profiles asked for, want 3", len(r.onDemand))
	}
}

// slowRequests finds what made a request slow: nothing of other routes.
func slowRequests(t *testing.T, r *shopReport) {
	if len(r.slow) == 0 {
		t.Fatalf("no samples of any of the %d requests of %s", r.spans, slowRoute)
	}
	indexed := 0
	for _, s := range r.slow {
		if s.profileID != s.spanID {
			t.Errorf("span %s has pyroscope.profile.id %q, want its own id", s.spanID, s.profileID)
		}
		for _, f := range s.profile.Functions {
			for _, other := range []string{"main.(*handler).home", "main.(*handler).product", "main.(*handler).order", "main.(*handler).pay", "main.paymentHandler"} {
				if f == other || strings.HasPrefix(f, other+".") { // a function in it
					t.Errorf("the profile of span %s, of %s, has %s", s.spanID, slowRoute, f)
				}
			}
		}
		// A sample deep in it may hit the limit of a stack, but hardly all.
		if slices.Contains(s.profile.Functions, "main.(*handler).search") && slices.Contains(s.profile.Functions, "main.makeIndex") {
			indexed++
		}
	}
	// Once a second a search makes the index, for more than the 10 ms that a sample stands for.
	if indexed == 0 {
		t.Errorf("no profile of %d sampled requests shows main.makeIndex under main.(*handler).search", len(r.slow))
	}
}
