package bridge_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
)

// The bytes say what several goroutines do with the spans of our provider at the same time.
func FuzzTracerProviderConcurrent(f *testing.F) {
	source := rand.New(rand.NewPCG(19, 7))
	for n := range 16 {
		f.Add(randomBytes(source, 100*(n+1)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) { work(t, data) })
	})
}

func TestTracerProviderConcurrent(t *testing.T) {
	source := rand.New(rand.NewPCG(19, 8))
	for range 15 {
		data := randomBytes(source, 100+source.IntN(1500))
		synctest.Test(t, func(t *testing.T) { work(t, data) })
		if t.Failed() {
			t.Fatalf("the bytes are %q", data)
		}
	}
}

func randomBytes(source *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(source.Uint32())
	}
	return b
}
