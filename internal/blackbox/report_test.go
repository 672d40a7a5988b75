package blackbox

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perfline/perfline/internal/record/mirror"
)

var update = flag.Bool("update", false, "rewrite golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// newDeath returns a death by a nil pointer on goroutine 8, which goroutine 1 created, two hours after the start.
func newDeath(t *testing.T) *Death {
	t.Helper()
	start := time.Date(2026, 11, 30, 1, 12, 40, 0, time.UTC)
	d := &Death{
		Facts:  Facts{PID: 4711, Program: "/bin/shop", Service: "shop", Started: start, Origin: start, Main: "example.com/shop"},
		Status: Status{Beat: 9, At: start.Add(2 * time.Hour), Since: int64(2 * time.Hour)},
		Words:  recordedCrashes(t, "go1.26")["nil"], Last: start.Add(2 * time.Hour),
	}
	d.Crash = readCrash(d.Words, d.Facts.Main)
	d.Kind = d.Crash.Kind
	return d
}

// request returns a request that began some time before the death.
func openRequest(n int, name, route string, before time.Duration) mirror.Request {
	r := mirror.Request{Route: route}
	r.Trace, r.Span = mirror.TraceID{0xab, byte(n >> 8), byte(n)}, mirror.SpanID{0xcd, byte(n >> 8), byte(n)}
	r.Start, r.Goroutine, r.Kind, r.Name = 2*time.Hour-before, 1000+uint64(n), 2, name
	return r
}

// add adds an entry some time before the death.
func add(r *mirror.Request, k mirror.Kind, name string, before, took time.Duration, attributes ...mirror.Attribute) {
	n := byte(len(r.Entries) + 1)
	r.Entries = append(r.Entries, mirror.Recorded{Attributes: attributes, Entry: mirror.Entry{
		Kind: k, Span: mirror.SpanID{n, 0xef, r.Span[1], r.Span[2]}, Parent: r.Span, Start: 2*time.Hour - before, Duration: took, Name: name,
	}})
}

func textOfReport(t *testing.T, r *Report) string {
	t.Helper()
	var s strings.Builder
	if err := r.WriteText(&s); err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// The report of a crash under load fits on some screens: the request that crashed comes first, and the others' rest is one line each.
func TestReport(t *testing.T) {
	d := newDeath(t)
	d.LeftOut, d.Overwritten = 12, 1
	d.Status.Counts = []Count{{"spans given to the queue", 120_000}, {"spans that the backend accepted", 119_500},
		{"requests with spans that were sent again", 3}}
	d.Items = []mirror.Item{{Spans: 7}}
	for i := range 14 {
		r := openRequest(i, "GET", "/items/{id}", time.Duration(1500-i)*time.Millisecond)
		r.Attributes = []mirror.Attribute{{Key: "url.path", Value: fmt.Sprintf("/items/%d", i)}}
		add(&r, mirror.Open, "SELECT stock", 40*time.Millisecond, 0)
		d.Open = append(d.Open, r)
	}
	crashed := openRequest(100, "POST", "/cart/{id}", 300*time.Millisecond)
	crashed.Goroutine = d.Crash.Creator
	crashed.LeftOut = 4
	add(&crashed, mirror.Mark, "cache.miss", 290*time.Millisecond, 0, mirror.Attribute{Key: "key", Value: "cart:7"})
	for i := range 3 {
		add(&crashed, mirror.Span, "SELECT price", time.Duration(280-20*i)*time.Millisecond, 12*time.Millisecond, mirror.Attribute{Key: "rows", Value: int64(1)})
	}
	add(&crashed, mirror.Measure, "render", 200*time.Millisecond, 30*time.Millisecond)
	add(&crashed, mirror.Open, "SELECT price", 190*time.Millisecond, 0)
	add(&crashed, mirror.Open, "total", 150*time.Millisecond, 0)
	d.Open = append(d.Open, crashed)
	text := textOfReport(t, d.Report())
	golden(t, "report.txt", text)
	head, _, _ := strings.Cut(text, "the Go runtime's last words")
	for line := range strings.Lines(head) {
		if n := utf8.RuneCountInString(line) - 1; n > 100 {
			t.Errorf("%d columns in %q", n, line)
		}
	}
}

// Hundreds of open requests with hostile names have at most some screens.
func TestReportOfMany(t *testing.T) {
	d := newDeath(t)
	for i := range 5000 {
		r := openRequest(i, fmt.Sprintf("GET /%d\x1b[2J\n\u202e%s", i, strings.Repeat("x", 60)), "", time.Duration(5000-i)*time.Millisecond)
		add(&r, mirror.Open, "\nfatal error: none", time.Second, 0)
		d.Open = append(d.Open, r)
	}
	r := d.Report()
	text := textOfReport(t, r)
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\nfatal error") {
		t.Error("a name is not escaped")
	}
	for _, want := range []string{"5000 requests were open:", "4980  with other names", "190 other requests in one line each:", "… and 4800 open requests"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	head, _, _ := strings.Cut(text, "other requests in one line each")
	if n := strings.Count(head, "\n"); n > 100 {
		t.Errorf("%d lines before the short ones", n)
	}
	if got := strings.Count(head, "▶ open for"); got != maxWhole {
		t.Errorf("%d waterfalls", got)
	}
}

// A panic runs deferred functions, which may end the request of the goroutine before the process ends. It was open when the panic began.
func TestReportOfUnwoundRequest(t *testing.T) {
	ended := func(n int, goroutine uint64, before time.Duration) mirror.Request {
		r := openRequest(n, fmt.Sprintf("shop.Cart/Total%d", n), "", time.Second)
		r.Goroutine, r.Ended, r.End = goroutine, true, 2*time.Hour-before
		return r
	}
	for _, c := range []struct {
		name, words string
		open        []mirror.Request
		want        string // the request that crashed
		total       int
	}{
		{"the last one of the goroutine", "nil", []mirror.Request{ended(1, 8, 60*time.Millisecond), ended(2, 8, 0), ended(3, 9, 0)}, "shop.Cart/Total2", 1},
		{"another goroutine", "nil", []mirror.Request{ended(1, 9, 0)}, "", 0},
		{"the goroutine has a newer one", "nil", []mirror.Request{ended(1, 8, 0), func() mirror.Request {
			r := openRequest(2, "GET /b", "", time.Millisecond)
			r.Goroutine = 8
			return r
		}()}, "GET /b", 1},
		{"a fatal error runs no deferred functions", "mapwrite", []mirror.Request{ended(1, 8, 0)}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDeath(t)
			d.Words, d.Open = recordedCrashes(t, "go1.26")[c.words], c.open
			d.Crash = readCrash(d.Words, d.Facts.Main)
			d.Crash.Goroutine = 8
			d.Kind = d.Crash.Kind
			r := d.Report()
			got := ""
			if len(r.Open) > 0 && r.Open[0].Crashed {
				got = r.Open[0].Name
			}
			if got != c.want || r.Total != c.total || len(r.Open) != c.total {
				t.Errorf("%q of %d and %d, want %q of %d", got, r.Total, len(r.Open), c.want, c.total)
			}
			if has := strings.HasSuffix(r.Sentence(), "while it served "+c.want); has != (c.want != "") {
				t.Errorf("the sentence is %q", r.Sentence())
			}
		})
	}
}

func TestSentence(t *testing.T) {
	crash := &Crash{Message: "concurrent map access", Function: "main.render", File: "shop/render.go", Line: 42}
	for _, c := range []struct {
		name string
		r    Report
		want string
	}{
		{"ended", Report{Kind: Ended}, "ended well"},
		{"panic", Report{Kind: FatalError, Crash: crash}, "died of a fatal error, concurrent map access, in main.render (shop/render.go:42)"},
		{"without a message", Report{Kind: Panic, Crash: &Crash{Function: "main.f"}}, "died of a panic, in main.f"},
		{"without a place", Report{Kind: Signal, Crash: &Crash{Message: "SIGQUIT: quit"}}, "died of a signal, SIGQUIT: quit"},
		{"memory limit", Report{Kind: MemoryLimit, Memory: Memory{Limit: 512 << 20}}, "was killed at the memory limit of its control group, 512 MiB"},
		{"unknown limit", Report{Kind: MemoryLimit}, "was killed at the memory limit of its control group"},
		{"machine", Report{Kind: Restarted}, "ended with its machine, or its file comes from another machine"},
		{"killed", Report{Kind: Killed, Exit: "signal: killed"}, "was killed (signal: killed)"},
		{"exited", Report{Kind: Exited, Exit: "exit status 3"}, "exited without Shutdown (exit status 3)"},
		{"gone", Report{Kind: Gone}, "was killed, or exited without Shutdown: the exit code tells which, 137 means killed"},
		{"gone near the limit", Report{Kind: Gone, Memory: Memory{Used: 500 << 20, Limit: 512 << 20}},
			"was killed, or exited without Shutdown: the exit code tells which, 137 means killed; its control group used 500 of 512 MiB of memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Service, c.r.PID = "shop\n", 7
			if got, want := c.r.Sentence(), `shop\u000a (process 7) `+c.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
