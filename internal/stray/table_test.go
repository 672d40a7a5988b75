package stray

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/record"
)

// Stacks as a program has them, the innermost function first. "main" is the program in a test, too.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		name, scope string
		stack       []string
		want        string
	}{
		{"gorm and otelsql over database/sql", "github.com/XSAM/otelsql", []string{
			"github.com/perfline/perfline/bridge.(*tracer).start", "github.com/perfline/perfline/bridge.(*tracer).Start",
			"github.com/XSAM/otelsql.createSpan", "github.com/XSAM/otelsql.(*otConn).QueryContext",
			"database/sql.ctxDriverPrepare", "database/sql.(*DB).queryDC", "database/sql.(*DB).QueryContext",
			"gorm.io/gorm/callbacks.Query", "gorm.io/gorm.(*processor).Execute", "gorm.io/gorm.(*DB).Find",
			"main.(*store).Messages", "main.(*api).list", "github.com/gin-gonic/gin.(*Context).Next", "net/http.(*conn).serve", "runtime.goexit",
		}, "main.(*store).Messages"},
		{"the SDK's provider", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", []string{
			"github.com/perfline/perfline/internal/requests.(*Recent).OnStart", "github.com/perfline/perfline.(*destinations).OnStart",
			"go.opentelemetry.io/otel/sdk/trace.(*tracer).Start", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.(*Transport).RoundTrip",
			"net/http.(*Client).do", "main.fetch", "main.main", "runtime.main",
		}, "main.fetch"},
		{"a library on a goroutine of its own", "github.com/redis/go-redis/extra/redisotel/v9", []string{
			"github.com/perfline/perfline/bridge.(*tracer).Start", "github.com/redis/go-redis/extra/redisotel/v9.(*tracingHook).ProcessHook.func1",
			"github.com/redis/go-redis/v9.(*Client).Process", "github.com/go-redsync/redsync/v4.(*Mutex).extend", "runtime.goexit",
		}, "github.com/redis/go-redis/v9.(*Client).Process"},
		{"instrumentation and the standard library alone", "github.com/XSAM/otelsql", []string{
			"github.com/perfline/perfline/bridge.(*tracer).Start", "github.com/XSAM/otelsql.(*otConn).Ping", "database/sql.(*DB).connectionOpener", "runtime.goexit",
		}, "database/sql.(*DB).connectionOpener"},
		{"nothing", "", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f frames
			var stack []uintptr
			for i, function := range c.stack {
				stack = append(stack, uintptr(i+1))
				f.add(stack[i], newFrame(function), maxFrames)
			}
			if got, _ := f.innermost(stack, c.scope); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The sums are exact with many goroutines, and one place has one count.
func TestNoteIsExact(t *testing.T) {
	var table Table
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				table.Note("sql", trace.SpanKindClient, nil)
			}
		})
	}
	all.Wait()
	if places := table.Places(); len(places) != 1 || places[0].Count != 8000 || places[0].What != Query {
		t.Errorf("got %+v, want 8000 queries of one place", places)
	}
}

// Of two goroutines that add a key at the same time, both get the value of the first.
func TestGrownMap(t *testing.T) {
	var m grownMap[string, int]
	for i, c := range []struct {
		key  string
		want int
		ok   bool
	}{{"a", 0, true}, {"a", 0, true}, {"b", 2, true}, {"c", 3, false}, {"b", 2, true}} {
		if got, ok := m.add(c.key, i, 2); got != c.want || ok != c.ok {
			t.Errorf("add %d of %s: %d, %t; want %d, %t", i, c.key, got, ok, c.want, c.ok)
		}
	}
}

// A known place costs no memory, at any depth of the stack.
func TestNoteDoesNotAllocate(t *testing.T) {
	attrs := []attribute.KeyValue{attribute.String("db.system.name", "postgresql")}
	for _, depth := range []int{0, nearFrames + 8, 2 * allFrames} {
		var table Table
		noteAt(depth, &table, attrs)
		if n := testing.AllocsPerRun(100, func() { noteAt(depth, &table, attrs) }); n != 0 {
			t.Errorf("at depth %d, Note allocates %v times", depth, n)
		}
		if places := table.Places(); len(places) != 1 || places[0].Count != 102 {
			t.Errorf("at depth %d: got %+v, want 102 strays of one place", depth, places)
		}
	}
}

func noteAt(depth int, to *Table, attrs []attribute.KeyValue) {
	if depth == 0 {
		to.Note("orders", trace.SpanKindClient, attrs)
		return
	}
	noteAt(depth-1, to, attrs)
}

func BenchmarkNote(b *testing.B) {
	for _, depth := range []int{0, nearFrames + 8} {
		b.Run(fmt.Sprint("depth ", depth), func(b *testing.B) {
			var table Table
			for b.Loop() {
				noteAt(depth, &table, nil)
			}
		})
	}
}

