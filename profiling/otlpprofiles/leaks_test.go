package otlpprofiles

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/continuous"
)

// leakingFunction is the function of the goroutine that TestLeakedGoroutine leaks.
const leakingFunction = "github.com/perfline/perfline/profiling/otlpprofiles.waitForever"

//go:noinline
func waitForever(blocked chan struct{}) {
	close(blocked)
	<-make(chan struct{})
}

// bodies is a sender that passes requests on.
type bodies chan []byte

func (b bodies) Send(_ context.Context, body []byte) exporter.Answer {
	b <- body
	return exporter.Answer{}
}

// A leaked goroutine is in a profile of its own kind, where the runtime has that profile.
func TestLeakedGoroutine(t *testing.T) {
	if pprof.Lookup(continuous.Leak) == nil {
		return // a runtime without the profile: see package continuous
	}
	blocked := make(chan struct{})
	go waitForever(blocked)
	<-blocked
	sent := make(bodies, 100)
	e := New(Config{Sender: sent, LeakInterval: time.Second})
	if err := e.Start(t.Context(), shop(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	body := <-sent
	for !bytes.Contains(body, []byte(continuous.Leak)) {
		body = <-sent
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	_, all := decode(t, body)
	p := all[0]
	if p.typ != "goroutineleak/count" || p.attributes != kindAttribute+"=goroutineleak" || p.duration != 0 || !strings.Contains(p.samples[0].stack, leakingFunction) {
		t.Errorf("the profile is %+v", p)
	}
}
