package lookup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/profiling/states"
)

// snapshots returns requests with the ids 1, 2, 3 …, each with a text of a size.
func snapshots(n, size int) []requests.Snapshot {
	recent := requests.NewRecent(requests.Config{Requests: n})
	start := time.Unix(0, 0)
	for i := range n {
		id := byte(i + 1)
		recent.OnEnd(tracetest.SpanStub{
			Name: "GET /", SpanKind: trace.SpanKindServer, StartTime: start, EndTime: start.Add(time.Second),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: trace.SpanID{id}, TraceFlags: trace.FlagsSampled}),
			Attributes:  []attribute.KeyValue{attribute.String("text", strings.Repeat("x", size))},
		}.Snapshot())
	}
	newest, _ := recent.Snapshots()
	slices.Reverse(newest)
	return newest
}

// ids are the first bytes of the ids of what a cache has, the last request first.
func ids(c *lookup.Cache) string {
	var all []byte
	for _, s := range c.All() {
		all = append(all, '0'+s.SpanID[0])
	}
	return string(all)
}

func TestCache(t *testing.T) {
	s, large := snapshots(6, 10), snapshots(7, 10_000)[6]
	for _, c := range []struct {
		name            string
		most, mostBytes int
		add             func(*lookup.Cache)
		want            string
	}{
		{"the last one comes first", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[2]) }, "321"},
		{"one that is added again is the last one", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[0]) }, "12"},
		{"the oldest goes first", 2, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[2]) }, "32"},
		{"the first of new ones is the last one", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[5]); c.AddNew(s[:3]) }, "1236"},
		{"a known one keeps its place among new ones", 9, 1 << 20, func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.AddNew(s[:3]) }, "321"},
		{"bytes are bounded", 9, 2*s[0].Bytes() + 1, func(c *lookup.Cache) { c.AddNew(s) }, "12"},
		{"bytes of one that is added again count once", 9, 2 * s[0].Bytes(), func(c *lookup.Cache) { c.Add(s[0]); c.Add(s[1]); c.Add(s[1]) }, "21"},
		{"one with too many bytes takes no other's place", 9, 3 * s[0].Bytes(), func(c *lookup.Cache) { c.Add(s[0]); c.Add(large); c.Add(s[1]) }, "21"},
		{"one with too many bytes does not stay", 9, s[0].Bytes() - 1, func(c *lookup.Cache) { c.Add(s[0]) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := lookup.NewCache(c.most, c.mostBytes)
			c.add(cache)
			if got := ids(cache); got != c.want {
				t.Errorf("the cache has %q, want %q", got, c.want)
			}
			for i := range s {
				_, got := cache.Get(lookup.IDOf(s[i]))
				if want := strings.Contains(c.want, fmt.Sprint(i+1)); got != want {
					t.Errorf("it has request %d: %v, want %v", i+1, got, want)
				}
			}
		})
	}
}

func TestParseID(t *testing.T) {
	want := lookup.IDOf(snapshots(1, 0)[0])
	if got, err := lookup.ParseID(want.Trace.String(), want.Root.String()); err != nil || got != want {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
	for _, wrong := range [][2]string{{"", want.Root.String()}, {want.Trace.String(), "x"}} {
		if got, err := lookup.ParseID(wrong[0], wrong[1]); err == nil {
			t.Errorf("%q is the id %v, want an error", wrong, got)
		}
	}
}

// A recorder has the result of one request.
type recorder struct {
	states.Recorder
	result *states.Request
}

func (r recorder) Result(id trace.TraceID, root trace.SpanID) (*states.Request, bool) {
	return r.result, id == r.result.TraceID && root == r.result.RootID
}

func TestWithWaits(t *testing.T) {
	s := snapshots(2, 0)
	r := recorder{result: &states.Request{TraceID: s[0].TraceID, RootID: s[0].SpanID}}
	if got := lookup.WithWaits(s[0].Request(), r).States; got != r.result {
		t.Errorf("the request has the result %v, want %v", got, r.result)
	}
	if got := lookup.WithWaits(s[1].Request(), r).States; got != nil {
		t.Errorf("another request has the result %v, want none", got)
	}
	if got := lookup.WithWaits(s[0].Request(), nil).States; got != nil {
		t.Errorf("without a recorder, the request has the result %v, want none", got)
	}
}
