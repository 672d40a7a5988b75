package timeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// frozen returns attrs as an entry has them, whichever way it came about. The ways
// must agree, however slow the machine is: no time passes in a bubble.
func frozen(t *testing.T, attrs ...slog.Attr) (recorded []slog.Attr) {
	t.Helper()
	still(t, func() { recorded = everyWay(t, attrs) })
	return recorded
}

func everyWay(t *testing.T, attrs []slog.Attr) []slog.Attr {
	tl := newManual()
	var stored keptAttrs
	place := record.Place{Timeline: rec(tl.Timeline), To: record.ToSpan, Tracer: &stored}
	place.Record(record.Mark, "m", 0, 0, attrs)
	recorded := tl.Entries()[0].Detail()
	made := entry(t, tl.Timeline, "m", attrs...)
	place.Queue(record.Entry(made))
	place.Record(record.Measure, "m", 0, 0, attrs)
	place.End(nil, "m", 0, 0, attrs, &record.Failure{})
	var handedOver []slog.Attr
	tracing := spantest.New(rec(tl.Timeline))
	tracing.Before = func(f *record.Finished) {
		handedOver = slices.Clone(f.At(0).Attrs)
	}
	root := tracing.NewRoot("root")
	unit := root.At()
	unit.Record(record.Measure, "m", 0, 0, attrs)
	viewed := view(&root.Unit().Timeline).Entries()[0].Detail()
	root.End()
	tracing.HandOverEnded()
	for way, got := range map[string][]slog.Attr{
		"a tracer's mark":           stored.all[0],
		"a tracer's queued mark":    stored.all[1],
		"a tracer's measure":        stored.all[2],
		"a tracer's failed measure": stored.all[3],
		"a receiver":                handedOver,
		"a unit":                    viewed,
		"NewEntry":                  made.Detail(),
		"Queue":                     tl.Entries()[1].Detail(),
		"Freeze":                    record.Freeze(attrs),
		"Freeze once again":         record.Freeze(record.Freeze(attrs)),
	} {
		if fmt.Sprintf("%#v", values(got)) != fmt.Sprintf("%#v", values(recorded)) {
			t.Errorf("%s has %v, Record %v", way, got, recorded)
		}
	}
	return recorded
}

// values are attributes in a form that shows kinds.
func values(attrs []slog.Attr) (all []any) {
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindGroup {
			all = append(all, a.Key, values(a.Value.Group()))
		} else {
			all = append(all, a.Key, a.Value.Any())
		}
	}
	return all
}

// keptAttrs is a tracer that keeps attributes.
type keptAttrs struct {
	record.Tracer // nil: it is not asked for more

	all [][]slog.Attr
}

func (k *keptAttrs) Mark(_ any, _ string, _ time.Time, attrs []slog.Attr) {
	k.all = append(k.all, slices.Clone(attrs))
}
func (k *keptAttrs) Measure(_ any, m record.Measured) { k.all = append(k.all, slices.Clone(m.Attrs)) }

type tags []string

type both1 struct{ error }

func (both1) String() string { return "not this" }

func TestFrozenKinds(t *testing.T) {
	at := time.Unix(1, 2)
	number := 7
	for _, c := range []struct {
		name string
		attr slog.Attr
		want any // what the frozen value holds
	}{
		{"bool", slog.Bool("k", true), true},
		{"int64", slog.Int("k", -7), int64(-7)},
		{"uint64", slog.Uint64("k", 7), uint64(7)},
		{"float64", slog.Float64("k", 1.5), 1.5},
		{"string", slog.String("k", "v"), "v"},
		{"Duration", slog.Duration("k", time.Second), time.Second},
		{"Time", slog.Time("k", at), at},
		{"strings", slog.Any("k", []string{"a"}), []string{"a"}},
		{"bools", slog.Any("k", []bool{true}), []bool{true}},
		{"int64s", slog.Any("k", []int64{1}), []int64{1}},
		{"float64s", slog.Any("k", []float64{1.5}), []float64{1.5}},
		{"bytes", slog.Any("k", []byte("ab")), []byte("ab")},
		{"a nil list", slog.Any("k", []string(nil)), []string{}},
		{"ints are another list", slog.Any("k", []int{1, 2}), "[1 2]"},
		{"a list with a name", slog.Any("k", tags{"a", "b"}), "[a b]"},
		{"bytes with a name", slog.Any("k", json.RawMessage(`{"a": 1}`)), `{"a": 1}`},
		{"error", slog.Any("k", errors.New("bad")), "bad"},
		{"Stringer", slog.Any("k", reflect.TypeFor[int]()), "int"},
		{"an error comes before a Stringer", slog.Any("k", both1{errors.New("this")}), "this"},
		{"TextMarshaler", slog.Any("k", slog.LevelWarn), "WARN"},
		{"map", slog.Any("k", map[string]int{"b": 2, "a": 1}), "map[a:1 b:2]"},
		{"struct", slog.Any("k", struct {
			A int
			b string
		}{1, "x"}), "{A:1 b:x}"},
		{"pointer to a struct", slog.Any("k", &struct{ A any }{&struct{}{}}), nil},
		{"nil", slog.Any("k", nil), null{}},
		{"nil pointer", slog.Any("k", (*int)(nil)), "<nil>"},
		{"pointer", slog.Any("k", &number), fmt.Sprint(&number)},
		{"LogValuer of a scalar", slog.Any("k", lazy("resolved")), "resolved"},
		{"LogValuer of a list", slog.Any("k", lazyValue{slog.AnyValue([]bool{true})}), []bool{true}},
		{"LogValuer of an error", slog.Any("k", lazyValue{slog.AnyValue(errors.New("bad"))}), "bad"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := frozen(t, c.attr)
			if len(got) != 1 || got[0].Key != "k" {
				t.Fatalf("got %v, want one attribute k", got)
			}
			if (got[0].Value.Any() == nil) != (c.want == null{}) {
				t.Errorf("got %v, want nil: %t", got[0].Value, c.want == null{})
			} else if v := got[0].Value.Any(); v != nil && c.want != nil && !reflect.DeepEqual(v, c.want) {
				t.Errorf("got %T %v, want %T %v", v, v, c.want, c.want)
			}
		})
	}
}

