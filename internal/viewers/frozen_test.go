package viewers_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// A header that was marked may change while a session with the mark is written, as
// the page does. Before values were frozen, Go ended the program: "concurrent map
// iteration and map write". That cannot be recovered, so another process tries.
func TestSessionWithAMarkedHeader(t *testing.T) {
	const inside = "PERFLINE_TEST_SESSION_HEADER"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSessionWithAMarkedHeader$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%.2000s", err, out)
		}
		return
	}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	recorder := sessions.NewRecorder(sessions.Config{Timeline: tl})
	defer recorder.Close()
	id, err := recorder.Start(t.Context(), sessions.StartOptions{NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"A": {"1"}}
	marks.Mark(observer.NewContext(t.Context(), tl), "m", slog.Any("h", header))
	s, err := recorder.Stop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2_000 {
			if err := viewers.WriteFirefox(io.Discard, s); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
			header.Set(fmt.Sprint("K", i%1000), "v")
		}
	}
}
