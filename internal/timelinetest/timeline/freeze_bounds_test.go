package timeline_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/record"
)

// Bounds that Freeze documents.
const (
	maxDepth    = 16
	maxElements = 4096
	maxText     = 16 << 10
)

// nested is v within n slices.
func nested(n int, v any) any {
	for range n {
		v = []any{v}
	}
	return v
}

func TestTextIsBounded(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	zeros := strings.TrimSuffix(fmt.Sprint(make([]int, maxElements-1)), "]")
	for _, c := range []struct {
		name   string
		v      any
		prefix string // all of it, or what comes before the mark
		cut    bool
	}{
		{"as deep as may be", nested(maxDepth, 1), strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth), false},
		{"too deep", nested(1000, 1), strings.Repeat("[", maxDepth+1) + "…" + strings.Repeat("]", maxDepth+1), false},
		{"as many elements as may be", make([]int, maxElements-1), zeros + "]", false},
		{"too many elements", make([]int, 1e6), zeros + " ", true},
		{"a text as long as may be", stringer{strings.Repeat("x", maxText-2)}, "<" + strings.Repeat("x", maxText-2) + ">", false},
		{"a text that is too long", stringer{long}, "<ää", true},
		{"an error that is too long", errors.New(long), "ää", true},
		{"texts that are too long together", slices.Repeat([]stringer{{strings.Repeat("x", 1000)}}, 100), "[<xxx", true},
		{"a field that is too long", struct{ A, B string }{long, "b"}, "{A:ää", true},
		{"a TextMarshaler that is too long", marshaler{long}, "text of ää", true},
		{"a Formatter that writes without end", endless{func(s fmt.State) (int, error) { return s.Write([]byte("more ")) }}, "more more", true},
		{"a Formatter that writes strings without end", endless{func(s fmt.State) (int, error) { return io.WriteString(s, "more ") }}, "more more", true},
		{"bytes that are too long", []byte(long), "ää", true},
		{"a list that is too long", make([]float64, maxElements+1), "[0 0", true},
		{"bytes that are not text", []byte(strings.Repeat("\x80", 2*maxText)), "\x80", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := frozen(t, slog.Any("k", c.v), slog.String("next", "n"))
			text := got[0].Value.String()
			if got[0].Value.Kind() != slog.KindString || !strings.HasPrefix(text, c.prefix) || (!c.cut && text != c.prefix) {
				t.Errorf("got %v %.100q, want %.100q", got[0].Value.Kind(), text, c.prefix)
			}
			if len(text) > maxText+len("…") {
				t.Errorf("%d bytes, want %d and the mark", len(text), maxText)
			}
			if c.cut != strings.HasSuffix(text, "…") {
				t.Errorf("it ends in %q", text[max(0, len(text)-10):])
			}
			if c.name != "bytes that are not text" && !utf8.ValidString(text) {
				t.Error("it was cut within a character")
			}
			if got[1].Value.String() != "n" {
				t.Errorf("the next attribute is %v", got[1])
			}
		})
	}
}

// endless is a Formatter that writes until there is an error.
type endless struct{ write func(fmt.State) (int, error) }

func (e endless) Format(s fmt.State, _ rune) {
	for {
		if _, err := e.write(s); err != nil {
			return
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	for _, n := range []int{maxElements, maxElements + 1} {
		list := make([]int64, n)
		_, isList := frozen(t, slog.Any("k", list))[0].Value.Any().([]int64)
		if isList != (n == maxElements) {
			t.Errorf("%d elements: a list afterwards is %v", n, isList)
		}
	}
	long := make([]int64, maxElements/2)
	g := frozen(t, slog.Group("g", slog.Any("first", long), slog.Any("second", long)))[0].Value.Group()
	if _, isList := g[0].Value.Any().([]int64); !isList || len(g) != 2 || !strings.HasSuffix(g[1].Value.String(), "0 …") {
		t.Errorf("of two lists in a group the second is %.20v, want a text that is cut: one attribute has elements for one list", g[len(g)-1])
	}
}

// A map of which not all is shown shows some of it, in order.
func TestMapsAreBounded(t *testing.T) {
	m := map[int]string{}
	for i := range 100_000 {
		m[i] = ""
	}
	got := text(t, m)
	keys := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(got, "map["), "…"))
	if len(keys) < maxElements/2-1 || len(keys) > maxElements || !strings.HasSuffix(got, "…") {
		t.Errorf("%d keys, then %q", len(keys), got[len(got)-10:])
	}
}

