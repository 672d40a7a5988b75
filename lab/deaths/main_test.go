package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/leaktest"
)

// The service's process is the test's program again.
func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		if err := command(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

func newTruth(t *testing.T) *truth {
	t.Helper()
	notes, err := makeTruth(filepath.Join(t.TempDir(), "truth"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := notes.close(); err != nil {
			t.Error(err)
		}
	})
	return notes
}

// note notes a request. Moments are in milliseconds, and 0 is not reached.
func (t *truth) note(id byte, began, done, left int, steps int64) {
	r := t.add(trace.TraceID{id})
	for to, ms := range map[interface{ Store(int64) }]int{&r.arrived: began, &r.began: began, &r.done: done, &r.left: left} {
		to.Store(int64(ms) * int64(time.Millisecond))
	}
	r.steps.Store(steps)
}

func traceID(id byte) string { return trace.TraceID{id}.String() }

// Each way in which a report may differ from the truth is a fault.
func TestJudge(t *testing.T) {
	const died = 100 // ms
	finished := func() *arrival { return &arrival{finished: 1, spans: spansOfWork, step: 2} }
	open := func(step int64) *arrival { return &arrival{open: 1, step: step, errorType: "killed"} }
	for _, c := range []struct {
		name              string
		began, done, left int
		steps             int64
		got               *arrival
		fault             string
	}{
		{"open and reported", 50, 0, 0, 2, open(1), ""},
		{"open, and the truth lacks the mark", 50, 0, 0, 1, open(1), ""},
		{"open and missing", 80, 0, 0, 0, nil, "1 open requests are not reported"},
		{"open and delivered as finished", 50, 0, 0, 0, finished(), "1 open requests are not reported"},
		{"open for a moment and missing", 81, 0, 0, 0, nil, ""},
		{"open without the newest mark", 50, 0, 0, 3, open(1), "1 open requests lack their newest mark"},
		{"open of another kind", 50, 0, 0, 0, &arrival{open: 1, errorType: "exited"}, "1 open requests have another error.type"},
		{"between", 50, 60, 0, 0, nil, ""},
		{"finished", 50, 60, 61, 2, finished(), ""},
		{"finished with a span too many", 50, 60, 61, 2, &arrival{finished: 1, spans: spansOfWork + 1}, "1 requests have more spans than they made"},
		{"finished and lost", 50, 60, 61, 2, nil, "1 finished requests are lost"},
		{"finished in parts", 50, 60, 61, 2, &arrival{finished: 1, spans: spansOfWork - 1}, "1 finished requests lack spans"},
		{"finished and lost at the end", 50, 95, 96, 2, nil, "1 finished requests are lost"},
		{"finished in parts at the end", 50, 95, 96, 2, &arrival{finished: 1, spans: 1}, "1 finished requests lack spans"},
		{"finished and reported as open", 50, 60, 61, 0, open(1), "1 reported requests were not open; 1 finished requests are lost"},
		{"finished and reported as open at the end", 50, 95, 96, 0, open(1), "1 reported requests were not open; 1 finished requests are lost"},
		{"finished and open", 50, 60, 61, 2, &arrival{finished: 1, open: 1, spans: spansOfWork}, "1 reported requests were not open; 1 requests are open and finished"},
		{"unknown", 0, 0, 0, 0, open(1), "1 reported requests were not open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			notes, all := newTruth(t), &arrivals{byTrace: map[string]*arrival{}}
			notes.head.alive.Store(died * int64(time.Millisecond))
			if c.began > 0 {
				notes.note(1, c.began, c.done, c.left, c.steps)
			}
			if c.got != nil {
				all.byTrace[traceID(1)] = c.got
			}
			o := judge(notes, &reported{Kind: blackbox.Killed}, all, "")
			o.alone = blackbox.Gone
			k := &kind{kind: blackbox.Killed, alone: blackbox.Gone}
			if got := strings.Join(o.faults(k), "; "); got != c.fault {
				t.Errorf("the faults are %q, want %q: %+v", got, c.fault, o)
			}
		})
	}
}

