package waits_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

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
			for _, kv := range r.Attributes(c.span) {
				got = append(got, fmt.Sprintf("%s=%v", kv.Key, kv.Value.AsInterface()))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	r.Causes = nil
	for _, kv := range r.Attributes(root) {
		if strings.HasPrefix(string(kv.Key), "perfline.cause") {
			t.Errorf("without a cause there is %v", kv)
		}
	}
}

// Each kind has a name of its own that OpenTelemetry's rules for names of attributes allow, and a class.
func TestKindsHaveNames(t *testing.T) {
	names, classes := map[attribute.Key]bool{}, map[waits.Class]bool{}
	for kind := range waits.Kinds {
		r := &waits.Request{Goroutines: []waits.Goroutine{{Intervals: []waits.Interval{{Kind: kind, End: 1}}}}, RootID: trace.SpanID{1}}
		all := r.Attributes(trace.SpanID{})
		if len(all) != 1 || names[all[0].Key] || !regexp.MustCompile(`^perfline\.time\.[a-z]+(_[a-z]+)*$`).MatchString(string(all[0].Key)) {
			t.Errorf("%v has %v", kind, all)
			continue
		}
		names[all[0].Key] = true
		classes[kind.Class()] = true
		if on := kind.Class() == waits.ClassWaiting || kind.Class() == waits.ClassRunnable; on && kind.OnProcessor() {
			t.Errorf("%v is of class %v, but on a processor", kind, kind.Class())
		}
	}
	if len(classes) != int(waits.Classes) {
		t.Errorf("kinds have the classes %v, want all %d", classes, waits.Classes)
	}
}

func TestFunction(t *testing.T) {
	for _, c := range []struct {
		name  string
		stack []string
		want  string
	}{
		{"nothing", nil, ""},
		{"of the program", []string{"sync.(*Mutex).Lock", "shop/store.(*Index).Search", "net/http.(*conn).serve"}, "shop/store.(*Index).Search"},
		{"main", []string{"time.Sleep", "main.main"}, "main.main"},
		{"of the standard library only", []string{"internal/poll.(*FD).Read", "net/http.(*conn).serve"}, "net/http.(*conn).serve"},
		{"golang.org/x counts as standard", []string{"golang.org/x/sync/errgroup.(*Group).Wait", "example.com/app.f"}, "example.com/app.f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &waits.Interval{}
			for _, f := range c.stack {
				i.Stack = append(i.Stack, waits.Frame{Function: f})
			}
			if got := i.Function(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
