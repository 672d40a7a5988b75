package observer_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

func TestEntryRoundTrip_PT12(t *testing.T) {
	tl := newManual()
	tl.now = 7 * time.Second
	e, err := tl.NewChild().NewEntry(observer.Resource, "GET /", 1500*time.Microsecond, -3*time.Nanosecond,
		slog.String("z", "first"), slog.Int64("max", math.MaxInt64), slog.Uint64("umax", math.MaxUint64), slog.Float64("f", 1.5),
		slog.Bool("b", true), slog.Group("g", slog.Int("n", 1), slog.Group("empty")), slog.Any("null", nil), slog.Any("l", []any{"x", 1.0}))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back observer.Entry
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Name() != e.Name() || back.Type() != e.Type() || back.StartTime() != e.StartTime() || back.Duration() != e.Duration() {
		t.Errorf("got %s %q at %v for %v, want %s %q at %v for %v", back.Type(), back.Name(), back.StartTime(), back.Duration(),
			e.Type(), e.Name(), e.StartTime(), e.Duration())
	}
	if got, want := back.Detail(), e.Detail(); len(got) != len(want) || !slices.EqualFunc(got[:6], want[:6], slog.Attr.Equal) {
		t.Errorf("detail is %v, want %v", got, want)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(text) {
		t.Errorf("written again: %s, %v\nwant           %s", again, err, text)
	}
	if back.Timeline() != nil || !back.Time().IsZero() {
		t.Errorf("it has a timeline (%v) and a wall-clock time (%v) that nobody told it", back.Timeline(), back.Time())
	}
}

// What was read from a file can be put on a timeline again.
func TestQueueADecodedEntry(t *testing.T) {
	tl := newManual()
	tl.now = 100
	child := tl.NewChild()
	var e observer.Entry
	if err := json.Unmarshal([]byte(`{"name":"m","entryType":"mark","startTime":0.000005,"duration":0,"detail":null}`), &e); err != nil {
		t.Fatal(err)
	}
	if !child.Queue(context.Background(), e) {
		t.Fatal("not taken")
	}
	if got := child.Entries(); len(got) != 1 || got[0].StartTime() != 5 || got[0].Timeline() != child {
		t.Errorf("got %v, want it at 5ns of the request", got)
	}
}

func TestEntryFromJSONErrors_PT12(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", `{`, "unexpected end"},
		{"no object", `7`, "cannot unmarshal"},
		{"no name", `{"entryType":"mark","startTime":0,"duration":0}`, ": name is missing"},
		{"no start", `{"name":"m","entryType":"mark","duration":0}`, ": startTime is missing"},
		{"no duration", `{"name":"m","entryType":"mark","startTime":0}`, ": duration is missing"},
		{"unknown type", `{"name":"m","entryType":"frame","startTime":0,"duration":0}`, `"frame"`},
		{"start beyond range", `{"name":"m","entryType":"mark","startTime":1e300,"duration":0}`, "292 years"},
		{"duration beyond range", `{"name":"m","entryType":"mark","startTime":0,"duration":-1e14}`, "292 years"},
		{"detail is text", `{"name":"m","entryType":"mark","startTime":0,"duration":0,"detail":"x"}`, "object or null"},
		{"detail is a list", `{"name":"m","entryType":"mark","startTime":0,"duration":0,"detail":[1]}`, "object or null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := entry(t, newManual().Timeline, "before")
			err := json.Unmarshal([]byte(c.text), &e)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
			if e.Name() != "before" {
				t.Errorf("the entry changed to %q", e.Name())
			}
		})
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

// Whatever is accepted is written in a form that gives the same entry again.
func FuzzEntryFromJSON(f *testing.F) {
	for _, seed := range []string{
		`{"name":"m","entryType":"mark","startTime":1.5,"duration":0,"detail":null}`,
		`{"name":"","entryType":"measure","startTime":-0.000001,"duration":-1e3,"detail":{"a":1,"a":-0,"b":{"":[{}],"c":{}},"d":1e400,"e":18446744073709551616}}`,
		"{\"name\":\"n\",\"entryType\":\"mark\",\"startTime\":0,\"duration\":0,\"detail\":{\"\":{\"\xe1\":[1,\"\xe1\"]},\"l\":[\"\xe1\"]}}",
		`{"name":"\ud800","entryType":"gc","startTime":0,"duration":0,"detail":{"x":"\u0000"}}`,
		`{"name":"n","entryType":"mark","startTime":0,"duration":0,"detail":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e observer.Entry
		if json.Unmarshal(data, &e) != nil {
			return
		}
		once, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		var back observer.Entry
		if err := json.Unmarshal(once, &back); err != nil {
			t.Fatalf("%s: its own writing is refused: %s: %v", data, once, err)
		}
		twice, err := json.Marshal(back)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%s:\nonce  %s\ntwice %s, %v", data, once, twice, err)
		}
	})
}
