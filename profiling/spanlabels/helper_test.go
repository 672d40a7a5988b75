//go:build !perfline_portable

package spanlabels

import (
	"context"
	"runtime/pprof"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// on has goroutines labelled during a test, and sees that it leaves its own without.
func on(t testing.TB) {
	t.Helper()
	release := Hold(EverySpan)
	t.Cleanup(func() {
		release()
		if current() != nil {
			t.Errorf("the goroutine is left with labels %v", current().list)
			setCurrent(nil)
		}
	})
}

// begin begins span number n.
func begin(n byte) *Span {
	return Set(context.Background(), spanContext([16]byte{0: 0xab, 15: n}, [8]byte{7: n}), "span "+string('0'+n), false)
}

// label sets labels of the program's own on the goroutine.
func label(kv ...string) *set {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(kv...)))
	return current()
}

// elsewhere runs f on another goroutine, which inherits the labels.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

func wantSpan(t *testing.T, what string, want *Span) {
	t.Helper()
	got, _ := Resolve(unsafe.Pointer(current()), 1<<60)
	if got != want {
		t.Errorf("%s: the goroutine works for %v, want %v", what, name(got), name(want))
	}
}

func name(s *Span) string {
	if s == nil {
		return "no span"
	}
	return s.Name()
}

func wantLabels(t *testing.T, what string, want *set) {
	t.Helper()
	if got := current(); got != want {
		t.Errorf("%s: the goroutine's labels are %p %v, want %p %v", what, got, got.labels(), want, want.labels())
	}
}
