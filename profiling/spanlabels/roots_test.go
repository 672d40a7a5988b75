//go:build !perfline_portable

package spanlabels

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
)

// of begins a span of a trace.
func of(ctx context.Context, trace, span byte, local bool) *Span {
	return Set(ctx, spanContext([16]byte{trace}, [8]byte{span}), "span "+string('0'+span), local)
}

func wantRoot(t *testing.T, what string, s, want *Span, itself bool) {
	t.Helper()
	if s.Root().SpanID() != want.SpanID() || s.isLocalRoot() != itself {
		t.Errorf("%s: the root is %v, want %v; it is one itself: %v", what, s.Root().SpanID(), want.SpanID(), s.isLocalRoot())
	}
}

func TestRoots(t *testing.T) {
	on(t)
	bg := t.Context()
	root := of(bg, 1, 1, true)
	wantRoot(t, "a local root", root, root, true)
	child := of(bg, 1, 2, false)
	wantRoot(t, "a child", child, root, false)
	wantRoot(t, "a grandchild", of(bg, 1, 3, false), root, false)
	setCurrent(&child.set)
	other := of(bg, 2, 4, true)
	wantRoot(t, "another trace's root", other, other, true)
	wantRoot(t, "its child", of(bg, 2, 5, false), other, false)
	wantRoot(t, "a child under another trace's", of(bg, 1, 6, false), root, false)
	elsewhere(func() {
		wantRoot(t, "a child of an inheritor", of(bg, 1, 7, false), root, false)
		setCurrent(nil)
		unknown := of(bg, 1, 8, false)
		wantRoot(t, "a child of nobody known", unknown, unknown, true)
		wantRoot(t, "the child of that", of(bg, 1, 9, false), unknown, false)
		setCurrent(nil)
		wantRoot(t, "a child by its context", of(NewContext(bg, child), 1, 7, false), root, false)
		setCurrent(nil)
		unknown = of(NewContext(bg, child), 3, 7, false)
		wantRoot(t, "a child of another trace than its context's", unknown, unknown, true)
	})
	setCurrent(nil)
	again := of(NewContext(bg, child), 1, 2, false) // as Do does
	child.end(1, "at the end")
	if again.isSpan() || again.Name() != "at the end" {
		t.Errorf("another label of a span is called %q, and is the span's own: %v", again.Name(), again.isSpan())
	}
	setCurrent(nil)
}

// While local roots are enough, one label does for what is under it.
func TestLocalRootsOnly(t *testing.T) {
	t.Cleanup(Hold(LocalRoots))
	defer setCurrent(nil)
	bg := t.Context()
	root := of(bg, 1, 1, true)
	if s := of(bg, 1, 2, false); s != nil {
		t.Error("a child labels the goroutine of its root")
	}
	elsewhere(func() {
		if s := of(bg, 1, 2, false); s != nil {
			t.Error("a child labels an inheritor")
		}
		setCurrent(nil)
		s := of(NewContext(bg, root), 1, 2, false)
		if id := s.SpanID(); id != root.SpanID() || s.own[0].Value != root.own[0].Value || s.own[1].Value != "span 1" || s.isSpan() || s.isLocalRoot() {
			t.Errorf("a child of a pool's worker labels for %v, %q, as itself: %v", id, s.own, s.isSpan())
		}
		if of(bg, 1, 3, false) != nil {
			t.Error("and its child labels too")
		}
		s.end(1, "child")
		wantLabels(t, "after the child", nil)
		if s.Name() != "span 1" {
			t.Errorf("it is called %q", s.Name())
		}
		unknown := of(bg, 1, 4, false)
		wantRoot(t, "whose root is not known", unknown, unknown, true)
	})
	other := of(bg, 2, 5, true)
	under := of(bg, 1, 6, false)
	wantRoot(t, "under another trace's", under, root, false)
	release := Hold(EverySpan)
	if of(bg, 1, 7, false) == nil {
		t.Error("a child labels nothing though every span is wanted")
	}
	release()
	under.end(1, "")
	other.end(1, "")
	root.end(1, "")
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
					defer of(bg, 2, 9, true).end(9, "")
				}
				s := of(bg, 1, 1, true)
				child := of(bg, 1, 2, false)
				child.end(1, "")
				s.end(2, c.end)
				s.end(3, "later")
				if s.Name() != c.want || child.Root().Name() != c.want || s.own[1].Value != "span 1" {
					t.Errorf("it is called %q, the child's root %q, the label %q; want %q", s.Name(), child.Root().Name(), s.own[1].Value, c.want)
				}
			}
		})
	}
}

// Traces of which each is begun in the one before, and goes on elsewhere, for ever.
func TestRootsKeepNothingAround(t *testing.T) {
	on(t)
	bg := t.Context()
	const total = 20_000
	var grown uint64
	before := heap()
	step := make(chan struct{})
	var run func(i int)
	run = func(i int) {
		child := of(bg, byte(i), 2, false)
		if i == total {
			grown = heap()
			child.end(1, "")
			close(step)
			return
		}
		root := of(bg, byte(i+1), 1, true)
		begun := make(chan struct{})
		go func() { // as a worker of a pool, that has the root from a context only
			setCurrent(nil)
			of(NewContext(bg, root), byte(i+1), 3, false)
			close(begun)
			run(i + 1)
		}()
		<-begun
		root.end(1, "")
		child.end(1, "")
	}
	go run(0)
	<-step
	if room := uint64(4 << 20); grown > before+room {
		t.Errorf("the heap grew from %d to %d bytes in %d steps", before, grown, total)
	}
}

func TestEncode(t *testing.T) {
	for range 1000 {
		var id [16]byte
		for i := range id {
			id[i] = byte(rand.IntN(256))
		}
		var got [32]byte
		encode(got[:], id[:])
		if want := hex.EncodeToString(id[:]); string(got[:]) != want {
			t.Fatalf("%x encodes as %s", id, got)
		}
		encode(got[:16], id[:8])
		if want := hex.EncodeToString(id[:8]); string(got[:16]) != want {
			t.Fatalf("%x encodes as %s", id[:8], got[:16])
		}
	}
}