func TestJudgeKind(t *testing.T) {
	for _, c := range []struct {
		kind, alone blackbox.Kind
		crashed     []string
		again       int
		want        string
	}{
		{blackbox.Panic, blackbox.Panic, []string{traceID(2), traceID(1)}, 0, ""},
		{blackbox.Panic, blackbox.Panic, []string{traceID(2)}, 0, "the report does not name the request that died"},
		{blackbox.Gone, blackbox.Panic, []string{traceID(1)}, 0, `the kind is "killed or exited", must be "panic"`},
		{blackbox.Panic, blackbox.Gone, []string{traceID(1)}, 0, `without the parent, the kind is "killed or exited", must be "panic"`},
		{blackbox.Panic, blackbox.Panic, []string{traceID(1)}, 2, "2 spans came again, and the service had the answer"},
	} {
		o := judge(newTruth(t), &reported{Kind: c.kind, Crashed: c.crashed}, &arrivals{again: c.again, twice: 7}, traceID(1))
		o.alone = c.alone
		if got := strings.Join(o.faults(&kind{kind: blackbox.Panic, alone: blackbox.Panic, crashes: true}), "; "); got != c.want {
			t.Errorf("%+v: the faults are %q, want %q", c, got, c.want)
		}
	}
}

// A panic may end the request that died, which the backend then has as finished.
func TestJudgeUnwound(t *testing.T) {
	for _, unwinds := range []bool{true, false} {
		for _, got := range []*arrival{{finished: 1}, {open: 1}} {
			notes := newTruth(t)
			notes.note(1, 50, 0, 0, 0)
			o := judge(notes, &reported{Kind: blackbox.Panic}, &arrivals{byTrace: map[string]*arrival{traceID(1): got}}, traceID(1))
			k := &kind{kind: blackbox.Panic, crashes: true, unwinds: unwinds}
			if named := !slices.Contains(o.faults(k), "the report does not name the request that died"); named != (unwinds && got.finished > 0) {
				t.Errorf("unwinds %t, %+v: the faults are %q", unwinds, got, o.faults(k))
			}
		}
	}
}

// A span that comes twice is told from one that comes again after its answer.
func TestBackend(t *testing.T) {
	b := &backend{}
	take := func(spans ...*tracepb.Span) {
		body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}})
		if err != nil {
			t.Fatal(err)
		}
		b.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/traces", strings.NewReader(string(body))))
	}
	root := func(id byte, status *tracepb.Status, attrs ...*commonpb.KeyValue) *tracepb.Span {
		return &tracepb.Span{TraceId: append([]byte{id}, make([]byte, 15)...), SpanId: []byte{id, 0, 0, 0, 0, 0, 0, 0}, Kind: tracepb.Span_SPAN_KIND_SERVER, Status: status, Attributes: attrs}
	}
	take(root(1, nil))
	take(root(2, nil), root(3, nil))
	b.down.Store(true)
	take(root(9, nil))
	b.down.Store(false)
	first := b.settle()
	errorType := &commonpb.KeyValue{Key: "error.type", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: "killed"}}}
	leftOut := &commonpb.KeyValue{Key: "perfline.blackbox.left_out", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: 7}}}
	died := root(4, &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "the process ended: killed"}, errorType, leftOut)
	for n := range 3 {
		died.Events = append(died.Events, &tracepb.Span_Event{Name: "step", Attributes: []*commonpb.KeyValue{
			{Key: "n", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(n)}}},
		}})
	}
	take(root(1, nil), root(2, nil), died)
	all, err := b.decode(first)
	if err != nil {
		t.Fatal(err)
	}
	if first != 2 || all.spans != 4 || all.twice != 1 || all.again != 1 {
		t.Errorf("%d requests of the service, %+v", first, all)
	}
	want := &arrival{open: 1, errorType: "killed", leftOut: 7, spans: 1, step: 2, marks: 3}
	if got := all.byTrace[traceID(4)]; !reflect.DeepEqual(got, want) {
		t.Errorf("the open request is %+v, want %+v", got, want)
	}
	if got := all.byTrace[traceID(2)]; got.finished != 1 || got.open != 0 || got.spans != 1 {
		t.Errorf("the finished request is %+v", got)
	}
}

