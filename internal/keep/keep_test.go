package keep_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/local"
)

// The first reason that holds counts. A request is slow for its own threshold, whatever the reason.
func TestDecide(t *testing.T) {
	slow := keep.Policy{Routes: map[string]time.Duration{"GET /own": time.Minute, "GET /never": -1}}
	all := keep.Policy{Share: 1, WithoutFailed: true}
	keptSlow := keep.Decision{Reason: local.KeptForTime, Slow: true}
	for name, c := range map[string]struct {
		policy         keep.Policy
		class          local.Class
		route          string
		took           time.Duration
		failed, chosen bool
		want           keep.Decision
	}{
		"no reason":       {policy: slow, took: time.Second - 1},
		"slow":            {policy: slow, took: time.Second, want: keptSlow},
		"fast for itself": {policy: slow, route: "GET /own", took: time.Second},
		"slow for itself": {policy: slow, route: "GET /own", took: time.Minute, want: keptSlow},
		"never slow":      {policy: slow, route: "GET /never", took: time.Hour},
		"stream":          {policy: slow, class: local.Stream, took: time.Hour},
		"failed": {
			policy: slow, took: time.Hour, failed: true,
			want: keep.Decision{Reason: local.KeptForFailure, Slow: true},
		},
		"chosen": {
			policy: slow, failed: true, chosen: true,
			want: keep.Decision{Reason: local.KeptForProgram},
		},
		"share": {policy: all, failed: true, want: keep.Decision{Reason: local.KeptForShare}},
	} {
		t.Run(name, func(t *testing.T) {
			k := keep.New(c.policy, nil)
			if got := k.Decide(c.class, c.route, c.took, c.failed, c.chosen); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A second's requests may be kept at once, and then one in each interval.
func TestDecideUnderACeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keep.New(keep.Policy{PerSecond: 2}, nil)
		kept := local.KeptForProgram
		for i, want := range []local.KeepReason{kept, kept, local.NotKept, kept, local.NotKept} {
			if i == 3 {
				time.Sleep(time.Second / 2)
			}
			d := k.Decide(local.Request, "GET /", 0, false, true)
			if d.Reason != want || d.OverCeiling != (want == local.NotKept) {
				t.Errorf("request %d: %+v, want %v", i, d, want)
			}
		}
	})
}
