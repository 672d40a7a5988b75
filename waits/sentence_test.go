package waits_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

const ms = time.Millisecond

var (
	root, child = trace.SpanID{1}, trace.SpanID{2}

	own      = &waits.Party{Request: "GET /", RootID: root, Function: "main.work"}
	search   = &waits.Party{Request: "GET /search", Function: "example.com/shop/index.(*Index).rebuild"}
	unknown  = &waits.Party{}
	worker   = &waits.Party{Function: "main.work"}
	library  = &waits.Party{Request: "GET /search"}
	closer   = &waits.Party{Function: "main.stop", Stack: []waits.Frame{{Function: "main.stop"}}}
	reader   = &waits.Party{Function: "main.drain", Stack: []waits.Frame{{Function: "runtime.chanrecv1"}, {Function: "main.drain"}}}
	deadline = &waits.Party{Function: "context.WithDeadlineCause.func2"}
	inner    = &waits.Party{Request: "GET /inner", RootID: trace.SpanID{3}}
	its      = &waits.Party{Request: "GET /inner", RootID: trace.SpanID{3}, Function: "main.work"}
)

func TestSentence(t *testing.T) {
	const in = "example.com/v1.2/store.(*Store).flush"
	for _, c := range []struct {
		causes []waits.Cause
		want   string
	}{
		{nil, "of 40 ms, the execution trace covers nothing"},
		{[]waits.Cause{{Kind: waits.Mutex, By: search}}, "waited for a mutex that GET /search held in (*Index).rebuild"},
		{[]waits.Cause{{Kind: waits.Mutex, By: worker}}, "waited for a mutex that a goroutine held in main.work"},
		{[]waits.Cause{{Kind: waits.Mutex, By: library}}, "waited for a mutex that GET /search held"},
		{[]waits.Cause{{Kind: waits.Mutex, By: own}}, "waited for a mutex that another goroutine of this request held in main.work"},
		{[]waits.Cause{{Kind: waits.Mutex, By: unknown}}, "waited for a mutex"},
		{[]waits.Cause{{Kind: waits.Mutex, Function: in}}, "waited for a mutex in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Mutex, Function: in, By: unknown}}, "waited for a mutex in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Pool, Function: in, By: unknown}}, "waited for a database connection in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.ChannelSend, Function: in, By: unknown}}, "waited to send to a channel in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Pool, By: search}}, "waited for a database connection that GET /search held in (*Index).rebuild"},
		{[]waits.Cause{{Kind: waits.Pool, Function: in}}, "waited for a database connection in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Network, Function: in, SpanID: child, Span: "GET payment.local"}}, ", in span GET payment.local: waited for the network in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Network, SpanID: child, Span: "GET payment.local"}}, ", in span GET payment.local: waited for the network"},
		{[]waits.Cause{{Kind: waits.Network, Function: "main.(*Shop).pay", Via: "google.golang.org/grpc.(*ClientConn).Invoke"}}, "waited for the network in (*Shop).pay via grpc.(*ClientConn).Invoke"},
		{[]waits.Cause{{Kind: waits.Syscall, Function: in, Via: "modernc.org/sqlite.(*conn).ExecContext", SpanID: child, Span: "sql.conn.exec"}}, ", in span sql.conn.exec: system call in (*Store).flush via sqlite.(*conn).ExecContext"},
		{[]waits.Cause{{Kind: waits.Mutex, By: search, In: inner, SpanID: child, Span: "GET"}}, ", in span GET: waited for GET /inner, which waited for a mutex that GET /search held in (*Index).rebuild"},
		{[]waits.Cause{{Kind: waits.Mutex, By: own, In: inner}}, "waited for GET /inner, which waited for a mutex that another goroutine of this request held in main.work"},
		{[]waits.Cause{{Kind: waits.Mutex, By: its, In: inner}}, "waited for GET /inner, which waited for a mutex that another goroutine of that request held in main.work"},
		{[]waits.Cause{{Kind: waits.Syscall, Function: in, In: inner}}, "waited for GET /inner, which was in a system call in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Timer, Function: in, In: unknown}}, "waited for another request, which waited for a timer in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.GarbageCollection, In: inner, SpanID: child, Span: "GET"}}, "garbage collection"},
		{[]waits.Cause{{Kind: waits.Network, Function: in, SpanID: root, Span: "GET /"}}, "waited for the network in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Network}}, "waited for the network"},
		{[]waits.Cause{{Kind: waits.Timer, Function: "main.poll"}}, "waited for a timer in main.poll"},
		{[]waits.Cause{{Kind: waits.Timer, Function: in, By: deadline}}, "waited until the deadline of its context in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Timer, Function: in, By: deadline, In: inner}}, "waited for GET /inner, which waited until the deadline of its context in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Timer, Function: in, By: worker}}, "waited for a timer in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.OnCPU, Function: "a/b.sum[go.shape.int]"}}, "ran on a processor in b.sum[go.shape.int]"},
		{[]waits.Cause{{Kind: waits.OnCPU, Function: "b.sum", In: search}}, "waited for GET /search, which ran on a processor in b.sum"},
		{[]waits.Cause{{Kind: waits.Runnable, By: search}}, "waited for a processor that GET /search used in (*Index).rebuild"},
		{[]waits.Cause{{Kind: waits.Runnable}}, "waited for a processor"},
		{[]waits.Cause{{Kind: waits.ChannelSend, By: search}}, "waited to send to a channel that GET /search reads in (*Index).rebuild"},
		{[]waits.Cause{{Kind: waits.ChannelSend, By: closer}}, "waited to send to a channel that a goroutine closed in main.stop"},
		{[]waits.Cause{{Kind: waits.ChannelSend, By: reader}}, "waited to send to a channel that a goroutine reads in main.drain"},
		{[]waits.Cause{{Kind: waits.ChannelSend, Function: in}}, "waited to send to a channel in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.ChannelReceive, Function: in}}, "waited to receive from a channel in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Select, Function: in}}, "waited in a select statement in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Condition, Function: in}}, "waited for a condition in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.WaitGroup, Function: in}}, "waited for a WaitGroup in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Syscall, Function: in}}, "system call in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.CCode, Function: in}}, "ran or waited in C code, called in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.CCode, Function: in, In: inner}}, "waited for GET /inner, which ran or waited in C code, called in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.CCode}}, "ran or waited in C code"},
		{[]waits.Cause{{Kind: waits.GarbageCollection, Function: in}}, "garbage collection"},
		{[]waits.Cause{{Kind: waits.StopTheWorld}}, "the runtime stopped all goroutines"},
		{[]waits.Cause{{Kind: waits.StopTheWorld, By: worker}}, "the runtime stopped all goroutines for main.work"},
		{[]waits.Cause{{Kind: waits.File, Function: in}}, "waited for a file or a pipe in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.OtherPrograms, Function: in}}, "other programs had the processors"},
		{[]waits.Cause{{Kind: waits.CPULimit, Function: in, Limit: 0.25}}, "the limit of 0.25 processors stopped the process"},
		{[]waits.Cause{{Kind: waits.CPULimit, Function: in, Limit: 1}}, "the limit of 1 processor stopped the process"},
		{[]waits.Cause{{Kind: waits.CPULimit, Function: in}}, "the limit of CPU time stopped the process"},
		{[]waits.Cause{{Kind: waits.NotRun, Function: in}}, "the operating system did not run the process, and why is not known"},
		{[]waits.Cause{{Kind: waits.Wait, Function: in}}, "waited in (*Store).flush"},
		{[]waits.Cause{{Kind: waits.Wait}}, "waited for something unknown, perhaps since before the trace"},
		{[]waits.Cause{{Kind: waits.Wait, In: inner}}, "waited for GET /inner, which waited for something unknown, perhaps since before the trace"},
	} {
		r := waits.Request{RootID: root, Duration: 40 * ms, Causes: c.causes}
		want := c.want
		for i := range c.causes {
			c.causes[i].Duration = 37 * ms
			if want = "37 ms of 40 ms"; !strings.HasPrefix(c.want, ",") {
				want += ": "
			}
			want += c.want
		}
		if got := r.Sentence(); got != want {
			t.Errorf("sentence is %q, want %q", got, want)
		}
	}
}

