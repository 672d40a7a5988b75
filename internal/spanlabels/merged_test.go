//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// Whatever is merged with a span's labels, the span is found, and the rest of
// the labels is what a map would have.
func FuzzMerged(f *testing.F) {
	f.Add("app\x00shop\x00span_id\x00x", "zone\x00a\x00span_name\x00y", true)
	f.Add("", "trace_id\x00\x00span_idx\x00", false)
	f.Add("a\x00b\x00a\x00c", "a\x00d", true)
	f.Fuzz(func(t *testing.T, outside, inside string, mergedAgain bool) {
		pairs := func(text string) (kv []string, m map[string]string) {
			kv = strings.Split(text, "\x00")
			kv = kv[:len(kv)/2*2]
			m = map[string]string{}
			for i := 0; i < len(kv); i += 2 {
				m[kv[i]] = kv[i+1]
			}
			return kv, m
		}
		on(t)
		defer goruntime.SetLabels(nil)
		outer, want := pairs(outside)
		inner, more := pairs(inside)
		label(outer...)
		s := begin(1)
		defer s.End("")
		replaced := false
		for k, v := range more {
			want[k] = v
			replaced = replaced || k == "span_id" || k == "trace_id"
		}
		ctx := pprof.WithLabels(spanlabels.NewContext(t.Context(), s), pprof.Labels(inner...))
		if mergedAgain {
			ctx = pprof.WithLabels(ctx, pprof.Labels())
		}
		pprof.SetGoroutineLabels(ctx)
		tag := spanlabels.Tag()
		if list := labelsOf(tag); !slices.IsSortedFunc(list, func(a, b spanlabels.Label) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("not sorted: %q", list)
		}
		got, user := spanlabels.Resolve(tag, 0)
		if replaced != (got == nil) || got != nil && got != s {
			t.Errorf("resolves to %v; a label of the span's is replaced: %v", name(got), replaced)
		}
		if got == nil {
			return
		}
		for _, k := range []string{"span_id", "span_name", "trace_id"} {
			delete(want, k)
		}
		if len(user) != len(want) {
			t.Errorf("the program's labels are %q, want %q", user, want)
		}
		for _, l := range user {
			if v, ok := want[l.Key]; !ok || v != l.Value {
				t.Errorf("the program's labels are %q, want %q", user, want)
			}
		}
	})
}

// Label pointers are resolved while the garbage collector runs and spans come and go.
// (Run it with GOGC=1 too.)
func TestResolveUnderGarbageCollection(t *testing.T) {
	on(t)
	tags := make(chan unsafe.Pointer, 100)
	var wg sync.WaitGroup
	for w := range byte(3) {
		wg.Go(func() {
			for i := range byte(200) {
				before := label("worker", string('0'+w))
				a := spanlabels.Set(t.Context(), spanContext([16]byte{w, i}, [8]byte{w + 1, i}), "a", false)
				tags <- spanlabels.Tag()
				pprof.Do(spanlabels.NewContext(t.Context(), a), pprof.Labels("i", string(rune(i))), func(ctx context.Context) {
					b := spanlabels.Set(ctx, spanContext([16]byte{w, i}, [8]byte{w + 1, i, 1}), "b", false)
					tags <- spanlabels.Tag()
					elsewhere(func() { b.End("") })
					tags <- spanlabels.Tag()
				})
				a.End("")
				wantTag(t, "after all", before)
			}
			goruntime.SetLabels(nil)
		})
	}
	go func() { wg.Wait(); close(tags) }()
	n := 0
	for tag := range tags {
		if n++; n%100 == 0 {
			runtime.GC()
		}
		s, user := spanlabels.Resolve(tag, 0)
		if s == nil || s.SpanID()[0] != s.TraceID()[0]+1 || s.SpanID()[1] != s.TraceID()[1] || !slices.Contains(user, spanlabels.Label{"worker", string('0' + s.TraceID()[0])}) {
			t.Fatalf("a pointer resolves to %v with %v", name(s), user)
		}
	}
}
