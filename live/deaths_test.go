package live_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

// A survivor is a source with reports about earlier processes.
type survivor struct {
	perfline.Source
	deaths blackbox.Reports
}

func (s *survivor) Deaths() *perfline.Deaths { return (*perfline.Deaths)(&s.deaths) }

func afterDeaths(s perfline.Source, all ...*blackbox.Report) perfline.Source {
	after := &survivor{Source: s}
	for _, r := range all {
		after.deaths.Add(r)
	}
	return after
}

// died returns the report about a process that dies after write. words are the Go runtime's last words, or "".
func died(t *testing.T, words string, write func(*mirror.Region)) *blackbox.Report {
	t.Helper()
	opened := time.Now()
	box, err := blackbox.Open(blackbox.Config{
		Dir: t.TempDir(), Service: "shop", Origin: opened, Now: func() time.Time { return opened }, Self: func() uint64 { return 7 }, Failed: func(err error) { t.Error(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	write(box.Region())
	return reportOf(t, box.Name(), words)
}

// reportOf returns the report about a process that dies now. A crash leaves what a copy of the file has.
func reportOf(t *testing.T, box, words string) *blackbox.Report {
	t.Helper()
	dead := filepath.Join(t.TempDir(), filepath.Base(box))
	file, err := os.ReadFile(box)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{dead: file, strings.TrimSuffix(dead, ".blackbox") + ".crash": []byte(words)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := blackbox.Take(dead)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	return d.Report()
}

// begun is later than the only heartbeat of the test, and within the five seconds in which another one would come.
const (
	begun = 4 * time.Second
	inFor = 7 * time.Millisecond
)

// openIn begins a request with a number, and unless in is empty, a span in it that is open for inFor.
func openIn(r *mirror.Region, n int, name, in string) {
	s := r.Take()
	s.Attributes()
	var id mirror.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(n))
	s.Begin(&mirror.Head{Trace: mirror.TraceID{1}, Span: id, Kind: 2, Name: name})
	if in != "" {
		s.Attributes()
		s.Write(&mirror.Entry{Kind: mirror.Open, Span: mirror.SpanID{2}, Parent: id, Start: begun, Name: in})
		s.Write(&mirror.Entry{Kind: mirror.Mark, Parent: id, Start: begun + inFor, Name: "last"})
	}
}

type (
	deathRow struct {
		PID      int
		Kind     string
		Last     float64
		Open     int
		Sentence *string
	}
	deathReports struct {
		Reports []struct {
			deathRow
			Started float64
			Words   string
			Routes  []struct {
				Name   string
				Count  int
				Oldest float64
			}
			Requests []struct {
				row
				In      string
				InFor   float64
				Crashed bool
				LeftOut int
			}
			LeftOut, Lost uint64
			Finished      int
		}
	}
)

// deathRows returns the event about deaths.
func (p *program) deathRows() []deathRow {
	p.t.Helper()
	var o struct{ Deaths []deathRow }
	p.get("data/v1/overview", http.StatusOK, &o)
	if o.Deaths == nil {
		p.t.Fatal("the event is missing")
	}
	return o.Deaths
}

func (p *program) deathReports() (d deathReports) {
	p.t.Helper()
	p.get("data/v1/deaths", http.StatusOK, &d)
	return d
}

// The page of the next process says what the process before was serving when it died. The path of a request finds the request,
// which is in no list and no search of this process.
func TestDeaths(t *testing.T) {
	dir := t.TempDir()
	before := start(t, perfline.Config{Service: "shop", BlackBox: dir}, live.Config{})
	before.serve("GET /quick", "/quick", func(http.ResponseWriter, *http.Request) {}) // has ended
	var r *blackbox.Report
	before.serve("GET /items/{id}", "/items/7", func(_ http.ResponseWriter, req *http.Request) {
		marks.Mark(req.Context(), "begun")
		for range 20 {
			marks.Mark(req.Context(), "step")
		}
		_, span := before.pl.TracerProvider().Tracer("test").Start(req.Context(), "lookup")
		defer span.End()
		boxes, err := filepath.Glob(filepath.Join(dir, "*.blackbox"))
		if err != nil || len(boxes) != 1 {
			t.Fatalf("%q, error %v", boxes, err)
		}
		r = reportOf(t, boxes[0], fmt.Sprintf("fatal error: concurrent map writes\n\ngoroutine %d [running]:\nmain.render(0x1)\n\t/src/shop/render.go:42 +0x1d\n", goruntime.GoroutineID()))
	})

	p := start(t, perfline.Config{Service: "shop"}, live.Config{})
	p.page = live.Handler(afterDeaths(p.pl, r), live.Config{})
	p.serve("GET /items/{id}", "/items/8", func(http.ResponseWriter, *http.Request) {})
	rows, reports := p.deathRows(), p.deathReports().Reports
	if len(rows) != 1 || len(reports) != 1 || len(reports[0].Requests) != 1 {
		t.Fatalf("%+v, %+v", rows, reports)
	}
	d, q := reports[0], reports[0].Requests[0]
	const want = "died of a fatal error, concurrent map writes, in main.render (shop/render.go:42), while it served GET /items/{id}"
	for i, got := range []deathRow{rows[0], d.deathRow} {
		if got.Sentence == nil || !strings.HasPrefix(*got.Sentence, "shop (process ") || !strings.HasSuffix(*got.Sentence, want) {
			t.Errorf("%d: got %+v, want %s", i, got, want)
		}
		if got.Kind != string(blackbox.FatalError) || got.PID != os.Getpid() || got.Open != 1 || got.Last < d.Started {
			t.Errorf("%d: got %+v", i, got)
		}
	}
	if !strings.Contains(d.Words, "main.render(0x1)\n\t/src/shop/render.go:42") || len(d.Routes) != 1 || d.Routes[0].Name != "GET /items/{id}" || d.Routes[0].Count != 1 {
		t.Errorf("%+v", d)
	}
	if !q.Crashed || q.In != "lookup" || q.LeftOut == 0 || !q.Failed {
		t.Errorf("%+v", q)
	}

	var dead detail
	path := "data/v1/requests/" + q.Trace + "/" + q.Span
	rec := p.do(ask(http.MethodGet, path, ""))
	p.decode(rec, path, http.StatusOK, &dead)
	if len(dead.Rows) != 2 || dead.Rows[1].Name != "lookup" || dead.Rows[0].Error != "the process ended: fatal error" || len(dead.Rows[0].Marks) < 10 {
		t.Errorf("%+v", dead)
	}
	if strings.Contains(rec.Body.String(), "main.render") {
		t.Errorf("the request has the stack again, which the policy may hide: %s", rec.Body)
	}
	if want := "the request is of an earlier process"; dead.NoWaits != want {
		t.Errorf("no waits: %s, want %s", dead.NoWaits, want)
	}
	var comparison struct{ A, B row }
	p.get("data/v1/compare?a="+q.Trace+"/"+q.Span, http.StatusOK, &comparison)
	if comparison.A.Span != q.Span || comparison.B.Name != q.Name || comparison.B.Span == q.Span {
		t.Errorf("%+v", comparison)
	}
	p.get(path+"/svg", http.StatusOK, nil)
	var found struct{ Requests []row }
	p.get("data/v1/requests", http.StatusOK, &found)
	for _, f := range slices.Concat(found.Requests, p.overview().Requests.Requests) {
		if f.Trace == q.Trace {
			t.Errorf("this process has the request, too: %+v", f)
		}
	}
	p.get("data/v1/requests/"+q.Trace+"/0102030405060708", http.StatusNotFound, nil)
}

// Without a report, there is nothing to show.
func TestNoDeaths(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{})
	if rows, d := p.deathRows(), p.deathReports(); len(rows) > 0 || d.Reports == nil || len(d.Reports) > 0 {
		t.Errorf("%+v, %+v", rows, d)
	}
}

// A summary has the kind of a death and the numbers.
func TestDeathsInSummary(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{})
	r := died(t, "", func(r *mirror.Region) { openIn(r, 1, "GET /", "") })
	p.page = live.Handler(afterDeaths(p.pl, r), live.Config{Data: guard.Summary})
	if rows := p.deathRows(); len(rows) != 1 || rows[0].Kind != string(blackbox.Gone) || rows[0].Open != 1 || rows[0].Last == 0 || rows[0].Sentence != nil {
		t.Errorf("%+v", rows)
	}
	p.get("data/v1/deaths", http.StatusNotFound, nil)
}

// The texts of a dead process are shown with codes for what cannot be seen.
func TestHostileDeaths(t *testing.T) {
	const hostile, codes = "<b>\u202e\x1b[31m\u200b", `<b>\u202e\u001b[31m\u200b`
	p := start(t, perfline.Config{}, live.Config{})
	p.page = live.Handler(afterDeaths(p.pl, died(t, "panic: "+hostile+"\n\ngoroutine 7 [running]:\n", func(r *mirror.Region) { openIn(r, 1, hostile, hostile) })), live.Config{})
	body := p.do(ask(http.MethodGet, "data/v1/deaths", "")).Body.String()
	if i := strings.IndexFunc(body, func(r rune) bool { return r < ' ' && r != '\n' || r == '\u202e' || r == '\u200b' || r == '<' }); i >= 0 {
		t.Errorf("%q is in %s", body[i], body)
	}
	d := p.deathReports().Reports[0]
	for _, got := range []string{*d.Sentence, d.Words, d.Routes[0].Name, d.Requests[0].Name, d.Requests[0].In} {
		if !strings.Contains(got, codes) {
			t.Errorf("%q, want %s in it", got, codes)
		}
	}
	if got, want := d.Requests[0].InFor, float64(inFor)/float64(time.Millisecond); got != want {
		t.Errorf("in the span for %v ms, want %v", got, want)
	}
}

// The answer is bounded, whatever the files have. Each report has its sentence, and the newest one its requests.
func TestDeathsAreBounded(t *testing.T) {
	const processes, requests, most = 8, 300, 200
	wide := strings.Repeat("<", 64<<10) // JSON has six bytes for each
	var all []*blackbox.Report
	for range processes {
		all = append(all, died(t, "fatal error: "+wide, func(r *mirror.Region) {
			for n := range requests {
				openIn(r, n+1, wide, wide)
			}
		}))
	}
	p := start(t, perfline.Config{}, live.Config{})
	p.page = live.Handler(afterDeaths(p.pl, all...), live.Config{})
	rec := p.do(ask(http.MethodGet, "data/v1/deaths", ""))
	if rec.Body.Len() > 2<<20 {
		t.Errorf("%d bytes", rec.Body.Len())
	}
	reports := p.deathReports().Reports
	if len(reports) != processes || len(reports[0].Requests) != most {
		t.Fatalf("%d reports, %d requests", len(reports), len(reports[0].Requests))
	}
	for i, d := range reports {
		if d.Open != requests || *d.Sentence == "" || len(d.Words) < 1000 {
			t.Errorf("%d: %d open, %.100s, %d bytes of words", i, d.Open, *d.Sentence, len(d.Words))
		}
	}
	if rows := p.do(ask(http.MethodGet, "data/v1/overview", "")).Body.Len(); rows > 64<<10 {
		t.Errorf("the event has %d bytes", rows)
	}
}
