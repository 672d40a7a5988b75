package timeline_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

type user struct{ ID int }

func (u user) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("id", u.ID), slog.Any("inner", lazy("resolved")))
}

type lazy string

func (l lazy) LogValue() slog.Value { return slog.StringValue(string(l)) }

type panics struct{}

func (panics) LogValue() slog.Value         { panic("LogValue") }
func (panics) MarshalJSON() ([]byte, error) { panic("MarshalJSON") }

type marshalPanics struct{}

func (marshalPanics) MarshalJSON() ([]byte, error) { panic("MarshalJSON") }

type pointerError struct{ text string }

func (e *pointerError) Error() string { return e.text } // panics on nil, as most do

// PT-12: one case for each kind of attribute.
func TestDetailJSON_PT12(t *testing.T) {
	for _, c := range []struct {
		name string
		attr slog.Attr
		want string // of the detail
	}{
		{"string", slog.String("k", "a\"<\n"), `{"k":"a\"\u003c\n"}`},
		{"string that is not UTF-8", slog.String("k", "a\xff"), `{"k":"a\ufffd"}`},
		{"int64", slog.Int64("k", math.MinInt64), `{"k":-9223372036854775808}`},
		{"uint64", slog.Uint64("k", math.MaxUint64), `{"k":18446744073709551615}`},
		{"float64", slog.Float64("k", 1e21), `{"k":1e+21}`},
		{"float64 infinite", slog.Float64("k", math.Inf(-1)), `{"k":"-Inf"}`},
		{"float64 not a number", slog.Float64("k", math.NaN()), `{"k":"NaN"}`},
		{"bool", slog.Bool("k", false), `{"k":false}`},
		{"duration, in milliseconds", slog.Duration("k", -1500*time.Microsecond), `{"k":-1.5}`},
		{"time", slog.Time("k", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)), `{"k":"2026-01-02T03:04:05.000000006Z"}`},
		{"time JSON cannot hold", slog.Time("k", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), `{"k":"10000-01-01 00:00:00 +0000 UTC"}`},
		{"group", slog.Group("k", slog.Int("a", 1), slog.Group("b", slog.Bool("c", true))), `{"k":{"a":1,"b":{"c":true}}}`},
		{"group without a name", slog.Group("", slog.Int("a", 1), slog.Group("", slog.Int("b", 2))), `{"a":1,"b":2}`},
		{"LogValuer", slog.Any("k", user{7}), `{"k":{"id":7,"inner":"resolved"}}`},
		{"LogValuer without a name", slog.Any("", user{7}), `{"id":7,"inner":"resolved"}`},
		{"any nil", slog.Any("k", nil), `{"k":null}`},
		{"strings", slog.Any("k", []string{"a", "\xff"}), `{"k":["a","\ufffd"]}`},
		{"bools", slog.Any("k", []bool{true}), `{"k":[true]}`},
		{"int64s", slog.Any("k", []int64{1, -2}), `{"k":[1,-2]}`},
		{"float64s", slog.Any("k", []float64{1, .5}), `{"k":[1,0.5]}`},
		{"float64s JSON cannot hold", slog.Any("k", []float64{1, math.NaN(), math.Inf(-1)}), `{"k":[1,"NaN","-Inf"]}`},
		{"bytes", slog.Any("k", []byte("ab")), `{"k":"YWI="}`},
		{"a nil list", slog.Any("k", []bool(nil)), `{"k":[]}`},
		{"any slice", slog.Any("k", []int{1, 2}), `{"k":"[1 2]"}`},
		{"any struct", slog.Any("k", struct{ A, b int }{1, 2}), `{"k":"{A:1 b:2}"}`},
		{"any map", slog.Any("k", map[string]any{"a": 1}), `{"k":"map[a:1]"}`},
		{"any nil pointer", slog.Any("k", (*user)(nil)), ``},
		{"any TextMarshaler", slog.Any("k", netip.MustParseAddr("::1")), `{"k":"::1"}`},
		{"any json.RawMessage", slog.Any("k", json.RawMessage(`{"a": [1]}`)), `{"k":"{\"a\": [1]}"}`},
		{"any malformed json.RawMessage", slog.Any("k", json.RawMessage(`{`)), `{"k":"{"}`},
		{"any error", slog.Any("k", errors.New("bad")), `{"k":"bad"}`},
		{"any complex", slog.Any("k", complex(1, 2)), `{"k":"(1+2i)"}`},
		{"any with a part that JSON cannot hold", slog.Any("k", map[string]any{"x": math.NaN()}), `{"k":"map[x:NaN]"}`},
		{"any func", slog.Any("k", func() {}), ``},
		{"any channel", slog.Any("k", make(chan int)), ``},
		{"LogValuer that panics", slog.Any("k", panics{}), ``},
		{"MarshalJSON that panics", slog.Any("k", marshalPanics{}), ``},
		{"nil error of a pointer type", slog.Any("k", (*pointerError)(nil)), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("PT-12: one odd attribute must not cost more than itself: panic %v", p)
				}
			}()
			tl := newManual()
			e := entry(t, tl.Timeline, "m", c.attr, slog.Bool("next", true))
			got, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var back struct {
				Name   string
				Detail map[string]any
			}
			if err := json.Unmarshal(got, &back); err != nil || back.Name != "m" || back.Detail["next"] != true {
				t.Errorf("PT-12: the other fields are not there: %s, %v", got, err)
			}
			if c.want == "" {
				return // how it looks is not promised
			}
			w := `{"name":"m","entryType":"mark","startTime":0,"duration":0,"detail":` + strings.TrimSuffix(c.want, "}") + `,"next":true}}`
			if sortKeys(t, string(got)) != sortKeys(t, w) {
				t.Errorf("PT-12:\n got %s\nwant %s", got, w)
			}
		})
	}
}