func TestSentenceOfSeveralCauses(t *testing.T) {
	r := waits.Request{Duration: 52 * ms, Unended: true, Causes: []waits.Cause{
		{Kind: waits.Syscall, Duration: 31 * ms}, {Kind: waits.GarbageCollection, Duration: 14 * ms}, {Kind: waits.OnCPU, Duration: 7 * ms},
	}}
	if got, want := r.Sentence(), "31 ms of 52 ms so far: system call; 14 ms: garbage collection"; got != want {
		t.Errorf("sentence is %q, want %q", got, want)
	}
	r.Causes[0].Duration, r.Causes[1].Duration = 40*ms, 5*ms
	if got, want := r.Sentence(), "40 ms of 52 ms so far: system call"; got != want {
		t.Errorf("sentence is %q, want %q: the second cause has less than a tenth", got, want)
	}
}

// A part of the request outside the trace is no cause. The sentence says how much is known.
func TestSentenceOfAPart(t *testing.T) {
	r := waits.Request{RootID: root, Duration: 1300 * ms, Causes: []waits.Cause{
		{Kind: waits.Mutex, Duration: 80 * ms, By: search, SpanID: child, Span: "lookup"}, {Kind: waits.OnCPU, Duration: 20 * ms, Function: "main.render"},
	}}
	for _, c := range []struct {
		duration time.Duration
		want     string
	}{
		{1300 * ms, "of 1.3 s, the execution trace covers 100 ms; 80 ms, in span lookup: waited for a mutex that GET /search held in (*Index).rebuild; 20 ms: ran on a processor in main.render"},
		{112 * ms, "of 112 ms, the execution trace covers 100 ms; 80 ms, in span lookup: waited for a mutex that GET /search held in (*Index).rebuild; 20 ms: ran on a processor in main.render"},
		{109 * ms, "80 ms of 109 ms, in span lookup: waited for a mutex that GET /search held in (*Index).rebuild; 20 ms: ran on a processor in main.render"},
	} {
		if r.Duration = c.duration; r.Sentence() != c.want {
			t.Errorf("sentence is %q, want %q", r.Sentence(), c.want)
		}
	}
	r.Causes = nil
	if got, want := r.Sentence(), "of 109 ms, the execution trace covers nothing"; got != want {
		t.Errorf("sentence is %q, want %q", got, want)
	}
	if r.Duration = 0; r.Sentence() != "" {
		t.Errorf("the sentence of no time is %q", r.Sentence())
	}
}

func TestLengths(t *testing.T) {
	for d, want := range map[time.Duration]string{
		999 * time.Microsecond: "999 µs", 1500 * time.Microsecond: "1.5 ms", 12345 * time.Microsecond: "12 ms", 1234 * ms: "1.2 s", 83 * time.Second: "83 s",
	} {
		r := waits.Request{Duration: d, Causes: []waits.Cause{{Kind: waits.OnCPU, Duration: d}}}
		if got, want := r.Sentence(), want+" of "+want+": ran on a processor"; got != want {
			t.Errorf("sentence is %q, want %q", got, want)
		}
	}
}

// Each kind has a name.
func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := range waiting.Kinds {
		if name := k.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("kind %d has the name %q, want one of its own", k, name)
		}
		seen[k.String()] = true
	}
	if got := waiting.Kinds.String(); got != "unknown" {
		t.Errorf("the name of no kind is %q", got)
	}
}
