//go:build !perfline_portable

package spanlabels_test

import (
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

func TestSpanLabelsTheGoroutine(t *testing.T) {
	on(t)
	s := begin(1)
	want := []spanlabels.Label{{"span_id", "0000000000000001"}, {"span_name", "span 1"}, {"trace_id", "ab000000000000000000000000000001"}}
	if got := labelsOf(spanlabels.Tag()); !slices.Equal(got, want) {
		t.Errorf("labels are %v, want %v", got, want)
	}
	wantSpan(t, "inside", s)
	s.End("")
	wantTag(t, "after", nil)
}

func TestNothingIsLabelledUnlessHeld(t *testing.T) {
	if s := begin(1); s != nil || spanlabels.Tag() != nil {
		t.Errorf("a span %v and labels %v", s, labelsOf(spanlabels.Tag()))
	}
	a, b := spanlabels.Hold(spanlabels.EverySpan), spanlabels.Hold(spanlabels.EverySpan)
	a()
	a()
	if !spanlabels.Enabled() {
		t.Error("off although one holds it")
	}
	b()
	if spanlabels.Enabled() {
		t.Error("on although nobody holds it")
	}
	var none *spanlabels.Span
	none.End("") // does nothing
	if ctx := spanlabels.NewContext(t.Context(), none); ctx != t.Context() {
		t.Error("no span made a context")
	}
}

// Spans end in any order. The open ones stay, innermost first.
func TestEndsInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 2, 1}, {0, 1, 2}} {
		for _, user := range []bool{false, true} {
			t.Run(fmt.Sprint(order, " user labels: ", user), func(t *testing.T) {
				on(t)
				var before unsafe.Pointer
				if user {
					before = label("app", "shop", "user", "7")
					defer goruntime.SetLabels(nil)
				}
				var spans []*spanlabels.Span
				tags := map[*spanlabels.Span]unsafe.Pointer{}
				for n := range byte(3) {
					s, tag := beginTag(n + 1)
					spans, tags[s] = append(spans, s), tag
				}
				live := slices.Clone(spans)
				for _, i := range order {
					spans[i].End("")
					live = slices.DeleteFunc(live, func(s *spanlabels.Span) bool { return s == spans[i] })
					if len(live) > 0 {
						wantSpan(t, fmt.Sprint("after ", i), live[len(live)-1])
						wantTag(t, fmt.Sprint("after ", i), tags[live[len(live)-1]])
					}
				}
				wantTag(t, "after all", before)
			})
		}
	}
}

func TestEndElsewhere(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer goruntime.SetLabels(nil)
	outer, outerTag := beginTag(1)
	inner, innerTag := beginTag(2)
	beforeEnd := goruntime.Nanotime() - 1
	elsewhere(func() {
		theirs := label("theirs", "x")
		inner.End("")
		wantTag(t, "on the goroutine that ends it", theirs)
	})
	afterEnd := goruntime.Nanotime()
	wantTag(t, "on the goroutine that began it", innerTag)
	wantSpan(t, "where its labels stay", outer)
	if got, _ := spanlabels.Resolve(spanlabels.Tag(), beforeEnd); got != inner {
		t.Errorf("before its end, %v", name(got))
	}
	if got, _ := spanlabels.Resolve(spanlabels.Tag(), afterEnd); got != outer {
		t.Errorf("after its end, %v", name(got))
	}
	next := begin(3)
	next.End("")
	wantTag(t, "after the next", outerTag)
	for goruntime.Nanotime() == afterEnd { // a clock of coarse ticks
		time.Sleep(time.Nanosecond)
	}
	inner.End("") // did already
	if got, _ := spanlabels.Resolve(innerTag, afterEnd); got != outer {
		t.Errorf("after a second End, between the two, %v", name(got))
	}
	outer.End("")
	wantTag(t, "after all", before)
}

// The end of a span restores the labels of before also under spans that others ended.
func TestEndUnderASpanEndedElsewhere(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer goruntime.SetLabels(nil)
	outer, inner := begin(1), begin(2)
	innermost, innermostTag := beginTag(3)
	elsewhere(func() {
		inner.End("")
		innermost.End("")
	})
	wantTag(t, "before the end", innermostTag)
	outer.End("")
	wantTag(t, "after it", before)
}