// Strays over the limit of places count together, by their kind.
func TestPlacesAreBounded(t *testing.T) {
	var table Table
	for i := range maxPlaces + 10 {
		table.count(key{fmt.Sprint("main.f", i), "sql", ""})
		table.count(key{fmt.Sprint("main.f", i), "sql", Message})
	}
	others := map[string]uint64{}
	places := table.Places()
	for _, p := range places {
		if p.Function == Others {
			others[p.What] = p.Count
		}
	}
	if want := map[string]uint64{Query: maxPlaces/2 + 10, Message: maxPlaces/2 + 10}; !maps.Equal(others, want) {
		t.Errorf("other places are %v, want %v", others, want)
	}
	if Total(places) != 2*(maxPlaces+10) || len(places) != maxPlaces+2 {
		t.Errorf("%d strays of %d places, want %d of %d", Total(places), len(places), 2*(maxPlaces+10), maxPlaces+2)
	}
}

// Beyond the room for return addresses, places are still right.
func TestFramesAreBounded(t *testing.T) {
	var table Table
	for i := range maxFrames {
		table.frames.add(uintptr(i), frame{}, maxFrames)
	}
	table.Note("sql", trace.SpanKindClient, nil)
	if places := table.Places(); len(places) != 1 || places[0].Function == "" {
		t.Errorf("got %+v, want a place with a function", places)
	}
	if n := len(table.frames.load()); n != maxFrames {
		t.Errorf("%d return addresses, want %d", n, maxFrames)
	}
}

