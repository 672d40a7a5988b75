package states_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/states"
)

const ms = time.Millisecond

var (
	root, child = trace.SpanID{1}, trace.SpanID{2}

	own     = &states.Party{Request: "GET /", RootID: root, Function: "main.work"}
	search  = &states.Party{Request: "GET /search", Function: "example.com/shop/index.(*Index).rebuild"}
	unknown = &states.Party{}
	worker  = &states.Party{Function: "main.work"}
	library = &states.Party{Request: "GET /search"}
)

func TestSentence(t *testing.T) {
	const in = "example.com/v1.2/store.(*Store).flush"
	for _, c := range []struct {
		causes []states.Cause
		want   string
	}{
		{nil, ""},
		{[]states.Cause{{Kind: states.Mutex, By: search}}, "waited for a mutex that GET /search held in (*Index).rebuild"},
		{[]states.Cause{{Kind: states.Mutex, By: worker}}, "waited for a mutex that a goroutine held in main.work"},
		{[]states.Cause{{Kind: states.Mutex, By: library}}, "waited for a mutex that GET /search held"},
		{[]states.Cause{{Kind: states.Mutex, By: own}}, "waited for a mutex that another goroutine of this request held in main.work"},
		{[]states.Cause{{Kind: states.Mutex, By: unknown}}, "waited for a mutex"},
		{[]states.Cause{{Kind: states.Mutex, Function: in}}, "waited for a mutex in (*Store).flush"},
		{[]states.Cause{{Kind: states.Pool, By: search}}, "waited for a database connection that GET /search held in (*Index).rebuild"},
		{[]states.Cause{{Kind: states.Pool, Function: in}}, "waited for a database connection in (*Store).flush"},
		{[]states.Cause{{Kind: states.Network, Function: in, SpanID: child, Span: "GET payment.local"}}, "waited for the network in GET payment.local, called by (*Store).flush"},
		{[]states.Cause{{Kind: states.Network, SpanID: child, Span: "GET payment.local"}}, "waited for the network in GET payment.local"},
		{[]states.Cause{{Kind: states.Network, Function: in, SpanID: root, Span: "GET /"}}, "waited for the network in (*Store).flush"},
		{[]states.Cause{{Kind: states.Network}}, "waited for the network"},
		{[]states.Cause{{Kind: states.Timer, Function: "main.poll"}}, "waited for a timer in main.poll"},
		{[]states.Cause{{Kind: states.OnCPU, Function: "a/b.sum[go.shape.int]"}}, "ran on a processor in b.sum[go.shape.int]"},
		{[]states.Cause{{Kind: states.OnCPU, Function: "b.sum", By: search}}, "waited for GET /search, which ran in b.sum"},
		{[]states.Cause{{Kind: states.Runnable, By: search}}, "waited for a processor that GET /search used in (*Index).rebuild"},
		{[]states.Cause{{Kind: states.Runnable}}, "waited for a processor"},
		{[]states.Cause{{Kind: states.ChannelSend, By: search}}, "waited to send to a channel that GET /search reads in (*Index).rebuild"},
		{[]states.Cause{{Kind: states.ChannelSend, Function: in}}, "waited to send to a channel in (*Store).flush"},
		{[]states.Cause{{Kind: states.ChannelReceive, Function: in}}, "waited to receive from a channel in (*Store).flush"},
		{[]states.Cause{{Kind: states.Select, Function: in}}, "waited in a select statement in (*Store).flush"},
		{[]states.Cause{{Kind: states.Condition, Function: in}}, "waited for a condition in (*Store).flush"},
		{[]states.Cause{{Kind: states.WaitGroup, Function: in}}, "waited for a WaitGroup in (*Store).flush"},
		{[]states.Cause{{Kind: states.Syscall, Function: in}}, "system call in (*Store).flush"},
		{[]states.Cause{{Kind: states.GarbageCollection, Function: in}}, "garbage collection"},
		{[]states.Cause{{Kind: states.StopTheWorld}}, "the runtime stopped all goroutines"},
		{[]states.Cause{{Kind: states.StopTheWorld, By: worker}}, "the runtime stopped all goroutines for main.work"},
		{[]states.Cause{{Kind: states.File, Function: in}}, "waited for a file or a pipe in (*Store).flush"},
		{[]states.Cause{{Kind: states.OtherPrograms, Function: in}}, "other programs had the processors"},
		{[]states.Cause{{Kind: states.CPULimit, Function: in, Limit: 0.25}}, "the limit of 0.25 processors stopped the process"},
		{[]states.Cause{{Kind: states.CPULimit, Function: in, Limit: 1}}, "the limit of 1 processor stopped the process"},
		{[]states.Cause{{Kind: states.CPULimit, Function: in}}, "the limit of CPU time stopped the process"},
		{[]states.Cause{{Kind: states.NotRun, Function: in}}, "the operating system did not run the process, and why is not known"},
		{[]states.Cause{{Kind: states.Wait, Function: in}}, "waited in (*Store).flush"},
		{[]states.Cause{{Kind: states.Gap}}, "the execution trace does not reach"},
		{[]states.Cause{{Kind: 200}}, "waited"},
	} {
		r := states.Request{RootID: root, Duration: 40 * ms, Causes: c.causes}
		want := c.want
		for i := range c.causes {
			c.causes[i].Duration = 31 * ms
			want = "31 ms of 40 ms: " + c.want
		}
		if got := r.Sentence(); got != want {
			t.Errorf("sentence is %q, want %q", got, want)
		}
	}
}