// What is reported and what is left out are the truth together.
func TestBooks(t *testing.T) {
	notes := newTruth(t)
	notes.note(1, 10, 0, 0, 0)
	notes.note(2, 20, 0, 0, 0)
	notes.note(3, 20, 30, 31, 0)
	notes.note(4, 20, 98, 99, 0) // may lack spans
	notes.note(5, 20, 99, 0, 0)  // so may this one
	notes.head.alive.Store(100 * int64(time.Millisecond))
	for i := range notes.used() {
		notes.records[i].entries.Store(10)
	}
	all := &arrivals{byTrace: map[string]*arrival{
		traceID(1): {open: 1, marks: 4, leftOut: 6}, traceID(2): {open: 1, marks: 5, leftOut: 6},
		traceID(3): {finished: 1, spans: 2}, traceID(4): {finished: 1, spans: 1},
	}}
	for _, c := range []struct {
		books []book
		want  []book
		fault string
	}{
		{entriesOfOpen(notes, nil, all), []book{{"marks of open requests", 20, 22, 9, 12}}, ""},
		{finishedSpans(2)(notes, &reported{Lost: 1}, all), []book{{"spans of finished requests", 2, 6, 3, 1}}, ""},
		{
			openRequests(notes, &reported{Total: 1, LeftOut: 1}, all),
			[]book{{"open requests in the report", 2, 2, 1, 1}, {"open requests at the backend", 2, 2, 2, 1}},
			"open requests at the backend: 2 reported and 1 left out, must be 2 to 2",
		},
	} {
		if !slices.Equal(c.books, c.want) {
			t.Errorf("the books are %+v, want %+v", c.books, c.want)
		}
		if got := strings.Join(bounded{blackbox.Killed, c.books}.faults(), "; "); got != c.fault {
			t.Errorf("the faults are %q, want %q", got, c.fault)
		}
	}
	if got := (bounded{kind: blackbox.Gone}).faults(); len(got) != 1 {
		t.Errorf("the faults of another kind are %q", got)
	}
}

// The tables of made-up deaths. The command itself runs in .ci/run, in short form and in full.
func TestTables(t *testing.T) {
	r := &results{
		options: options{rate: 1000}, wrong: 1,
		kinds: []ofKind{{kinds[0], []outcome{
			{kind: blackbox.FatalError, alone: blackbox.FatalError, crashed: true, open: 5, young: 2, youngMissed: 1, most: 7, finished: 9, lastFinished: 3, lastLost: 1, lastPieces: 1, twice: 4},
			{kind: blackbox.Gone, alone: blackbox.FatalError, open: 6, openMissed: 1, invented: 1, twofold: 1, finished: 9, lost: 1, incomplete: 1, again: 1},
		}}},
		bounds: []ofBound{{bounds[0], []bounded{
			{blackbox.Killed, []book{{"marks", 10, 11, 3, 7}}}, {blackbox.Killed, []book{{"marks", 10, 10, 3, 6}}},
		}}},
	}
	for text, want := range map[string][]string{
		r.kindsText(): {
			"2 deaths under 1000 requests a second, with up to 7 requests open at the death. 1 reports differ",
			"| concurrent map writes | fatal error: 1 of 2 | fatal error: 2 of 2 | 1 of 2 | 10 of 11 | 1 of 2 | 2 | 16 of 18 | 1 of 3 | 5 |\n",
		},
		r.boundsText(): {"| requests with 10 000 marks | marks | 2 | 20 to 21 | 6 | 13 | 1 of 2 |\n"},
	} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("the table has no %q:\n%s", w, text)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"": "", "-short": "", "-only ^nil": "", "now": "must be none", "-only (": "-only", "-deaths 0": "above 0", "-rate -1": "above 0",
		"-into x -only nil": "needs all deaths", "-into x -short": "needs all deaths",
	} {
		_, err := parse(strings.Fields(args), os.Stderr)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q", args, err, want)
		}
	}
}

// The truth has the moments of a request in their order, and its trace.
func TestTruth(t *testing.T) {
	notes := newTruth(t)
	id := trace.TraceID{1, 2, 3}
	h := notes.around(notes.inside(func(_ http.ResponseWriter, r *http.Request) {
		if n := recordOf(r.Context()); n.began.Load() == 0 || n.done.Load() > 0 {
			t.Errorf("in the handler, the record is %+v", n)
		}
	}))
	for _, parent := range []string{parentOf(id), "", "00-zz"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Traceparent", parent)
		if parent == parentOf(id) {
			h.ServeHTTP(httptest.NewRecorder(), r)
		} else {
			notes.around(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	all := notes.used()
	if len(all) != 1 || hex.EncodeToString(all[0].trace[:]) != id.String() {
		t.Fatalf("the records are %+v", all)
	}
	r := &all[0]
	if at := []int64{r.arrived.Load(), r.began.Load(), r.done.Load(), r.left.Load()}; at[0] == 0 || !slices.IsSorted(at) || notes.last() != at[3] {
		t.Errorf("the moments are %v, and the last one %d", at, notes.last())
	}
}
