package integration

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/integration/backend"
	push "github.com/perfline/perfline/profiling/pyroscope"
)

// TestPyroscopeProfileTypes pushes a profile of each kind. The server has them under the names and labels by which
// dashboards and queries find them: these are the names of pyroscope-go. Each has what the program did in its time.
func TestPyroscopeProfileTypes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1

	b := ownPyroscope(ctx, t) // it has no other profiles
	service := serviceName(t)
	p, err := push.Start(ctx, push.Config{
		ServerAddress: b.URL(), UploadInterval: 30 * time.Minute, Logger: slog.New(slog.DiscardHandler), Tags: map[string]string{"k8s.pod": "a b-1"},
		Resource: resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", "1.2")),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // values are not cumulative: the server adds them
		allocate(100_000)
		contend()
		use(ctx, 200*time.Millisecond)
		runtime.GC()
		runtime.GC() // a heap profile is of the last one but one
		if err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s.Delivered != s.Accepted || s.Delivered == 0 || s.Failed > 0 {
		t.Errorf("counts are %+v", s)
	}

	functions := map[string]string{ // which each type must have
		"block:contentions:count:contentions:count":   "integration.contend",
		"block:delay:nanoseconds:contentions:count":   "integration.contend",
		"goroutines:goroutine:count:goroutine:count":  "integration.run",
		"memory:alloc_objects:count:space:bytes":      "integration.allocate",
		"memory:alloc_space:bytes:space:bytes":        "integration.allocate",
		"memory:inuse_objects:count:space:bytes":      "",
		"memory:inuse_space:bytes:space:bytes":        "",
		"mutex:contentions:count:contentions:count":   "integration.contend",
		"mutex:delay:nanoseconds:contentions:count":   "integration.contend",
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds": "", // which functions the sampler sees is chance
		"process_cpu:samples:count:cpu:nanoseconds":   "",
	}
	types, err := b.ProfileTypes(ctx, backend.Query{})
	if want := slices.Sorted(maps.Keys(functions)); err != nil || !slices.Equal(types, want) {
		t.Errorf("types of profiles, %v:\n%s\nwant\n%s", err, strings.Join(types, "\n"), strings.Join(want, "\n"))
	}
	for typ, function := range functions {
		q := backend.Query{Type: typ, Labels: fmt.Sprintf("{service_name=%q}", service)}
		p, err := b.Profile(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		var value int64
		for _, s := range p.Sample {
			if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
				return slices.ContainsFunc(l.Line, func(l profile.Line) bool { return strings.Contains(l.Function.Name, function) })
			}) {
				value += s.Value[0]
			}
		}
		if value <= 0 {
			t.Errorf("%s has nothing of %q", typ, function)
		}
		if least, most := int64(200_000), int64(220_000); typ == "memory:alloc_space:bytes:space:bytes" && (value < least || value > most) {
			t.Errorf("%d bytes were allocated, want %d to %d, of size classes", value, least, most)
		}
	}
	series, err := b.Series(ctx, backend.Query{Labels: fmt.Sprintf("{service_name=%q}", service)})
	if err != nil || len(series) < len(functions) {
		t.Errorf("%d series, %v", len(series), err)
	}
	for _, labels := range series {
		if _, ok := functions[labels["__profile_type__"]]; !ok {
			t.Errorf("a series of type %s", labels["__profile_type__"])
		}
		own := maps.Clone(labels)
		maps.DeleteFunc(own, func(name, _ string) bool { return strings.HasPrefix(name, "__") })
		if want := map[string]string{"service_name": service, "service_version": "1.2", "k8s_pod": "a b-1", "pyroscope_spy": "gospy"}; !maps.Equal(own, want) {
			t.Errorf("labels of %s are %v, want %v", labels["__profile_type__"], own, want)
		}
	}
}

var allocated []byte

//go:noinline
func allocate(bytes int) { allocated = make([]byte, bytes) }

// contend has a goroutine wait for a mutex, until the runtime has recorded it.
//
//go:noinline
func contend() {
	recorded := func(profile string) bool {
		var text strings.Builder
		return pprof.Lookup(profile).WriteTo(&text, 1) == nil && strings.Contains(text.String(), "integration.contend")
	}
	for first := true; first || !recorded("mutex") || !recorded("block"); first = false {
		var mu sync.Mutex
		var waiter sync.WaitGroup
		mu.Lock()
		waiter.Go(func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // contention is wanted
		})
		for locked := time.Now(); time.Since(locked) < 2*time.Millisecond; {
			runtime.Gosched()
		}
		mu.Unlock()
		waiter.Wait()
	}
}
