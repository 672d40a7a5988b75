//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// of begins a span of a trace.
func of(ctx context.Context, trace, span byte, local bool) *spanlabels.Span {
	return spanlabels.Set(ctx, spanContext([16]byte{trace}, [8]byte{span}), "span "+string('0'+span), local)
}

func wantRoot(t *testing.T, what string, s, want *spanlabels.Span, itself bool) {
	t.Helper()
	if s.Root().SpanID() != want.SpanID() || isLocalRoot(s) != itself {
		t.Errorf("%s: the root is %v, want %v; it is one itself: %v", what, s.Root().SpanID(), want.SpanID(), isLocalRoot(s))
	}
}

func TestRoots(t *testing.T) {
	on(t)
	bg := t.Context()
	root := of(bg, 1, 1, true)
	wantRoot(t, "a local root", root, root, true)
	child := of(bg, 1, 2, false)
	childTag := spanlabels.Tag()
	wantRoot(t, "a child", child, root, false)
	wantRoot(t, "a grandchild", of(bg, 1, 3, false), root, false)
	goruntime.SetLabels(childTag)
	other := of(bg, 2, 4, true)
	wantRoot(t, "another trace's root", other, other, true)
	wantRoot(t, "its child", of(bg, 2, 5, false), other, false)
	wantRoot(t, "a child under another trace's", of(bg, 1, 6, false), root, false)
	elsewhere(func() {
		wantRoot(t, "a child of an inheritor", of(bg, 1, 7, false), root, false)
		goruntime.SetLabels(nil)
		unknown := of(bg, 1, 8, false)
		wantRoot(t, "a child of nobody known", unknown, unknown, true)
		wantRoot(t, "the child of that", of(bg, 1, 9, false), unknown, false)
		goruntime.SetLabels(nil)
		wantRoot(t, "a child by its context", of(spanlabels.NewContext(bg, child), 1, 7, false), root, false)
		goruntime.SetLabels(nil)
		unknown = of(spanlabels.NewContext(bg, child), 3, 7, false)
		wantRoot(t, "a child of another trace than its context's", unknown, unknown, true)
	})
	goruntime.SetLabels(nil)
	again := of(spanlabels.NewContext(bg, child), 1, 2, false) // as Do does
	child.End("at the end")
	if isSpan(again) || again.Name() != "at the end" {
		t.Errorf("another label of a span is called %q, and is the span's own: %v", again.Name(), isSpan(again))
	}
	goruntime.SetLabels(nil)
}

// While local roots are enough, one label does for what is under it.
func TestLocalRootsOnly(t *testing.T) {
	t.Cleanup(spanlabels.Hold(spanlabels.LocalRoots))
	defer goruntime.SetLabels(nil)
	bg := t.Context()
	root := of(bg, 1, 1, true)
	rootLabels := labelsOf(spanlabels.Tag())
	if s := of(bg, 1, 2, false); s != nil {
		t.Error("a child labels the goroutine of its root")
	}
	elsewhere(func() {
		if s := of(bg, 1, 2, false); s != nil {
			t.Error("a child labels an inheritor")
		}
		goruntime.SetLabels(nil)
		s := of(spanlabels.NewContext(bg, root), 1, 2, false)
		list := labelsOf(spanlabels.Tag())
		if id := s.SpanID(); id != root.SpanID() || !slices.Equal(list, rootLabels) || list[1].Value != "span 1" || isSpan(s) || isLocalRoot(s) {
			t.Errorf("a child of a pool's worker labels for %v, %q, as itself: %v", id, list, isSpan(s))
		}
		if of(bg, 1, 3, false) != nil {
			t.Error("and its child labels too")
		}
		s.End("child")
		wantTag(t, "after the child", nil)
		if s.Name() != "span 1" {
			t.Errorf("it is called %q", s.Name())
		}
		unknown := of(bg, 1, 4, false)
		wantRoot(t, "whose root is not known", unknown, unknown, true)
	})
	other := of(bg, 2, 5, true)
	under := of(bg, 1, 6, false)
	wantRoot(t, "under another trace's", under, root, false)
	release := spanlabels.Hold(spanlabels.EverySpan)
	if of(bg, 1, 7, false) == nil {
		t.Error("a child labels nothing though every span is wanted")
	}
	release()
	under.End("")
	other.End("")
	root.End("")
}

func TestNamesAtTheEnd(t *testing.T) {
	on(t)
	bg := t.Context()
	for what, c := range map[string]struct{ end, want string }{
		"not known": {"", "span 1"}, "the same": {"span 1", "span 1"}, "another": {"GET /{id}", "GET /{id}"},
		"not UTF-8": {"a\xff", "a\uFFFD"}, "long": {strings.Repeat("x", 2*maxName), strings.Repeat("x", maxName)},
	} {
		t.Run(what, func(t *testing.T) {
			for _, around := range []bool{false, true} {
				if around {
					defer of(bg, 2, 9, true).End("")
				}
				s := of(bg, 1, 1, true)
				label := labelsOf(spanlabels.Tag())[1].Value
				child := of(bg, 1, 2, false)
				child.End("")
				s.End(c.end)
				s.End("later")
				if s.Name() != c.want || child.Root().Name() != c.want || label != "span 1" {
					t.Errorf("it is called %q, the child's root %q, the label %q; want %q", s.Name(), child.Root().Name(), label, c.want)
				}
			}
		})
	}
}

// Traces of which each is begun in the one before, and goes on elsewhere, for ever.
func TestRootsKeepNothingAround(t *testing.T) {
	on(t)
	bg := t.Context()
	const most = 10 // of the last two traces
	var spans census
	left := 0
	step := make(chan struct{})
	var run func(i int)
	run = func(i int) {
		child := spans.add(of(bg, byte(i), 2, false))
		if i == total {
			left = spans.count()
			child.End("")
			close(step)
			return
		}
		root := spans.add(of(bg, byte(i+1), 1, true))
		begun, ended := make(chan struct{}), make(chan struct{})
		go func() { // as a worker of a pool, that has the root from a context only
			goruntime.SetLabels(nil)
			of(spanlabels.NewContext(bg, root), byte(i+1), 3, false)
			close(begun)
			<-ended
			run(i + 1)
		}()
		<-begun
		root.End("")
		child.End("")
		close(ended)
	}
	go run(0)
	<-step
	if left > most {
		t.Errorf("%d spans are in memory after %d traces, want at most %d", left, total, most)
	}
}

// The labels have the ids as text.
func TestIDsOfLabels(t *testing.T) {
	on(t)
	for range 1000 {
		traceID, spanID := [16]byte{0: 1}, [8]byte{7: 1}
		for i := range traceID[1:] {
			traceID[i+1] = byte(rand.IntN(256))
		}
		for i := range spanID[:7] {
			spanID[i] = byte(rand.IntN(256))
		}
		s := spanlabels.Set(t.Context(), spanContext(traceID, spanID), "s", true)
		list := labelsOf(spanlabels.Tag())
		if got, want := list[0].Value, hex.EncodeToString(spanID[:]); got != want {
			t.Fatalf("the span's id is %s, want %s", got, want)
		}
		if got, want := list[2].Value, hex.EncodeToString(traceID[:]); got != want {
			t.Fatalf("the trace's id is %s, want %s", got, want)
		}
		if s.SpanID() != spanID || s.TraceID() != traceID {
			t.Fatalf("the ids are %v and %v, want %x and %x", s.SpanID(), s.TraceID(), spanID, traceID)
		}
		s.End("")
	}
}