// sortKeys makes the order of a detail's keys irrelevant: it is not promised.
func sortKeys(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestJSONOfEntries(t *testing.T) {
	tl := newManual()
	rec(tl.Timeline).Record(record.Measure, "backwards", 30*time.Microsecond, -20*time.Microsecond, nil)
	rec(tl.Timeline).Record(record.Mark, "before the origin", -time.Nanosecond, 0, nil)
	got, err := json.Marshal(tl.Entries())
	w := `[{"name":"before the origin","entryType":"mark","startTime":-0.000001,"duration":0,"detail":null},` +
		`{"name":"backwards","entryType":"measure","startTime":0.03,"duration":-0.02,"detail":null}]`
	if err != nil || sortKeys(t, string(got)) != sortKeys(t, w) {
		t.Errorf("PT-12:\n got %s, %v\nwant %s", got, err, w)
	}
	got, err = json.Marshal(observer.Entry{})
	if w := `{"name":"","entryType":"","startTime":0,"duration":0,"detail":null}`; err != nil || string(got) != w {
		t.Errorf("the zero Entry: got %s, %v, want %s", got, err, w)
	}
}

func TestTimelineJSON(t *testing.T) {
	tl := newManual()
	got, err := json.Marshal(tl.Timeline)
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ TimeOrigin float64 }
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if d := back.TimeOrigin - float64(tl.Origin().UnixMicro())/1000; math.Abs(d) > 0.01 {
		t.Errorf("timeOrigin of %s is %v ms away from %v", got, d, tl.Origin())
	}
}

func FuzzEntryJSON(f *testing.F) {
	f.Add("m", "key", "value", 0.0, int64(0))
	f.Add("\xff", "", "<\u2028\x00", math.NaN(), int64(math.MinInt64))
	f.Add("n", "next", "name", math.Inf(1), int64(math.MaxInt64))
	tl := newManual()
	f.Fuzz(func(t *testing.T, name, key, text string, number float64, ns int64) {
		e, err := rec(tl.Timeline).NewEntry(record.Measure, name, time.Duration(ns), time.Duration(ns),
			slog.String(key, text), slog.Group("g", slog.Float64(key, number), slog.Duration("d", time.Duration(ns))))
		if err != nil {
			if time.Duration(ns).Abs() < record.MaxTime/2 {
				t.Fatal(err)
			}
			return
		}
		got, err := json.Marshal(observer.Entry(e))
		if err != nil || !json.Valid(got) || string(got) == "{}" {
			t.Errorf("got %s, %v", got, err)
		}
	})
}