func TestUserLabelsAreMerged(t *testing.T) {
	on(t)
	for name, c := range map[string]struct{ user, list, rest []spanlabels.Label }{
		"around ours": {[]spanlabels.Label{{"app", "shop"}, {"span_idx", "1"}, {"zone", "b"}},
			[]spanlabels.Label{{"app", "shop"}, {"span_id", "id"}, {"span_idx", "1"}, {"span_name", "span 1"}, {"trace_id", "id"}, {"zone", "b"}},
			[]spanlabels.Label{{"app", "shop"}, {"span_idx", "1"}, {"zone", "b"}}},
		"a key of ours": {[]spanlabels.Label{{"a", "b"}, {"span_name", "mine"}, {"trace_id", "mine"}},
			[]spanlabels.Label{{"a", "b"}, {"span_id", "id"}, {"span_name", "span 1"}, {"trace_id", "id"}}, []spanlabels.Label{{"a", "b"}}},
		"keys of ours only": {[]spanlabels.Label{{"span_id", "mine"}, {"trace_id", "mine"}},
			[]spanlabels.Label{{"span_id", "id"}, {"span_name", "span 1"}, {"trace_id", "id"}}, nil},
		"no value, no key": {[]spanlabels.Label{{"", ""}}, []spanlabels.Label{{"", ""}, {"span_id", "id"}, {"span_name", "span 1"}, {"trace_id", "id"}}, []spanlabels.Label{{"", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			var kv []string
			for _, l := range c.user {
				kv = append(kv, l.Key, l.Value)
			}
			before := label(kv...)
			defer goruntime.SetLabels(nil)
			for range 2 { // nested, the second merges with the first
				s := begin(1)
				defer s.End("")
				got := labelsOf(spanlabels.Tag())
				for i, l := range got {
					if l.Key == "span_id" || l.Key == "trace_id" {
						got[i].Value = "id"
					}
				}
				if !slices.Equal(got, c.list) {
					t.Errorf("labels are %v, want %v", got, c.list)
				}
				if r, user := spanlabels.Resolve(spanlabels.Tag(), 0); r != s || !slices.Equal(user, c.rest) {
					t.Errorf("it is %v with %v, want the span with %v", name, user, c.rest)
				}
			}
			if list := labelsOf(before); !slices.Equal(list, c.user) {
				t.Errorf("the program's labels are %v now, were %v", list, c.user)
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
			s := spanlabels.Set(t.Context(), spanContext([16]byte{1}, [8]byte{1}), c.name, false)
			defer s.End("")
			if label := labelsOf(spanlabels.Tag())[1].Value; s.Name() != c.want || label != c.want {
				t.Errorf("it is called %q, labelled %q, want %q", s.Name(), label, c.want)
			}
		})
	}
}

// A long name is not retained for its beginning.
func TestNamesAreNotRetained(t *testing.T) {
	on(t)
	long := strings.Repeat("x", 10*maxName)
	s := spanlabels.Set(t.Context(), spanContext([16]byte{1}, [8]byte{1}), long, false)
	defer s.End("")
	if unsafe.StringData(s.Name()) == unsafe.StringData(long) {
		t.Error("the label is a part of the name")
	}
}

// Labels that the program sets inside a span without restoring them: they stay, as
// they would without us, and what they name has ended.
func TestLabelsLeftInside(t *testing.T) {
	on(t)
	defer goruntime.SetLabels(nil)
	s := begin(1)
	ctx := pprof.WithLabels(spanlabels.NewContext(t.Context(), s), pprof.Labels("route", "/"))
	pprof.SetGoroutineLabels(ctx)
	left := spanlabels.Tag()
	wantSpan(t, "inside", s)
	s.End("")
	wantTag(t, "after", left)
	wantSpan(t, "after", nil)
	if _, user := spanlabels.Resolve(spanlabels.Tag(), 2); !slices.Equal(user, []spanlabels.Label{{"route", "/"}}) {
		t.Errorf("the program's labels are %v", user)
	}
	next := begin(2)
	next.End("")
	wantTag(t, "after the next", left)
}
