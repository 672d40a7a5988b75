package requests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// keeper gives spans to a Recent as a provider with a policy does.
type keeper struct {
	*requests.Recent
	groups otlpenc.Groups
}

func (k *keeper) keep(reason local.KeepReason, refused uint32, spans ...sdktrace.ReadOnlySpan) {
	for _, s := range spans {
		encoded := encode(&k.groups, s)
		if !s.Parent().IsValid() {
			root := rootOf(encoded)
			root.Keep, root.Refused = reason, refused
		}
		k.Accept([]bridge.Spans{encoded})
	}
}

func keptNames(r *requests.Recent) string {
	var out []string
	for _, s := range r.KeptRequests() {
		out = append(out, s.Name+" "+s.Keep.String())
	}
	return strings.Join(out, ", ")
}

// Requests that are kept stay when newer requests have replaced them among the newest.
func TestKeptStay(t *testing.T) {
	k := &keeper{Recent: requests.NewRecent(requests.Config{Requests: 2, Slowest: -1, KeptRequests: 2, Examples: -1})}
	k.keep(local.KeptForTime, 0, span(1, 1, 0, "a", 0, ms))
	k.keep(local.KeptForFailure, 3, span(2, 2, 1, "child", 0, ms), span(2, 1, 0, "b", 0, ms))
	for i := range 10 {
		k.keep(local.NotKept, 0, span(10+i, 1, 0, "other", 0, ms))
	}
	if got, want := keptNames(k.Recent), "b failed, a slow"; got != want {
		t.Errorf("kept are %q, want %q", got, want)
	}
	b := k.KeptRequests()[0]
	if q := b.Request(); !slices.Equal(spanNames(q), []string{"b", "child"}) || q.Dropped != 3 {
		t.Errorf("b has %q and lacks %d spans, want b and child, and 3", spanNames(q), q.Dropped)
	}
	if found, ok := k.Snapshot(b.TraceID, b.SpanID); !ok || found.Name != "b" {
		t.Errorf("found %v, %t", found, ok)
	}
	k.keep(local.KeptForProgram, 0, span(30, 1, 0, "c", 0, ms))
	if got, want := keptNames(k.Recent), "c chosen, b failed"; got != want {
		t.Errorf("kept are %q, want %q", got, want)
	}
	if _, ok := k.Snapshot(span(1, 1, 0, "", 0, 0).SpanContext().TraceID(), span(1, 1, 0, "", 0, 0).SpanContext().SpanID()); ok {
		t.Error("a, which is in no list any more, is still there")
	}
	if s := k.Stats(); s.KeptRequests != 3 || s.Requests != 13 || s.KeptEvicted != 0 || s.Evicted != 0 {
		t.Errorf("%+v, want 3 kept of 13", s)
	}
}

// Root spans that are no requests, and requests when none are to be kept, are in no list of kept ones.
func TestKeptNot(t *testing.T) {
	k := &keeper{Recent: requests.NewRecent(requests.Config{Requests: 1, Slowest: -1, KeptRequests: -1, Examples: -1})}
	k.keep(local.KeptForTime, 0, span(1, 1, 0, "a", 0, ms), span(2, 1, 0, "b", 0, ms))
	if len(k.KeptRequests()) > 0 || k.Stats().KeptRequests != 2 {
		t.Errorf("kept are %q, %+v", keptNames(k.Recent), k.Stats())
	}
	if n := k.Stats().Bytes; n > 1<<10 {
		t.Errorf("%d bytes are in use for one request", n)
	}
}

// Requests that are kept take half of the memory at most, so that others stay, too. They stay when others need memory.
func TestKeptIsBoundedInBytes(t *testing.T) {
	k := &keeper{Recent: requests.NewRecent(requests.Config{Requests: 1000, Slowest: -1, KeptRequests: 1000, MaxBytes: 32 * (1<<10 + 256)})}
	for i := range 100 {
		k.keep(local.KeptForTime, 0, span(i, 1, 0, fmt.Sprint("kept ", i), 0, ms, ofText(850)))
	}
	if n := len(k.KeptRequests()); n < 14 || n > 16 || k.Stats().KeptEvicted != uint64(100-n) {
		t.Errorf("%d requests are kept, %+v", n, k.Stats())
	}
	before := keptNames(k.Recent)
	if !strings.HasPrefix(before, "kept 99 slow, kept 98 slow") {
		t.Errorf("kept are %q, want the newest", before)
	}
	for i := range 100 {
		k.keep(local.NotKept, 0, span(1000+i, 1, 0, "other", 0, ms, ofText(850)))
	}
	if got := keptNames(k.Recent); got != before {
		t.Errorf("kept are %q after other requests came, want %q", got, before)
	}
	if s := k.Stats(); s.Bytes > 32*(1<<10+256) {
		t.Errorf("%d bytes are in use", s.Bytes)
	}
}

