//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"math"
	"runtime/pprof"
	"testing"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/spanlabels"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// on has goroutines labelled during a test, and sees that it leaves its own without.
func on(t testing.TB) {
	t.Helper()
	release := spanlabels.Hold(spanlabels.EverySpan)
	t.Cleanup(func() {
		release()
		if tag := spanlabels.Tag(); tag != nil {
			t.Errorf("the goroutine is left with labels %v", labelsOf(tag))
			goruntime.SetLabels(nil)
		}
	})
}

// begin begins span number n.
func begin(n byte) *spanlabels.Span {
	return spanlabels.Set(context.Background(), spanContext([16]byte{0: 0xab, 15: n}, [8]byte{7: n}), "span "+string('0'+n), false)
}

// beginTag is begin, and the goroutine's labels then.
func beginTag(n byte) (s *spanlabels.Span, tag unsafe.Pointer) {
	s = begin(n)
	return s, spanlabels.Tag()
}

// label sets labels of the program's own on the goroutine.
func label(kv ...string) (tag unsafe.Pointer) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(kv...)))
	return spanlabels.Tag()
}

// labelsOf returns the labels behind a label pointer, as the runtime has them.
func labelsOf(tag unsafe.Pointer) (list []spanlabels.Label) {
	if tag == nil {
		return nil
	}
	for _, l := range (*goruntime.LabelSet)(tag).List {
		list = append(list, spanlabels.Label(l))
	}
	return list
}

// inContext returns the span whose labels ctx carries, nil for none, and the labels.
func inContext(ctx context.Context) (s *spanlabels.Span, tag unsafe.Pointer) {
	before := goruntime.Labels()
	defer func() { goruntime.SetLabels(before) }()
	pprof.SetGoroutineLabels(ctx)
	tag = spanlabels.Tag()
	s, _ = spanlabels.Resolve(tag, math.MinInt64)
	return s, tag
}

// elsewhere runs f on another goroutine, which inherits the labels.
func elsewhere(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

func wantSpan(t *testing.T, what string, want *spanlabels.Span) {
	t.Helper()
	got, _ := spanlabels.Resolve(spanlabels.Tag(), math.MaxInt64)
	if got != want {
		t.Errorf("%s: the goroutine works for %v, want %v", what, name(got), name(want))
	}
}

func name(s *spanlabels.Span) string {
	if s == nil {
		return "no span"
	}
	return s.Name()
}

func wantTag(t *testing.T, what string, want unsafe.Pointer) {
	t.Helper()
	if got := spanlabels.Tag(); got != want {
		t.Errorf("%s: the goroutine's labels are %p %v, want %p %v", what, got, labelsOf(got), want, labelsOf(want))
	}
}
