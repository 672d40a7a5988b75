//go:build !perfline_portable

package spanlabels

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
)

// cut makes the labels of s out of one string that has its ids where s has them,
// with whatever in between, in memory of a Span's size.
func cut(s *Span, between string) []Label {
	buf := unsafe.Slice((*byte)(unsafe.Pointer(new(Span))), unsafe.Sizeof(Span{})) // aligned as a Span
	copy(buf[spanAt:], s.own[0].Value+between+s.own[2].Value)
	whole := unsafe.String(&buf[spanAt], len(buf)-int(spanAt))
	return []Label{{"span_id", whole[:16]}, {"trace_id", whole[16+len(between):][:32]}}
}

// Labels of the same text that are not a span's belong to the program, wherever they are in
// memory.
func TestLabelsOfOthers(t *testing.T) {
	defer Hold(EverySpan)()
	s := Set(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: [16]byte{1}, SpanID: [8]byte{1}}), "span", false)
	defer s.End("")
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