// Requests with only an error inside have places and bytes of their own. They displace each other, and nothing else.
func TestErrorsInsideDisplaceNoOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 12).Draw(t, "places")
		c := requests.Config{Requests: -1, Slowest: -1, Background: -1, Examples: -1, KeptRequests: places}
		small := rapid.Bool().Draw(t, "small") // bytes limit the requests, too
		if small {
			c.MaxBytes = 64 * (1<<10 + 256)
		}
		all, without := &keeper{Recent: requests.NewRecent(c)}, &keeper{Recent: requests.NewRecent(c)}
		var others, inside []string // the newest first
		for i := range rapid.IntRange(1, 60).Draw(t, "requests") {
			reason := rapid.SampledFrom([]local.KeepReason{local.KeptForErrorInside, local.KeptForErrorInside, local.KeptForFailure, local.KeptForTime}).Draw(t, "reason")
			size := ofText(rapid.IntRange(0, 3000).Draw(t, "bytes"))
			one := span(i, 1, 0, fmt.Sprint(i), 0, ms, size)
			all.keep(reason, 0, one)
			if name := fmt.Sprint(i, " ", reason); reason == local.KeptForErrorInside {
				inside = append([]string{name}, inside...)
			} else {
				without.keep(reason, 0, one)
				others = append([]string{name}, others...)
			}
		}
		isInside := func(name string) bool { return strings.HasSuffix(name, "error_inside") }
		got := strings.Split(keptNames(all.Recent), ", ")
		gotOthers := slices.DeleteFunc(slices.Clone(got), isInside)
		gotInside := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return !isInside(name) || name == "" })
		if want := keptNames(without.Recent); strings.Join(gotOthers, ", ") != want {
			t.Fatalf("kept are %q, and without the errors inside %q", gotOthers, want)
		}
		others = others[:min(len(others), places)]
		inside = inside[:min(len(inside), max(1, places/4))]
		if small { // the newest are there
			others, inside = others[:min(len(others), len(gotOthers))], inside[:min(len(inside), len(gotInside))]
			if most := 64 * (1<<10 + 256); all.Stats().Bytes > uint64(most)*5/8 {
				t.Fatalf("%+v: kept requests use more than five eighths of %d bytes", all.Stats(), most)
			}
		}
		gotOthers = slices.DeleteFunc(gotOthers, func(name string) bool { return name == "" })
		if !slices.Equal(gotOthers, others) || !slices.Equal(gotInside, inside) {
			t.Fatalf("kept are %q and %q, want %q and %q", gotOthers, gotInside, others, inside)
		}
		if !slices.IsSortedFunc(got, func(a, b string) int {
			var i, j int
			_, _ = fmt.Sscan(a, &i)
			_, _ = fmt.Sscan(b, &j)
			return j - i
		}) {
			t.Fatalf("kept are %q, want the newest first", got)
		}
	})
}

// When there are only kept requests, the oldest of them goes: first of those with only an error inside.
func TestErrorsInsideMakeRoom(t *testing.T) {
	const slowest = 16
	k := &keeper{Recent: requests.NewRecent(requests.Config{Requests: -1, Slowest: slowest, Background: -1, Examples: -1, KeptRequests: 1000, MaxBytes: slowest * (1<<10 + 256)})}
	k.keep(local.KeptForTime, 0, span(1, 1, 0, "old", 0, ms, ofText(850)))
	k.keep(local.KeptForErrorInside, 0, span(2, 1, 0, "inside", 0, ms, ofText(850)))
	for i := range 2 * slowest { // half of them small, so that the slowest fill the memory when no kept request is among them
		size := 0
		if i >= slowest {
			size = 850
		}
		if k.keep(local.NotKept, 0, span(10+i, 1, 0, "slowest", 0, time.Duration(1+i)*time.Second, ofText(size))); k.Stats().KeptEvicted > 0 {
			break
		}
	}
	if got := keptNames(k.Recent); got != "old slow" || k.Stats().KeptEvicted == 0 {
		t.Errorf("kept are %q, %+v; want the error inside to go first", got, k.Stats())
	}
}

// When there are only kept requests, the oldest of them goes.
func TestKeptMakesRoom(t *testing.T) {
	k := &keeper{Recent: requests.NewRecent(requests.Config{Requests: -1, Slowest: -1, KeptRequests: 1000, MaxBytes: 16 * (1<<10 + 256)})}
	k.keep(local.KeptForTime, 0, span(1, 1, 0, "old", 0, ms, ofText(850)))
	for i := range 16 {
		k.OnEnd(span(10+i, 2, 1, "pending", 0, ms, ofText(850)))
	}
	if got := keptNames(k.Recent); got != "old slow" || k.Stats().Late == 0 {
		t.Errorf("kept are %q, %+v; want pending traces to go first", got, k.Stats())
	}
}

// A request stays among those that are kept if some of its spans, which come together, have no room.
func TestKeptWithTooManySpans(t *testing.T) {
	for _, c := range []struct {
		name   string
		config requests.Config
		spans  int
		text   int // bytes in each span but the root
	}{
		{"over MaxSpans", requests.Config{}, 600, 0},
		{"over few MaxSpans", requests.Config{MaxSpans: 3}, 5, 0},
		{"over the bytes of a trace", requests.Config{MaxBytes: 16 << 12}, 10, 850},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := requests.NewRecent(c.config)
			var groups otlpenc.Groups
			var all []bridge.Spans
			for i := range c.spans {
				all = append(all, encode(&groups, span(1, 2+i, 1, "measure", 0, ms, ofMeasure, ofText(c.text))))
			}
			root := encode(&groups, span(1, 1, 0, "root", 0, ms, ofMeasure))
			end := rootOf(root)
			end.Keep, end.Refused = local.KeptForProgram, 2
			r.Accept([]bridge.Spans{join(append(all, root)...)})
			if got, want := keptNames(r), "root chosen"; got != want {
				t.Fatalf("kept are %q, want %q", got, want)
			}
			s := r.Stats()
			if s.KeptRequests != 1 || s.Requests != 1 || s.SpansDropped == 0 {
				t.Errorf("%+v, want 1 kept request and dropped spans", s)
			}
			if q := r.KeptRequests()[0].Request(); q.Dropped != int(s.SpansDropped)+2 || len(q.Spans) != c.spans+1-int(s.SpansDropped) {
				t.Errorf("the request has %d spans and lacks %d: %+v", len(q.Spans), q.Dropped, s)
			}
		})
	}
}
