//go:build lab

package pyroscope_test

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// What ran arrives, by the real profiler.
func TestLabRealProfiler(t *testing.T) {
	n := &network{t: t}
	p, err := pyroscope.Start(t.Context(), pyroscope.Config{ServerAddress: "http://server", HTTPClient: &http.Client{Transport: n}, Resource: service("app")})
	if err != nil {
		t.Fatal(err)
	}
	burn(time.Second)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var burned, all time.Duration
	for _, r := range n.of("cpu")[:1] {
		if d := time.Since(time.Unix(0, r.profile.TimeNanos)); d > time.Minute || d < time.Duration(r.profile.DurationNanos) {
			t.Errorf("the profile began %v ago, for %v", d, time.Duration(r.profile.DurationNanos))
		}
		for _, s := range r.profile.Sample {
			all += time.Duration(s.Value[1])
			if slices.ContainsFunc(s.Location, func(l *pprofpb.Location) bool {
				return strings.HasSuffix(l.Line[0].Function.Name, "pyroscope_test.burn")
			}) {
				burned += time.Duration(s.Value[1])
			}
		}
	}
	if burned == 0 || burned < all/2 {
		t.Errorf("%v of %v are in burn, want most: the process does little else", burned, all)
	}
}

// burn uses so much of a processor, however long the machine takes to give it; where that is
// not known, it takes so long.
//
//go:noinline
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := cputime.Thread
	if used() == 0 {
		began := time.Now()
		used = func() time.Duration { return time.Since(began) }
	}
	for from := used(); used()-from < d; {
		for i := range 1000 {
			sink += i * i
		}
	}
}

var sink int