func TestSentenceOfSeveralCauses(t *testing.T) {
	r := states.Request{Duration: 52 * ms, Unended: true, Causes: []states.Cause{
		{Kind: states.Syscall, Duration: 31 * ms}, {Kind: states.GarbageCollection, Duration: 14 * ms}, {Kind: states.OnCPU, Duration: 7 * ms},
	}}
	if got, want := r.Sentence(), "31 ms of 52 ms so far: system call; 14 ms: garbage collection"; got != want {
		t.Errorf("sentence is %q, want %q", got, want)
	}
	r.Causes[1].Duration = 5 * ms
	if got, want := r.Sentence(), "31 ms of 52 ms so far: system call"; got != want {
		t.Errorf("sentence is %q, want %q: the second cause has less than a tenth", got, want)
	}
}

func TestLengths(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 µs", 999 * time.Microsecond: "999 µs", 1500 * time.Microsecond: "1.5 ms", 12345 * time.Microsecond: "12 ms", 1234 * ms: "1.2 s", 83 * time.Second: "83 s",
	} {
		r := states.Request{Duration: d, Causes: []states.Cause{{Duration: d}}}
		if got, want := r.Sentence(), want+" of "+want+": the execution trace does not reach"; got != want {
			t.Errorf("sentence is %q, want %q", got, want)
		}
	}
}

// Each kind has a name.
func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := range states.Kinds {
		if name := k.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("kind %d has the name %q, want one of its own", k, name)
		}
		seen[k.String()] = true
	}
	if got := states.Kinds.String(); got != "unknown" {
		t.Errorf("the name of no kind is %q", got)
	}
}

// Times are of one span and of all goroutines.
func TestTimes(t *testing.T) {
	r := states.Request{Goroutines: []states.Goroutine{
		{Intervals: []states.Interval{
			{Kind: states.OnCPU, End: 2 * ms, SpanID: root},
			{Kind: states.Mutex, Start: 2 * ms, End: 5 * ms, SpanID: child},
			{Kind: states.OnCPU, Start: 5 * ms, End: 6 * ms, SpanID: root},
		}},
		{Intervals: []states.Interval{{Kind: states.OnCPU, Start: ms, End: 5 * ms, SpanID: root}}},
	}}
	if got := r.Times(root); got[states.OnCPU] != 7*ms || got[states.Mutex] != 0 {
		t.Errorf("times of the root are %v, want 7 ms running", got)
	}
	if got := r.Times(child); got[states.OnCPU] != 0 || got[states.Mutex] != 3*ms {
		t.Errorf("times of the child are %v, want 3 ms for a mutex", got)
	}
}
