package analysis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/waits"
)

// stackOf returns the stack of functions, the innermost first.
func stackOf(functions ...string) (frames []waits.Frame) {
	for _, f := range functions {
		frames = append(frames, waits.Frame{Function: f})
	}
	return frames
}

var (
	// As recorded from database/sql over modernc.org/sqlite, which sleeps while the database is busy.
	ofSQLite = stackOf("syscall.Syscall6", "modernc.org/libc.sleepSyscall", "modernc.org/libc.Xusleep",
		"modernc.org/sqlite/lib.unixSleep", "modernc.org/sqlite/lib.sqliteDefaultBusyCallback",
		"modernc.org/sqlite.(*conn).step", "modernc.org/sqlite.(*stmt).exec", "modernc.org/sqlite.(*conn).ExecContext",
		"database/sql.ctxDriverExec", "github.com/XSAM/otelsql.(*otConn).ExecContext", "database/sql.(*DB).ExecContext",
		"example.com/shop/store.(*Store).Save", "example.com/shop.(*server).order", "net/http.(*conn).serve")
	ofGORM = stackOf("syscall.Syscall6", "modernc.org/libc.sleepSyscall", "modernc.org/sqlite.(*conn).ExecContext",
		"database/sql.(*DB).ExecContext", "gorm.io/gorm/callbacks.Create.func1", "gorm.io/gorm.(*processor).Execute", "gorm.io/gorm.(*DB).Create",
		"example.com/shop/store.(*Store).Save", "github.com/gin-gonic/gin.(*Context).Next", "net/http.(*conn).serve")
	ofGRPC = stackOf("runtime.selectgo", "google.golang.org/grpc/internal/transport.(*ClientStream).waitOnHeader", "google.golang.org/grpc.(*clientStream).RecvMsg",
		"google.golang.org/grpc.invoke", "google.golang.org/grpc.(*ClientConn).Invoke", "main.(*Shop).pay", "net/http.(*conn).serve")
	ofReader = stackOf("internal/poll.(*FD).Read", "net.(*conn).Read", "google.golang.org/grpc/internal/transport.(*nonBlockingReader).ReadOnReady",
		"google.golang.org/grpc/internal/transport.(*http2Client).reader")
	ofOwn = stackOf("time.Sleep", "example.com/shop/store.(*Store).Save", "example.com/shop.(*server).order", "net/http.(*conn).serve")
)

