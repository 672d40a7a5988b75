package waiting_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

func TestAttributes(t *testing.T) {
	root, child := trace.SpanID{1}, trace.SpanID{2}
	r := &waits.Request{
		RootID: root, Name: "GET /", Duration: 100 * time.Millisecond,
		Goroutines: []waits.Goroutine{
			{ID: 1, Intervals: []waits.Interval{
				{Kind: waits.OnCPU, End: 25 * time.Millisecond, SpanID: root},
				{Kind: waits.ChannelSend, Start: 25 * time.Millisecond, End: 50 * time.Millisecond, SpanID: child},
				{Kind: waits.OnCPU, Start: 50 * time.Millisecond, End: 75 * time.Millisecond, SpanID: root},
				{Kind: waits.WaitGroup, Start: 75 * time.Millisecond, End: 100 * time.Millisecond, SpanID: root},
			}},
			{ID: 2, Intervals: []waits.Interval{{Kind: waits.ChannelSend, Start: 25 * time.Millisecond, End: 75 * time.Millisecond, SpanID: child}}},
		},
		Causes: []waits.Cause{{Kind: waits.GarbageCollection, Duration: 50 * time.Millisecond}},
	}
	for _, c := range []struct {
		name string
		span trace.SpanID
		want []string
	}{
		{"root", root, []string{"perfline.time.running=0.05", "perfline.time.wait_group=0.025",
			"perfline.cause.kind=garbage_collection", "perfline.cause.description=" + r.Sentence()}},
		{"two goroutines", child, []string{"perfline.time.channel_send=0.075"}},
		{"unknown", trace.SpanID{3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, kv := range waiting.Attributes(r, c.span) {
				got = append(got, fmt.Sprintf("%s=%v", kv.Key, kv.Value.AsInterface()))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	// A gap is no cause.
	r.Causes = nil
	for _, kv := range waiting.Attributes(r, root) {
		if kv.Key == "perfline.cause.description" && kv.Value.AsString() != "of 100 ms, the execution trace covers nothing" || kv.Key == "perfline.cause.kind" {
			t.Errorf("without a cause there is %v", kv)
		}
	}
}

// Each kind has a name of its own that OpenTelemetry's rules for names of attributes allow, and a
// class.
func TestKindsHaveNames(t *testing.T) {
	names, classes := map[attribute.Key]bool{}, map[waiting.Class]bool{}
	for kind := range waiting.Kinds {
		r := &waits.Request{Goroutines: []waits.Goroutine{{Intervals: []waits.Interval{{Kind: kind, End: 1}}}}, RootID: trace.SpanID{1}}
		all := waiting.Attributes(r, trace.SpanID{})
		if len(all) != 1 || names[all[0].Key] || !regexp.MustCompile(`^perfline\.time\.[a-z]+(_[a-z]+)*$`).MatchString(string(all[0].Key)) {
			t.Errorf("%v has %v", kind, all)
			continue
		}
		names[all[0].Key] = true
		class := waiting.ClassOf(kind)
		classes[class] = true
		if on := class == waiting.ClassWaiting || class == waiting.ClassRunnable; on && waiting.OnProcessor(kind) {
			t.Errorf("%v is of class %v, but on a processor", kind, class)
		}
	}
	if len(classes) != int(waiting.Classes) {
		t.Errorf("kinds have the classes %v, want all %d", classes, waiting.Classes)
	}
}

// Times are of one span and of all goroutines.
func TestTimes(t *testing.T) {
	const ms = time.Millisecond
	root, child := trace.SpanID{1}, trace.SpanID{2}
	r := &waits.Request{Goroutines: []waits.Goroutine{
		{Intervals: []waits.Interval{
			{Kind: waits.OnCPU, End: 2 * ms, SpanID: root},
			{Kind: waits.Mutex, Start: 2 * ms, End: 5 * ms, SpanID: child},
			{Kind: waits.OnCPU, Start: 5 * ms, End: 6 * ms, SpanID: root},
		}},
		{Intervals: []waits.Interval{{Kind: waits.OnCPU, Start: ms, End: 5 * ms, SpanID: root}}},
	}}
	if got := waiting.Times(r, root); got[waits.OnCPU] != 7*ms || got[waits.Mutex] != 0 {
		t.Errorf("times of the root are %v, want 7 ms running", got)
	}
	if got := waiting.Times(r, child); got[waits.OnCPU] != 0 || got[waits.Mutex] != 3*ms {
		t.Errorf("times of the child are %v, want 3 ms for a mutex", got)
	}
}