func TestIs(t *testing.T) {
	for name, want := range map[string]bool{"SELECT": true, "sql.conn.query": true, "redis.dial": false, "sql.conn.reset_session": false} {
		if got := Is(trace.SpanKindClient, name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
	for kind, want := range map[trace.SpanKind]bool{trace.SpanKindProducer: true, trace.SpanKindServer: false, trace.SpanKindConsumer: false, trace.SpanKindInternal: false} {
		if got := Is(kind, "x"); got != want {
			t.Errorf("%v: %t, want %t", kind, got, want)
		}
	}
}

// Attributes at the start say what a span is, then its kind, and then the name of its scope.
func TestWhat(t *testing.T) {
	for _, c := range []struct {
		scope string
		kind  trace.SpanKind
		attr  string
		want  string
	}{
		{"github.com/XSAM/otelsql", trace.SpanKindClient, "", Query},
		{"example.com/orders", trace.SpanKindClient, "db.system.name", Query},
		{"github.com/redis/go-redis/extra/redisotel", trace.SpanKindClient, "", Command},
		{"go.opentelemetry.io/contrib/instrumentation/go.mongodb.org/mongo-driver/mongo/otelmongo", trace.SpanKindClient, "", Command},
		{"github.com/redis/go-redis/extra/redisotel", trace.SpanKindClient, "db.system=redis", Command},
		{"example.com/redis-and-sql", trace.SpanKindClient, "db.system=postgresql", Query},
		{"example.com/orders", trace.SpanKindClient, "http.request.method", Call},
		{"example.com/orders", trace.SpanKindProducer, "", Message},
		{"example.com/orders", trace.SpanKindClient, "messaging.system", Message},
		{"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", trace.SpanKindClient, "", Call},
		{"", trace.SpanKindClient, "", Call},
	} {
		var table Table
		var attrs []attribute.KeyValue
		if c.attr != "" {
			key, value, _ := strings.Cut(c.attr, "=")
			attrs = append(attrs, attribute.String(key, cmp.Or(value, "x")))
		}
		table.Note(c.scope, c.kind, attrs)
		if got := table.Places()[0].What; got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

// Marks without a span count by name. Marks of a request do not.
func TestMarks(t *testing.T) {
	timeline := record.NewTimeline(record.TimelineOptions{BufferSize: 1000})
	mark := func(name string) { timeline.Record(record.Mark, name, 0, 0, nil) }
	if got := Marks(timeline, time.Time{}); len(got) != 0 {
		t.Errorf("without marks: %+v", got)
	}
	mark("cache.warm")
	mark("cache.miss")
	mark("cache.miss")
	timeline.Record(record.Measure, "load", 0, 0, nil)
	timeline.NewChild().Record(record.Mark, "in a request", 0, 0, nil)
	got := Marks(timeline, time.Time{})
	want := []Place{{"cache.miss", Mark, 2}, {"cache.warm", Mark, 1}}
	if len(got) < 2 || !reflect.DeepEqual(got[:2], want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i := range 1500 {
		mark(fmt.Sprint("name ", i))
	}
	got = Marks(timeline, time.Time{})
	tail := got[len(got)-2:]
	if len(got) != maxPlaces+2 || tail[0].Function != Others || tail[1].Function != Unnamed || Total(got) < 1503 {
		t.Errorf("%d places with %d marks, the last %+v", len(got), Total(got), tail)
	}
}

// Work before the first request is no stray. Without a request, all work counts.
func TestStartIsNoStray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table Table
		timeline := record.NewTimeline(record.TimelineOptions{BufferSize: 100})
		work := func() {
			table.Note("otelsql", trace.SpanKindClient, nil)
			timeline.Record(record.Mark, "loaded", timeline.Now(), 0, nil)
			time.Sleep(time.Millisecond)
		}
		strays := func() uint64 { return Total(append(table.Places(), Marks(timeline, table.Since())...)) }
		work()
		work()
		if n := strays(); n != 4 || !table.Since().IsZero() {
			t.Errorf("without a request: %d strays, since %v", n, table.Since())
		}
		table.NoteRequest()
		first := table.Since()
		if n := strays(); n != 0 {
			t.Errorf("%d strays before the first request", n)
		}
		work()
		table.NoteRequest() // the second request
		if n := strays(); n != 2 || table.Since() != first {
			t.Errorf("%d strays after the first request, since %v, want 2 since %v", n, table.Since(), first)
		}
		if n := testing.AllocsPerRun(100, table.NoteRequest); n != 0 {
			t.Errorf("a request allocates %v times", n)
		}
	})
}

// Libraries include unknown modules, unless the program itself is unknown. Marks are the program's.
func TestInLibrary(t *testing.T) {
	shop := modules.New("example.com/shop", modules.Module{Kind: modules.Dependency, Path: "example.com/asynq"})
	for _, c := range []struct {
		in    *modules.Set
		place Place
		want  bool
	}{
		{shop, Place{"main.main", Query, 1}, false},
		{shop, Place{"example.com/shop/store.(*Store).Items", Query, 1}, false},
		{shop, Place{"example.com/shop_test.items", Query, 1}, false},
		{shop, Place{"example.com/asynq.(*forwarder).poll", Command, 1}, true},
		{shop, Place{"database/sql.(*DB).connectionOpener", Query, 1}, true},
		{shop, Place{"example.com/unknown.poll", Command, 1}, true},
		{modules.New(""), Place{"example.com/unknown.poll", Command, 1}, false},
		{modules.New(""), Place{HiddenLibraries, Command, 1}, true},
		{shop, Place{HiddenLibraries, Command, 1}, true},
		{shop, Place{Hidden, Query, 1}, false},
		{shop, Place{Others, Query, 1}, false},
		{shop, Place{"cache.miss", Mark, 1}, false},
	} {
		if got := inLibrary(c.in, c.place); got != c.want {
			t.Errorf("%+v of %q: %t", c.place, c.in.Main(), got)
		}
	}
}

func TestSentence(t *testing.T) {
	const end = ", or begin a job with marks.StartJob."
	for _, c := range []struct {
		places []Place
		want   string
	}{
		{nil, ""},
		{[]Place{{"main.a", Query, 300}, {"main.b", Query, 12}},
			"These 312 queries have no request: pass the request's context (QueryContext, db.WithContext(ctx))" + end},
		{[]Place{{"main.a", Call, 1}}, "1 call has no request: pass the request's context (http.NewRequestWithContext, the ctx of an RPC)" + end},
		{[]Place{{"main.a", Message, 2}}, "These 2 messages have no request: pass the request's context (the ctx of the producer's methods)" + end},
		{[]Place{{"main.a", Command, 2}}, "These 2 commands have no request: pass the request's context (the ctx of the client's methods)" + end},
		{[]Place{{"example.com/asynq.poll", Command, 1103}, {"main.a", Query, 1}}, "1 query has no request: pass the request's context (QueryContext, db.WithContext(ctx))" + end +
			" 1103 commands begin in libraries, on their own goroutines: a library that polls needs no request."},
		{[]Place{{HiddenLibraries, Command, 1}}, "1 command begins in libraries, on their own goroutines: a library that polls needs no request."},
		{[]Place{{"miss", Mark, 3}, {"main.a", Call, 1}, {"main.a", Query, 2}},
			"These 2 queries, 1 call and 3 marks have no request: pass the request's context " +
				"(QueryContext, db.WithContext(ctx), http.NewRequestWithContext, the ctx of an RPC, marks.Mark(ctx, …))" + end},
	} {
		if got := Sentence(c.places); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// A hidden function keeps its count, and remains a library's or the program's. Names of marks are no functions.
func TestVisible(t *testing.T) {
	places := []Place{{"lib.a", Query, 3}, {"lib.b", Query, 2}, {"main.c", Query, 1}, {"main.d", Query, 1}, {"lib.a", Mark, 1}, {Others, Query, 1}}
	got := Visible(places, func(function string) bool { return function == "main.c" })
	want := []Place{{HiddenLibraries, Query, 5}, {"lib.a", Mark, 1}, {Hidden, Query, 1}, {"main.c", Query, 1}, {Others, Query, 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := Sentence(got), Sentence(places); got != want {
		t.Errorf("the sentence on visible places is %q, want %q", got, want)
	}
}
