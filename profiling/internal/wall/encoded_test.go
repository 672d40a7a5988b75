package wall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestLabelsOfEncodedProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		for _, user := range []string{"a", "b"} {
			pprof.Do(t.Context(), pprof.Labels("user", user, "at", "x"), func(context.Context) {
				go waiting(wake)
				go waiting(wake)
			})
		}
		go waiting(wake)
		synctest.Wait()
		got := map[string]int{}
		e := newEngine(1, sampling.NewSymbols(), errors.New("for a test"))
		if err := e.Start(time.Second); err != nil {
			t.Fatal(err)
		}
		defer e.Stop(nil)
		for _, s := range tick(t, e) {
			if on(s, "waiting") {
				got[fmt.Sprint(s.Labels)] += s.Count
			}
		}
		if want := map[string]int{"[{at x} {user a}]": 2, "[{at x} {user b}]": 2, "[]": 1}; !maps.Equal(got, want) {
			t.Errorf("goroutines by labels: %v, want %v", got, want)
		}
		close(wake)
	})
}
