package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/mcpserver"
)

// A dying is the black box of a process that will have died.
type dying struct {
	*blackbox.Box
	t testing.TB
}

// crashedID is the goroutine that crashes.
const crashedID = 7

func openBox(t testing.TB, service string) *dying {
	t.Helper()
	opened := time.Now()
	b, err := blackbox.Open(blackbox.Config{
		Dir: t.TempDir(), Service: service, Origin: opened, Now: func() time.Time { return opened }, Self: func() uint64 { return crashedID },
		Failed: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.Close() // a test may have closed the box
		noCrashOutput(t)
	})
	return &dying{b, t}
}

// noCrashOutput ends the crash output of the test's process, so that a later crash is seen.
func noCrashOutput(t testing.TB) {
	t.Helper()
	if err := debug.SetCrashOutput(nil, debug.CrashOptions{}); err != nil {
		t.Error(err)
	}
}

// leave copies the file at this moment, as a death leaves it, and the runtime's text into a directory.
func leave(t testing.TB, box, words string) (dir string) {
	t.Helper()
	file, err := os.ReadFile(box)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for suffix, b := range map[string][]byte{".blackbox": file, ".crash": []byte(words)} {
		if err := os.WriteFile(filepath.Join(dir, "perfline-17-00000001"+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads what leave left.
func read(t testing.TB, dirs ...string) *perfline.Deaths {
	t.Helper()
	all := new(blackbox.Reports)
	for _, dir := range dirs {
		names, err := blackbox.Find(dir)
		if err != nil || len(names) != 1 {
			t.Fatalf("found %q, %v", names, err)
		}
		f, err := blackbox.Take(names[0])
		if err != nil || f == nil {
			t.Fatalf("took %v, %v", f, err)
		}
		d, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		all.Add(d.Report())
		if err := f.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	return (*perfline.Deaths)(all)
}

// died has a process die with a text of the runtime, and reads the report.
func (d *dying) died(words string) *perfline.Deaths {
	d.t.Helper()
	return read(d.t, leave(d.t, d.Name(), words))
}

// begun is later than the only heartbeat of the test, and within the five seconds in which another one would come.
const begun = 2 * time.Second

var (
	deadTrace = trace.TraceID{6}
	deadID    = trace.SpanID{7}
	deadChild = trace.SpanID{8}
)

// serve begins a request that is in a span for the last of its two seconds. The request ends with end.
func (d *dying) serve(n names) (end func()) {
	d.t.Helper()
	s := d.Region().Take()
	if s == nil {
		d.t.Fatal("no slot")
	}
	s.Attributes().Text("request", n.value)
	s.Begin(&mirror.Head{Trace: mirror.TraceID(deadTrace), Span: mirror.SpanID(deadID), Start: begun, Kind: uint8(trace.SpanKindServer), Name: n.route})
	s.Attributes().Text("mark", n.value)
	s.Write(&mirror.Entry{Kind: mirror.Mark, Parent: mirror.SpanID(deadID), Start: begun + time.Second, Name: n.mark})
	s.Attributes().Text("span", n.value)
	s.Write(&mirror.Entry{Kind: mirror.Open, Span: mirror.SpanID(deadChild), Parent: mirror.SpanID(deadID), Start: begun + time.Second, Name: n.span})
	s.Write(&mirror.Entry{Kind: mirror.Mark, Parent: mirror.SpanID(deadChild), Start: begun + 2*time.Second, Name: n.other})
	return func() { s.Clear(); s.Put() }
}

// wordsOf is what the runtime writes when function panics with a message.
func wordsOf(message, function string) string {
	return fmt.Sprintf("panic: %s\n\ngoroutine %d [running]:\n%s(0xc000012345, 0x1)\n\t/src/shop/render.go:42 +0x1d\n"+
		"example.com/library.(*Pool).Do(...)\n\t/src/library/pool.go:7\ncreated by main.main in goroutine 1\n\t/src/shop/main.go:9 +0x5e\n\nrax    0x1\n", message, crashedID, function)
}

// deaths is a source with reports.
func deaths(d *perfline.Deaths) *recorded {
	r := record(benign)
	r.died = d
	return r
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in\n%s", part, text)
		}
	}
}

// An agent gets from the routes to the request whose goroutine crashed by suggestions alone.
func TestDeaths(t *testing.T) {
	box := openBox(t, "shop")
	defer box.serve(benign)()
	a := connect(t, mount(t, mcpserver.Handler(deaths(box.died(wordsOf("no price", "main.render"))), quiet(mcpserver.Config{}))).URL)
	text := a.ask("list_routes", nil)
	want(t, after(text), "An earlier process of the program died at ", " (panic): get_deaths tells what it served.\n")
	text = a.ask("get_deaths", nil)
	want(t, text, "reports about earlier processes: 1, the newest first\ndeath 1: panic, last sign of life ", ", in ‹main.render (shop/render.go:42)›\n",
		fmt.Sprintf("‹shop (process %d) died of a panic, no price, in main.render (shop/render.go:42), while it served GET /a›\n", os.Getpid()),
		"\n    open requests: 1, ‹1 GET /a›\n")
	next := suggested(t, text, "get_deaths")
	text = a.ask(next.tool, next.arguments)
	want(t, text, "death 1 of 1: panic\n", "of ‹shop›, started ", "finished spans that no backend had taken: 0\n", "\n1 2000 ‹GET /a›\n",
		"open requests from 0 on, of 1: ", "\n"+deadID.String()+" 2000 ‹GET /a› in ‹query› for 1000; its goroutine crashed\n",
		"text of the Go runtime, 11 lines:\n‹panic: no price›\n", "\n‹main.render(0xc000012345, 0x1)›\n    ‹/src/shop/render.go:42 +0x1d›\n‹example.com/library.(*Pool).Do(...)›\n", "‹rax    0x1›\n")
	next = suggested(t, text, "get_request")
	text = a.ask(next.tool, next.arguments)
	want(t, text, "request "+deadID.String()+": ‹GET /a› took 2000 ms, failed with ‹the process ended: panic›, ", "The request had not ended when process ",
		"Its goroutine crashed: ‹shop ", "innermost open span: ‹query›, for 1000 ms\n", "mark at 1000 ms: ‹read›, ‹mark› = ‹17›", "· ‹query› failed\n    mark at 2000 ms: ‹GET /b›",
		"mark at 2000 ms: ‹exception›, ‹exception.type› = ‹panic›, ‹exception.message› = ‹no price›\n")
	if strings.Contains(text, "cause: ") || strings.Contains(text, "stacktrace") {
		t.Errorf("the request has a cause or a stack:\n%s", text)
	}
	if byTrace := a.ask("get_request", map[string]any{"request": deadTrace.String()}); byTrace != text {
		t.Errorf("by the trace, the answer is\n%s\nwant\n%s", byTrace, text)
	}
	next = suggested(t, text, "get_span")
	want(t, a.ask(next.tool, next.arguments), "‹span› = ‹17›", "‹error.type› = ‹panic›")
	next = suggested(t, text, "get_deaths")
	want(t, a.ask(next.tool, next.arguments), "death 1 of 1: panic\n")
	if text := a.ask("list_requests", nil); strings.Contains(text, deadID.String()) {
		t.Errorf("list_requests has the request of another process:\n%s", text)
	}
	for _, wrong := range []int{-1, 2} {
		want(t, a.refused("get_deaths", map[string]any{"death": wrong}), fmt.Sprintf("death %d: must be from 1 to 1\n", wrong))
	}
	want(t, a.ask("get_deaths", map[string]any{"death": 1, "offset": math.MaxInt64}), "death 1 of 1: panic\n")
}

// Of several processes, the newest one that did not end well counts. A process without a crash has no place and no text.
func TestSeveralDeaths(t *testing.T) {
	box := openBox(t, "shop")
	end := box.serve(benign)
	crash, gone := leave(t, box.Name(), wordsOf("x", "main.f")), leave(t, box.Name(), "")
	end()
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	ended := leave(t, box.Name(), "")
	for _, c := range []struct {
		name, want string
		dirs       []string
	}{
		{"ended well", "routes from ", []string{ended}},
		{"died", " (killed or exited): get_deaths tells ", []string{gone}},
		{"the newest first", "2 earlier processes of the program died, the last one at ", []string{gone, crash}},
		{"one ended well since", " (panic): get_deaths tells ", []string{ended, crash}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var copies []string
			for _, dir := range c.dirs {
				name := filepath.Join(dir, "perfline-17-00000001")
				words, err := os.ReadFile(name + ".crash")
				if err != nil {
					t.Fatal(err)
				}
				copies = append(copies, leave(t, name+".blackbox", string(words)))
			}
			a := connect(t, mount(t, mcpserver.Handler(deaths(read(t, copies...)), quiet(mcpserver.Config{}))).URL)
			text := after(a.ask("list_routes", nil))
			want(t, text, c.want)
			if len(c.dirs) == 1 && c.dirs[0] == ended {
				if strings.Contains(text, "get_deaths") {
					t.Errorf("list_routes names a process that ended well:\n%s", text)
				}
				return
			}
			next := suggested(t, text, "get_deaths")
			number := next.arguments["death"]
			if n := len(c.dirs); c.dirs[0] == ended && number != 2.0 || c.dirs[0] != ended && number != 1.0 {
				t.Errorf("list_routes suggests the report %v of %d", number, n)
			}
			want(t, a.ask("get_deaths", nil), fmt.Sprintf("reports about earlier processes: %d,", len(c.dirs)))
		})
	}
	a := connect(t, mount(t, mcpserver.Handler(deaths(read(t, gone)), quiet(mcpserver.Config{}))).URL)
	text := a.ask("get_deaths", map[string]any{"death": 1})
	want(t, text, "death 1 of 1: killed or exited\n", "137 means killed›\n", " for 1000\nThe Go runtime left no text.\n")
	if strings.Contains(a.ask("get_deaths", nil), ", in ‹") || strings.Contains(text, "crashed") {
		t.Errorf("a process without a crash has a place:\n%s", text)
	}
}

// Without a report, the overview says nothing, and get_deaths says why.
func TestNoDeaths(t *testing.T) {
	for name, c := range map[string]struct {
		deaths *perfline.Deaths
		want   string
	}{
		"no black box": {nil, "The program has no black box. "},
		"no report":    {new(perfline.Deaths), "No earlier process has left a report.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			a := connect(t, mount(t, mcpserver.Handler(deaths(c.deaths), quiet(mcpserver.Config{}))).URL)
			want(t, after(a.ask("get_deaths", nil)), c.want)
			want(t, a.refused("get_deaths", map[string]any{"death": 1}), "death 1: there is no report about an earlier process\n")
			if text := a.ask("list_routes", nil); strings.Contains(text, "died") || strings.Contains(text, "get_deaths") {
				t.Errorf("list_routes names a death:\n%s", text)
			}
		})
	}
}

// A summary tells that a process died and how, and no name.
func TestDeathsInSummary(t *testing.T) {
	box := openBox(t, "shop")
	defer box.serve(benign)()
	a := connect(t, mount(t, mcpserver.Handler(deaths(box.died(wordsOf("no price", "main.render"))), quiet(mcpserver.Config{Data: guard.Summary}))).URL)
	text := after(a.ask("list_routes", nil))
	want(t, text, "An earlier process of the program died at ", " (panic).\nroutes from ")
	if strings.Contains(text, "render") || strings.Contains(text, "get_deaths") {
		t.Errorf("a summary names more:\n%s", text)
	}
}

// Answers are bounded, and say what they leave out. The file of this process is full.
func TestManyOpenAtDeath(t *testing.T) {
	box := openBox(t, "shop")
	wide := strings.Repeat("\U0001f600", 100)
	defer box.serve(names{route: wide, span: wide, mark: wide, value: wide, other: wide})()
	slots, lost := 1, 3
	for r := box.Region(); r.LeftOut() < uint64(lost); {
		s := r.Take()
		if s == nil {
			continue
		}
		slots++
		id := mirror.SpanID{9, byte(slots), byte(slots >> 8)}
		s.Begin(&mirror.Head{Trace: mirror.TraceID{9}, Span: id, Start: begun, Kind: uint8(trace.SpanKindServer), Name: fmt.Sprint(slots, wide)})
		for i := range 30 {
			s.Attributes().Text("key", wide)
			s.Write(&mirror.Entry{Kind: mirror.Mark, Parent: id, Start: begun, Name: fmt.Sprint("mark", i, wide)})
		}
	}
	if err := box.Close(); err != nil { // a crash may follow a Shutdown
		t.Fatal(err)
	}
	var words strings.Builder
	words.WriteString(wordsOf(wide, "main."+wide))
	for i := range 1000 {
		fmt.Fprintf(&words, "main.f%d%s(...)\n\t/src/%s.go:%d\n", i, wide, wide, i)
	}
	reports := leave(t, box.Name(), words.String())
	a := connect(t, mount(t, mcpserver.Handler(deaths(read(t, reports)), quiet(mcpserver.Config{}))).URL)
	out := fmt.Sprintf("; LOST %d requests had no room in the file\n", lost)
	want(t, a.ask("get_deaths", nil), fmt.Sprintf("open requests: %d, ", slots), out)
	text := a.ask("get_deaths", map[string]any{"death": 1})
	want(t, text, out, fmt.Sprintf("of %d: id", slots), "; LOST 17 older entries had no room in the file\n", " more lines are not printed here\n",
		fmt.Sprintf("%d of other routes\n", slots-20), fmt.Sprintf("the report has no spans of the newest %d\n", slots-200))
	isRequest := regexp.MustCompile(`^[0-9a-f]{16} `).MatchString
	lines, n := pages(t, a, "get_deaths", map[string]any{"death": 1}, isRequest)
	if len(lines) != 200 || n < 2 {
		t.Errorf("the report has %d requests on %d pages, want 200 on several", len(lines), n)
	}
	seen := map[string]bool{}
	for _, l := range lines {
		if seen[l] {
			t.Errorf("a request comes twice: %s", l)
		}
		seen[l] = true
	}
	text = a.ask("get_request", map[string]any{"request": strings.Fields(lines[1])[0]})
	want(t, text, "LOST 17 older entries had no room in the file\n", "‹mark17", "‹mark29") // up to the last one
}

// An answer has the beginning of the runtime's text.
func TestLongText(t *testing.T) {
	words := "panic: x\n" + strings.Repeat("main.f(...)\n", 99)
	a := connect(t, mount(t, mcpserver.Handler(deaths(openBox(t, "shop").died(words)), quiet(mcpserver.Config{}))).URL)
	text := a.ask("get_deaths", map[string]any{"death": 1})
	want(t, text, "no request was open\ntext of the Go runtime, 100 lines:\n‹panic: x›\n", "40 more lines are not printed here\n")
	if n := strings.Count(text, "‹main.f(...)›\n"); n != 59 {
		t.Errorf("the answer has %d further lines, want 59", n)
	}
}

// reported calls a function when the log has a report about an earlier process.
type reported struct {
	slog.Handler
	call func()
}

func (r reported) Handle(_ context.Context, record slog.Record) error {
	if strings.HasPrefix(record.Message, "perfline: an earlier process: ") {
		r.call()
	}
	return nil
}

// startAfter starts the successor of a process that died, and waits for the report.
func startAfter(t *testing.T, dir string, c perfline.Config) *program {
	t.Helper()
	read := make(chan struct{})
	c.BlackBox = dir
	c.Logger = slog.New(reported{slog.NewTextHandler(io.Discard, nil), func() { close(read) }})
	p := start(t, c)
	t.Cleanup(func() { noCrashOutput(t) })
	<-read
	return p
}

// dieIn has a process die in a request, with a text of the runtime.
func dieIn(t *testing.T, words func(goroutine uint64) string) (dir, request string) {
	t.Helper()
	boxes := t.TempDir()
	p := start(t, perfline.Config{BlackBox: boxes, Service: "shop"})
	p.serve("GET /orders/{id}", "/orders/17", func(_ http.ResponseWriter, r *http.Request) {
		ctx, query := marks.Start(r.Context(), "query")
		defer query.End()
		marks.Mark(ctx, "read", slog.String("order", "17"))
		request = trace.SpanContextFromContext(r.Context()).SpanID().String()
		found, err := filepath.Glob(filepath.Join(boxes, "*.blackbox"))
		if err != nil || len(found) != 1 {
			t.Fatalf("the process has the boxes %q, %v", found, err)
		}
		dir = leave(t, found[0], words(goruntime.GoroutineID()))
	})
	return dir, request
}

// The successor of a program that died in a request has the report.
func TestDeathOfAProgram(t *testing.T) {
	dir, request := dieIn(t, func(id uint64) string {
		return fmt.Sprintf("fatal error: concurrent map writes\n\ngoroutine %d [running]:\nmain.render(...)\n\t/src/shop/render.go:42\n", id)
	})
	a := connect(t, mount(t, mcpserver.Handler(startAfter(t, dir, perfline.Config{}).pl, quiet(mcpserver.Config{}))).URL)
	next := suggested(t, a.ask("list_routes", nil), "get_deaths")
	text := a.ask(next.tool, next.arguments)
	want(t, text, "died of a fatal error, concurrent map writes, in main.render (shop/render.go:42), while it served GET /orders/{id}›\n", "\n"+request+" ", " in ‹query› for ")
	next = suggested(t, text, "get_request")
	want(t, a.ask(next.tool, next.arguments), "‹GET /orders/{id}› took ", "· ‹query› failed\n", "‹read›, ‹order› = ‹17›\n")
}
