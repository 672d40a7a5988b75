package integration

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	pyroscopego "github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/integration/backend"
	push "github.com/perfline/perfline/profiling/pyroscope"
)

// leakType is the type that the server makes of profiles of leaked goroutines.
const leakType = "goroutine_leak:goroutineleak:count:goroutineleak:count"

// TestPyroscopeLeakedGoroutines leaks a goroutine. The server takes the profile, whose type it does not know, and has
// the same type of it as of pyroscope-go's. A release of Go without such profiles sends the others, and none of this type.
func TestPyroscopeLeakedGoroutines(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	blocked := make(chan struct{})
	go leaks(blocked)
	<-blocked
	others := false // the server has profiles of other types
	has := func(b *backend.Pyroscope) bool {
		types, err := b.ProfileTypes(ctx, backend.Query{})
		if err != nil {
			t.Fatal(err)
		}
		others = len(types) > 0
		found := slices.DeleteFunc(types, func(typ string) bool { return !strings.Contains(typ, "leak") })
		if len(found) > 0 && !slices.Equal(found, []string{leakType}) {
			t.Fatalf("the server has %q, want %s", found, leakType)
		}
		return len(found) > 0
	}

	b := ownPyroscope(ctx, t)
	service := serviceName(t)
	p, err := push.Start(ctx, push.Config{
		ServerAddress: b.URL(), UploadInterval: time.Second, LeakInterval: time.Second, Logger: slog.New(slog.DiscardHandler),
		Resource: resource.NewSchemaless(attribute.String("service.name", service)),
	})
	if err != nil {
		t.Fatal(err)
	}
	available := pprof.Lookup("goroutineleak") != nil
	for !has(b) && (available || !others) {
		if err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if !available {
		if has(b) {
			t.Error("the server has a profile that this release of Go does not make")
		}
		return
	}
	got, err := b.Profile(ctx, backend.Query{Type: leakType, Labels: fmt.Sprintf("{service_name=%q}", service)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got.Sample, func(s *profile.Sample) bool {
		return s.Value[0] > 0 && slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(l profile.Line) bool { return strings.HasSuffix(l.Function.Name, "integration.leaks") })
		})
	}) {
		t.Errorf("the leaked goroutine is not in %v", got)
	}

	agents := ownPyroscope(ctx, t)
	agent, err := pyroscopego.Start(pyroscopego.Config{
		ApplicationName: "agent", ServerAddress: agents.URL(), UploadRate: time.Second, ProfileTypes: []pyroscopego.ProfileType{pyroscopego.ProfileGoroutineLeak},
	})
	if err != nil {
		t.Fatal(err)
	}
	for !has(agents) { // it fails when ctx ends
	}
	if err := agent.Stop(); err != nil {
		t.Error(err)
	}
}

// leaks waits for a value that no goroutine can send.
//
//go:noinline
func leaks(blocked chan struct{}) {
	close(blocked)
	<-make(chan struct{})
}