func TestCyclesEnd(t *testing.T) {
	list := []any{1, nil}
	list[1] = list
	m := map[string]any{}
	m["self"] = m
	both := []any{map[string]any{}}
	both[0].(map[string]any)["list"] = both
	var i any
	i = &i
	p := &pointed{}
	p.next = p
	twice := []int{1}
	type tree struct{ children []tree }
	root := tree{make([]tree, 1)}
	root.children[0] = root
	group := make([]slog.Attr, 2)
	for n := range group {
		group[n] = slog.Attr{Key: "g", Value: slog.GroupValue(group...)}
	}
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"a slice":            {list, "[1 <cycle>]"},
		"a map":              {m, "map[self:<cycle>]"},
		"a slice in a map":   {both, "[map[list:<cycle>]]"},
		"an interface":       {i, ""},
		"a pointer":          {p, ""},
		"a tree":             {root, "{children:[{children:<cycle>}]}"},
		"no cycle":           {[]any{twice, twice}, "[[1] [1]]"},
		"pointer to a slice": {&list, "&[1 <cycle>]"},
	} {
		if got := text(t, c.v); c.want != "" && got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := text(t, &list[1]); !strings.HasPrefix(got, "0x") { // as fmt prints pointers to interfaces
		t.Errorf("a pointer to an interface: got %q", got)
	}
	t.Run("groups", func(t *testing.T) {
		if n := members(frozen(t, slog.Attr{Key: "g", Value: slog.GroupValue(group...)})); n > 2*maxElements {
			t.Errorf("%d members", n)
		}
	})
	t.Run("LogValuers", func(t *testing.T) {
		got := frozen(t, slog.Any("k", itself{}))[0].Value.String()
		if strings.Count(got, "again=") != maxDepth || !strings.Contains(got, "again=…]") {
			t.Errorf("got %s", got)
		}
		if got := frozen(t, slog.Any("k", chain{}))[0].Value.String(); !strings.Contains(got, "LogValue called too many times") {
			t.Errorf("a LogValuer of itself: got %q", got)
		}
	})
}

// members counts attributes, members of groups too.
func members(attrs []slog.Attr) int {
	n := len(attrs)
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindGroup {
			n += members(a.Value.Group())
		}
	}
	return n
}

type itself struct{}

func (itself) LogValue() slog.Value { return slog.GroupValue(slog.Any("again", itself{})) }

type chain struct{}

func (chain) LogValue() slog.Value { return slog.AnyValue(chain{}) }

// A group that is too large ends in a member that marks the cut.
func TestGroupsAreBounded(t *testing.T) {
	many := make([]slog.Attr, 2*maxElements)
	for i := range many {
		many[i] = slog.Int("n", i)
	}
	got := frozen(t, slog.Attr{Key: "g", Value: slog.GroupValue(many...)}, slog.Attr{Key: "next", Value: slog.GroupValue(many[:2]...)})
	g := got[0].Value.Group()
	if n := len(g); n != maxElements+1 || !g[n-1].Equal(slog.String("…", "…")) {
		t.Errorf("%d members, the last %v", n, g[n-1])
	}
	if next := got[1].Value.Group(); len(next) != 2 {
		t.Errorf("the next attribute is %v", got[1])
	}
	deep := slog.Group("g", slog.Int("n", 1))
	for range 2 * maxDepth {
		deep = slog.Attr{Key: "g", Value: slog.GroupValue(deep)}
	}
	if s := fmt.Sprint(frozen(t, deep)); strings.Count(s, "g=") != maxDepth+1 || !strings.Contains(s, "g=…]") {
		t.Errorf("got %s", s)
	}
}

// slow takes a second to say what it is.
type slow struct{ asked *int }

func (s slow) String() string {
	*s.asked++
	time.Sleep(time.Second)
	return "slow"
}

func (s slow) LogValue() slog.Value { return slog.StringValue(s.String()) }

type slowText struct{ slow }

func (slowText) LogValue() {} // hides the method of slow

// Methods that take their time make a call late; those that come after are not called.
func TestFreezingHasADeadline(t *testing.T) {
	asked := 0
	texts := slices.Repeat([]slowText{{slow{&asked}}}, 100)
	for _, c := range []struct {
		name  string
		attrs []slog.Attr
		want  string
	}{
		{"elements", []slog.Attr{slog.Any("k", texts)}, "[k=[slow …]"},
		{"members", []slog.Attr{slog.Any("g", lazyValue{slog.GroupValue(slog.Any("a", texts[0]), slog.Any("b", texts[1]))})}, "[g=[a=slow …=…]]"},
		{"attributes", []slog.Attr{slog.Any("a", slow{&asked}), slog.Any("b", slow{&asked}), slog.Int("c", 1), slog.Any("d", []bool{true})}, "[a=slow b=… c=1 d=…]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				asked = 0
				if got := fmt.Sprint(record.Freeze(c.attrs)); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				if asked != 1 {
					t.Errorf("%d methods were called, want 1", asked)
				}
			})
		})
	}
}
