//go:build !perfline_portable

package spanlabels

import (
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestSpanLabelsTheGoroutine(t *testing.T) {
	on(t)
	s := begin(1)
	want := []Label{{"span_id", "0000000000000001"}, {"span_name", "span 1"}, {"trace_id", "ab000000000000000000000000000001"}}
	if got := current().list; !slices.Equal(got, want) {
		t.Errorf("labels are %v, want %v", got, want)
	}
	wantSpan(t, "inside", s)
	s.end(1, "")
	wantLabels(t, "after", nil)
}

func TestNothingIsLabelledUnlessHeld(t *testing.T) {
	if s := begin(1); s != nil || current() != nil {
		t.Errorf("a span %v and labels %v", s, current())
	}
	a, b := Hold(EverySpan), Hold(EverySpan)
	a()
	a()
	if !Enabled() {
		t.Error("off although one holds it")
	}
	b()
	if Enabled() {
		t.Error("on although nobody holds it")
	}
	var none *Span
	none.end(1, "") // does nothing
	if ctx := NewContext(t.Context(), none); ctx != t.Context() {
		t.Error("no span made a context")
	}
}

// What ends in whatever order: what is not ended stays, innermost first.
func TestEndsInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 2, 1}, {0, 1, 2}} {
		for _, user := range []bool{false, true} {
			t.Run(fmt.Sprint(order, " user labels: ", user), func(t *testing.T) {
				on(t)
				var before *set
				if user {
					before = label("app", "shop", "user", "7")
					defer setCurrent(nil)
				}
				spans := []*Span{begin(1), begin(2), begin(3)}
				live := slices.Clone(spans)
				for _, i := range order {
					spans[i].end(1, "")
					live = slices.DeleteFunc(live, func(s *Span) bool { return s == spans[i] })
					if len(live) > 0 {
						wantSpan(t, fmt.Sprint("after ", i), live[len(live)-1])
						wantLabels(t, fmt.Sprint("after ", i), &live[len(live)-1].set)
					}
				}
				wantLabels(t, "after all", before)
			})
		}
	}
}

func TestEndElsewhere(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer setCurrent(nil)
	outer, inner := begin(1), begin(2)
	elsewhere(func() {
		theirs := label("theirs", "x")
		inner.end(10, "")
		wantLabels(t, "on the goroutine that ends it", theirs)
	})
	wantLabels(t, "on the goroutine that began it", &inner.set)
	wantSpan(t, "where its labels stay", outer)
	if got, _ := Resolve(unsafe.Pointer(current()), 9); got != inner {
		t.Errorf("before its end, %v", name(got))
	}
	if got, _ := Resolve(unsafe.Pointer(current()), 10); got != outer {
		t.Errorf("at its end, %v", name(got))
	}
	next := begin(3)
	next.end(11, "")
	wantLabels(t, "after the next", &outer.set)
	inner.end(12, "") // did already
	if got, _ := Resolve(unsafe.Pointer(&inner.set), 11); got != outer {
		t.Errorf("after a second End, between the two, %v", name(got))
	}
	outer.end(12, "")
	wantLabels(t, "after all", before)
}

// The goroutine that a span was handed to ends it, as with `go func() { defer
// span.End() … }()`: the one that began it goes on under what is around.
func TestEndOnAnInheritor(t *testing.T) {
	on(t)
	outer, inner := begin(1), begin(2)
	elsewhere(func() {
		wantSpan(t, "the inheritor", inner)
		inner.end(1, "")
		wantLabels(t, "the inheritor after its end", &inner.set)
	})
	wantSpan(t, "the goroutine that began it", outer)
	next := begin(3)
	next.end(2, "")
	outer.end(3, "")
	wantLabels(t, "after all", nil)
}

// The end of a span restores the labels of before also under spans that others ended.
func TestEndUnderASpanEndedElsewhere(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer setCurrent(nil)
	outer, inner, innermost := begin(1), begin(2), begin(3)
	elsewhere(func() {
		inner.end(1, "")
		innermost.end(2, "")
	})
	wantLabels(t, "before the end", &innermost.set)
	outer.end(3, "")
	wantLabels(t, "after it", before)
}

// A goroutine that outlives the spans it was started under belongs to none.
func TestInheritorOutlives(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer setCurrent(nil)
	outer, s := begin(1), begin(2)
	ended, seen := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		for _, want := range []*Span{s, nil, nil} {
			<-ended
			wantSpan(t, "the inheritor", want)
			if _, user := Resolve(Tag(), 1<<60); !slices.Equal(user, before.list) {
				t.Errorf("the program's labels are %v, want %v", user, before.list)
			}
			own := begin(5)
			wantSpan(t, "its own span", own)
			own.end(5, "")
			wantSpan(t, "the inheritor again", want)
			seen <- struct{}{}
		}
		wantLabels(t, "after all have ended", before)
	}()
	ended <- struct{}{}
	<-seen
	s.end(1, "")
	ended <- struct{}{}
	<-seen
	outer.end(1, "")
	ended <- struct{}{}
	<-seen
	<-seen
}

