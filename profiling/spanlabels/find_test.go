//go:build !perfline_portable

package spanlabels

import (
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// cut makes the labels of s out of one string that has its ids where s has them,
// with whatever in between, in memory of a Span's size.
func cut(s *Span, between string) []Label {
	buf := make([]byte, unsafe.Sizeof(Span{}))
	copy(buf[spanAt:], s.own[0].Value+between+s.own[2].Value)
	whole := unsafe.String(&buf[spanAt], len(buf)-int(spanAt))
	return []Label{{"span_id", whole[:16]}, {"trace_id", whole[16+len(between):][:32]}}
}

// Labels of the same text that are not a span's are the program's own: whoever made
// them, and wherever in memory.
func TestLabelsOfOthers(t *testing.T) {
	on(t)
	s := begin(1)
	defer s.end(1, "")
	span, trace := s.list[0].Value, s.list[2].Value
	header := "00-" + trace + "-" + span + "-01" // as in traceparent
	for name, list := range map[string][]Label{
		"copies":           {{"span_id", strings.Clone(span)}, {"trace_id", strings.Clone(trace)}},
		"a copy of one":    {{"span_id", span}, {"trace_id", strings.Clone(trace)}},
		"a copy of other":  {{"span_id", strings.Clone(span)}, {"trace_id", trace}},
		"one only":         {{"span_id", span}},
		"the other only":   {{"trace_id", trace}},
		"a part":           {{"span_id", span[:15]}, {"trace_id", trace}},
		"swapped":          {{"span_id", trace}, {"trace_id", span}},
		"cut from one":     cut(s, "secret"),
		"cut from one, 0s": cut(s, "\x00\x00\x00\x00\x00\x00"),
		"adjacent":         cut(s, ""),
		"traceparent":      {{"span_id", header[36:52]}, {"trace_id", header[3:35]}},
		"constants":        {{"span_id", "0000000000000001"}, {"trace_id", "ab000000000000000000000000000001"}},
		"empty":            {{"span_id", ""}, {"trace_id", ""}},
		"none":             nil,
	} {
		if got, user := Resolve(unsafe.Pointer(&set{list}), 0); got != nil || !slices.Equal(user, list) {
			t.Errorf("%s: they resolve to a span, and %v; want none, and all of them", name, user)
		}
	}
	if find(&set{cut(s, string(secret()[:]))}) == nil {
		t.Error("cut never gets as far as to the secret: the cases above test less than they say")
	}
	if got, user := Resolve(nil, 0); got != nil || user != nil {
		t.Error("no labels resolve to something")
	}
}

// Strings that the heap puts side by side, all over it: none are taken for a span's,
// and with -race checkptr sees that nothing is read across objects.
func TestNeighboursAreNotTaken(t *testing.T) {
	var strs []string
	for range 20_000 {
		n := []int{16, 32, 16, 32, 54, 56}[rand.IntN(6)]
		strs = append(strs, strings.Repeat("a", n))
	}
	slices.SortFunc(strs, func(a, b string) int {
		return int(uintptr(unsafe.Pointer(unsafe.StringData(a)))) - int(uintptr(unsafe.Pointer(unsafe.StringData(b))))
	})
	for i := range strs[1:] {
		for from := range strs[i][:len(strs[i])-15] {
			if len(strs[i+1]) >= 32 && find(&set{[]Label{{"span_id", strs[i][from : from+16]}, {"trace_id", strs[i+1][:32]}}}) != nil {
				t.Fatal("taken for a span's")
			}
		}
	}
}

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
		defer setCurrent(nil)
		outer, want := pairs(outside)
		inner, more := pairs(inside)
		label(outer...)
		s := begin(1)
		defer s.end(1, "")
		replaced := false
		for k, v := range more {
			want[k] = v
			replaced = replaced || k == spanIDKey || k == traceIDKey
		}
		ctx := pprof.WithLabels(NewContext(t.Context(), s), pprof.Labels(inner...))
		if mergedAgain {
			ctx = pprof.WithLabels(ctx, pprof.Labels())
		}
		m := fromContext(ctx)
		if !slices.IsSortedFunc(m.list, func(a, b Label) int { return strings.Compare(a.Key, b.Key) }) {
			t.Errorf("not sorted: %q", m.list)
		}
		got, user := Resolve(unsafe.Pointer(m), 0)
		if replaced != (got == nil) || got != nil && got != s {
			t.Errorf("resolves to %v; a label of the span's is replaced: %v", name(got), replaced)
		}
		if got == nil {
			return
		}
		for k := range want {
			if isOurs(k) {
				delete(want, k)
			}
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
				a := Set(t.Context(), spanContext([16]byte{w, i}, [8]byte{w + 1, i}), "a", false)
				tags <- Tag()
				pprof.Do(NewContext(t.Context(), a), pprof.Labels("i", string(rune(i))), func(ctx context.Context) {
					b := Set(ctx, spanContext([16]byte{w, i}, [8]byte{w + 1, i, 1}), "b", false)
					tags <- Tag()
					elsewhere(func() { b.end(5, "") })
					tags <- Tag()
				})
				a.end(6, "")
				wantLabels(t, "after all", before)
			}
			setCurrent(nil)
		})
	}
	go func() { wg.Wait(); close(tags) }()
	n := 0
	for tag := range tags {
		if n++; n%100 == 0 {
			runtime.GC()
		}
		s, user := Resolve(tag, 0)
		if s == nil || s.own[0].Value != s.SpanID().String() || !slices.Contains(user, Label{"worker", string('0' + s.TraceID()[0])}) {
			t.Fatalf("a pointer resolves to %v with %v", name(s), user)
		}
	}
}