type lazyValue struct{ v slog.Value }

func (l lazyValue) LogValue() slog.Value { return l.v }

func TestFrozenGroups(t *testing.T) {
	got := frozen(t,
		slog.Attr{}, slog.Group("empty"), slog.Group("of empty ones", slog.Group("e"), slog.Attr{}),
		slog.Any("valuer", user{7}),
		slog.Group("g", slog.Any("err", errors.New("bad")), slog.Group("", slog.Int("n", 1)), slog.Any("list", []int64{1})),
		slog.Int("last", 1))
	want := []slog.Attr{
		slog.Group("valuer", slog.Int("id", 7), slog.String("inner", "resolved")),
		slog.Group("g", slog.String("err", "bad"), slog.Group("", slog.Int("n", 1)), slog.Any("list", []int64{1})),
		slog.Int("last", 1),
	}
	if !reflect.DeepEqual(values(got), values(want)) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Values that attributes refer to may change as soon as the call that took them returns.
func TestFrozenValuesDoNotChange_UT6(t *testing.T) {
	header := http.Header{"A": {"1"}}
	list, names, data := []float64{1}, []string{"a"}, []byte("a")
	members := []slog.Attr{slog.Int("n", 1), slog.Any("list", list)}
	pointed := &struct{ n int }{1}
	attrs := []slog.Attr{
		slog.Any("header", header), slog.Any("list", list), slog.Any("names", names), slog.Any("data", data),
		{Key: "group", Value: slog.GroupValue(members...)}, slog.Any("pointed", pointed), slog.Any("any", []any{names, pointed}),
	}
	tl := newManual()
	shown := func(attrs []slog.Attr) string { // as text, which cannot change with what it was made of
		return fmt.Sprintf("%#v", values(attrs)[:12]) // pointers in lists are addresses
	}
	before := shown(record.Freeze(slices.Clone(attrs)))
	rec(tl.Timeline).Record(record.Mark, "m", 0, 0, attrs)
	rec(tl.Timeline).Record(record.Mark, "one of many attributes", 0, 0, append(slices.Clip(attrs), slices.Repeat([]slog.Attr{slog.Int("n", 1)}, 100)...))
	e := entry(t, tl.Timeline, "made", attrs...)
	header.Set("A", "2")
	list[0], names[0], data[0], members[0], pointed.n = 2, "b", 'b', slog.Int("n", 2), 2
	for _, e := range append(tl.Entries(), e) {
		if got := shown(e.Detail()); got != before {
			t.Errorf("%s: got %s, want %s", e.Name(), got, before)
		}
	}
}

func TestScalarsAreNotCopied(t *testing.T) {
	attrs := []slog.Attr{slog.Int("n", 1), slog.String("s", "x"), slog.Time("t", time.Unix(1, 0)), slog.Duration("d", 1)}
	if got := record.Freeze(attrs); &got[0] != &attrs[0] {
		t.Error("Freeze copied scalars")
	}
}

// An entry whose own value asks for the entry's JSON.
type selfMarshaling struct{ e *observer.Entry }

func (s selfMarshaling) LogValue() slog.Value { return slog.AnyValue(selfString(s)) }

type selfString struct{ e *observer.Entry }

func (s selfString) String() string {
	text, err := json.Marshal(s.e)
	return fmt.Sprint(string(text), err)
}

func (s selfString) MarshalJSON() ([]byte, error) { return json.Marshal(s.e) }

func TestEntryJSONEnds_PT12(t *testing.T) {
	tl := newManual()
	e := new(observer.Entry)
	itself := []any{nil}
	itself[0] = itself
	*e = entry(t, tl.Timeline, "m", slog.Any("self", selfMarshaling{e}), slog.Any("json", selfString{e}), slog.Any("cycle", itself))
	for range 2 { // once more with itself in it
		text, err := json.Marshal(e)
		if err != nil || !json.Valid(text) {
			t.Errorf("got %s, %v", text, err)
		}
		*e = entry(t, tl.Timeline, "m", slog.Any("self", selfMarshaling{e}), slog.Any("json", selfString{e}))
	}
}

// null stands for a nil that stays nil.
type null struct{}