func TestUserLabelsAreMerged(t *testing.T) {
	on(t)
	for name, c := range map[string]struct{ user, list, rest []Label }{
		"around ours": {[]Label{{"app", "shop"}, {"span_idx", "1"}, {"zone", "b"}},
			[]Label{{"app", "shop"}, {"span_id", "id"}, {"span_idx", "1"}, {"span_name", "span 1"}, {"trace_id", "id"}, {"zone", "b"}},
			[]Label{{"app", "shop"}, {"span_idx", "1"}, {"zone", "b"}}},
		"a key of ours": {[]Label{{"a", "b"}, {"span_name", "mine"}, {"trace_id", "mine"}},
			[]Label{{"a", "b"}, {"span_id", "id"}, {"span_name", "span 1"}, {"trace_id", "id"}}, []Label{{"a", "b"}}},
		"keys of ours only": {[]Label{{"span_id", "mine"}, {"trace_id", "mine"}},
			[]Label{{"span_id", "id"}, {"span_name", "span 1"}, {"trace_id", "id"}}, nil},
		"no value, no key": {[]Label{{"", ""}}, []Label{{"", ""}, {"span_id", "id"}, {"span_name", "span 1"}, {"trace_id", "id"}}, []Label{{"", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			var kv []string
			for _, l := range c.user {
				kv = append(kv, l.Key, l.Value)
			}
			before := label(kv...)
			defer setCurrent(nil)
			for range 2 { // nested, the second merges with the first
				s := begin(1)
				defer func() {
					s.end(1, "")
				}()
				got := slices.Clone(s.list)
				for i, l := range got {
					if l.Key == spanIDKey || l.Key == traceIDKey {
						got[i].Value = "id"
					}
				}
				if !slices.Equal(got, c.list) {
					t.Errorf("labels are %v, want %v", got, c.list)
				}
				if r, user := Resolve(Tag(), 0); r != s || !slices.Equal(user, c.rest) {
					t.Errorf("it is %v with %v, want the span with %v", name, user, c.rest)
				}
			}
			if !slices.Equal(before.list, c.user) {
				t.Errorf("the program's labels are %v now, were %v", before.list, c.user)
			}
		})
	}
}

func TestNames(t *testing.T) {
	on(t)
	long := string(slices.Repeat([]byte("x"), maxName-1))
	for what, c := range map[string]struct{ name, want string }{
		"empty":                   {"", ""},
		"as long as allowed":      {long + "y", long + "y"},
		"longer":                  {long + "yz", long + "y"},
		"cut within a character":  {long + "é", long},
		"not UTF-8":               {"a\xffb", "a\uFFFDb"},
		"not UTF-8 after the cut": {long + "y\xff", long + "y"},
		"not UTF-8, longer once it is": {string(slices.Repeat([]byte("\xff,"), maxName/2)),
			string(slices.Repeat([]rune("\uFFFD,"), maxName/4))},
		"only continuation bytes": {string(slices.Repeat([]byte("\x80"), 2*maxName)), "\uFFFD"},
	} {
		t.Run(what, func(t *testing.T) {
			s := Set(t.Context(), spanContext([16]byte{1}, [8]byte{1}), c.name, false)
			defer s.end(1, "")
			if s.Name() != c.want || s.list[1].Value != c.want {
				t.Errorf("it is called %q, labelled %q, want %q", s.Name(), s.list[1].Value, c.want)
			}
		})
	}
}

// A long name is not retained for its beginning.
func TestNamesAreNotRetained(t *testing.T) {
	long := strings.Repeat("x", 10*maxName)
	if got := labelName(long); unsafe.StringData(got) == unsafe.StringData(long) {
		t.Error("the label is a part of the name")
	}
}

// Labels that the program sets inside a span without restoring them: they stay, as
// they would without us, and what they name has ended.
func TestLabelsLeftInside(t *testing.T) {
	on(t)
	defer setCurrent(nil)
	s := begin(1)
	ctx := pprof.WithLabels(NewContext(t.Context(), s), pprof.Labels("route", "/"))
	pprof.SetGoroutineLabels(ctx)
	left := current()
	wantSpan(t, "inside", s)
	s.end(1, "")
	wantLabels(t, "after", left)
	wantSpan(t, "after", nil)
	if _, user := Resolve(Tag(), 2); !slices.Equal(user, []Label{{"route", "/"}}) {
		t.Errorf("the program's labels are %v", user)
	}
	next := begin(2)
	next.end(2, "")
	wantLabels(t, "after the next", left)
}