// A stack names the program's innermost function, and the call of a library below it.
func TestSite(t *testing.T) {
	shop := modules.New("example.com/shop", modules.Module{Kind: modules.Dependency, Path: "google.golang.org/grpc"})
	for name, c := range map[string]struct {
		of     *modules.Set
		paths  []string
		frames []waits.Frame
		want   site
	}{
		"SQLite":                          {shop, nil, ofSQLite, site{"example.com/shop/store.(*Store).Save", "modernc.org/sqlite.(*conn).ExecContext", true}},
		"gorm":                            {shop, nil, ofGORM, site{"example.com/shop/store.(*Store).Save", "gorm.io/gorm.(*DB).Create", true}},
		"gRPC":                            {shop, nil, ofGRPC, site{"main.(*Shop).pay", "google.golang.org/grpc.(*ClientConn).Invoke", true}},
		"own":                             {shop, nil, ofOwn, site{"example.com/shop/store.(*Store).Save", "", true}},
		"a library's goroutine":           {shop, nil, ofReader, site{"google.golang.org/grpc/internal/transport.(*nonBlockingReader).ReadOnReady", "", false}},
		"no build information":            {modules.New(""), nil, ofSQLite, site{"modernc.org/libc.sleepSyscall", "", false}},
		"no build information, with path": {modules.New(""), []string{"example.com/shop"}, ofSQLite, site{"example.com/shop/store.(*Store).Save", "modernc.org/sqlite.(*conn).ExecContext", true}},
		"another module of the program":   {modules.New("example.com/gateway"), []string{"example.com/shop"}, ofGORM, site{"example.com/shop/store.(*Store).Save", "gorm.io/gorm.(*DB).Create", true}},
		"the standard library":            {shop, nil, stackOf("internal/poll.(*FD).Read", "net/http.(*conn).serve"), site{}},
		"nothing":                         {shop, nil, nil, site{}},
	} {
		s := newStacks(c.of.Own(c.paths))
		if got := s.site(c.frames); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// A goroutine of a library that works for the program has the site of the program.
func TestNearer(t *testing.T) {
	pay, save := site{"main.(*Shop).pay", "", true}, site{"main.(*Store).Save", "", true}
	reader, writer := site{function: "lib.read"}, site{function: "lib.write"}
	for _, c := range []struct{ at, other, want site }{
		{pay, reader, pay}, {pay, save, save}, {pay, site{}, pay}, {reader, writer, writer}, {reader, pay, pay}, {site{}, reader, reader},
	} {
		if got := c.at.nearer(c.other); got != c.want {
			t.Errorf("%+v waits for %+v: got %+v, want %+v", c.at, c.other, got, c.want)
		}
	}
}

// A goroutine that runs code of the program for another request is in that request. A goroutine of a
// library is not, although another request has created it: it serves all requests.
func TestOtherRequest(t *testing.T) {
	s := newStacks(modules.New("example.com/shop").Own(nil))
	for _, f := range [][]waits.Frame{ofReader, ofOwn} {
		s.list = append(s.list, stack{known: true, frames: f})
	}
	const reader, own = stackID(1), stackID(2)
	pay := site{"main.(*Shop).pay", "google.golang.org/grpc.(*ClientConn).Invoke", true}
	save := s.site(ofOwn)
	wanted := &root{id: trace.SpanID{1}, name: "GET /"}
	wanted.span = &span{id: wanted.id, root: wanted}
	other := &root{id: trace.SpanID{2}, name: "GET /first"}
	other.span = &span{id: other.id, root: other}
	server := &goroutine{id: 8}
	other.server = server
	for _, c := range []struct {
		name  string
		g     *goroutine
		stack stackID
		of    *root
		in    string
		site  site
	}{
		{"library", &goroutine{id: 7}, reader, other, "", pay},
		{"program", &goroutine{id: 7}, own, other, "GET /first", save},
		{"server", server, reader, other, "GET /first", s.site(ofReader)},
		{"the same request", &goroutine{id: 7}, own, wanted, "", save},
		{"no request", &goroutine{id: 7}, reader, nil, "", pay},
	} {
		c.g.records = []record{{end: 10, activity: waitingNetwork, stack: c.stack}}
		p := piece{segment: segment{end: 10, activity: waitingNetwork, stack: c.stack}, kind: waits.Network}
		if c.of != nil {
			p.span = c.of.span
		}
		collector := collector{builder: &builder{analyzer: &analyzer{stacks: s}, root: wanted}, wanted: wanted}
		at, in := collector.enter(c.g, p, place{site: pay}), ""
		if at.in.root != nil {
			in = at.in.root.name
		}
		if in != c.in || at.site != c.site {
			t.Errorf("%s: in %q, at %+v; want %q, %+v", c.name, in, at.site, c.in, c.site)
		}
	}
}

// Running time counts for the program's innermost function with more than half of the time, and for
// the library that this function called most of the time.
func TestHeaviestIsOfTheProgram(t *testing.T) {
	s := newStacks(modules.New("example.com/shop").Own(nil))
	sum := stackOf("example.com/lib.sum", "example.com/lib.Sum", "main.(*page).total", "main.(*page).layout", "net/http.(*conn).serve")
	sort := stackOf("example.com/lib.sort", "example.com/lib.Sort", "main.(*page).total", "main.(*page).layout", "net/http.(*conn).serve")
	head := stackOf("main.(*page).head", "main.(*page).layout", "net/http.(*conn).serve")
	worker := stackOf("example.com/lib.hash", "example.com/lib.(*pool).run")
	for name, c := range map[string]struct {
		frames [][]waits.Frame // each runs for 10 ms
		want   site
	}{
		"one":                  {[][]waits.Frame{sum}, site{"main.(*page).total", "example.com/lib.Sum", true}},
		"half":                 {[][]waits.Frame{sum, head}, site{"main.(*page).layout", "", true}},
		"of two libraries":     {[][]waits.Frame{sum, sort, sum, head}, site{"main.(*page).total", "example.com/lib.Sum", true}},
		"a library's worker":   {[][]waits.Frame{worker}, site{"example.com/lib.hash", "", false}},
		"mostly a worker":      {[][]waits.Frame{worker, worker, slices.Clone(worker), head}, site{"example.com/lib.hash", "", false}},
		"the standard library": {[][]waits.Frame{stackOf("runtime.mallocgc")}, site{}},
	} {
		all := calls{}
		for _, f := range c.frames {
			all.add(slices.Clone(f), 10*time.Millisecond, true)
		}
		if got := all.heaviest(s); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// perfline's own functions are no party: its goroutines have one name. A goroutine that has polled
// the network by chance is no party at all.
func TestPerflineIsNoParty(t *testing.T) {
	s := newStacks(modules.New("example.com/shop").Own(nil))
	sampler := stackOf("runtime/pprof.runtime_goroutineProfile", "github.com/perfline/perfline/internal/goruntime.GoroutineProfile", "github.com/perfline/perfline/profiling/internal/wall.(*engine).run")
	closes := stackOf("internal/poll.(*FD).Close", "net.(*conn).Close", "main.(*Shop).abort", "net/http.(*conn).serve")
	handler := stackOf("os.(*File).Read", "net/http.FileServer.func1", "github.com/perfline/perfline/bridge/bridgehttp.(*handler).ServeHTTP", "net/http.(*conn).serve")
	for _, c := range []struct {
		stack    []waits.Frame
		function string
		polls    bool
	}{{sampler, "perfline", true}, {closes, "main.(*Shop).abort", false}, {handler, "", true}} {
		s.list = append(s.list, stack{known: true, frames: c.stack})
		if got := partyFunction(s.site(c.stack), c.stack); got != c.function {
			t.Errorf("the party of %s is %q, want %q", c.stack[1].Function, got, c.function)
		}
		if got := s.pollsNetwork(stackID(len(s.list) - 1)); got != c.polls {
			t.Errorf("%s polls by chance: %t, want %t", c.stack[1].Function, got, c.polls)
		}
		if strings.Contains(s.site(c.stack).function, "perfline") {
			t.Errorf("the site of %s is perfline's", c.stack[1].Function)
		}
	}
}
