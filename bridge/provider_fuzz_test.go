//go:build !race

// One goroutine at a time has no races, and the race detector would take minutes.

package bridge_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
)

// The bytes say what a program does. It sees the same with our provider and with the SDK's.
func FuzzTracerProvider(f *testing.F) {
	source := rand.New(rand.NewPCG(19, 6))
	for n := range 60 {
		f.Add(randomBytes(source, 50*(n+1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) { newJudge(t, data).run() })
	})
}

// Some hundred random programs.
func TestTracerProviderIsLikeTheSDKs(t *testing.T) {
	source := rand.New(rand.NewPCG(19, 0))
	for range 300 {
		data := randomBytes(source, 100+source.IntN(2000))
		synctest.Test(t, func(t *testing.T) { newJudge(t, data).run() })
		if t.Failed() {
			t.Fatalf("the bytes are %q", data)
		}
	}
}
