package live_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// The marker and its file are in all that is recorded about two requests, and a visible function.
const (
	marker        = "hiddenMarker"
	markerName    = "github.com/perfline/perfline/live_test." + marker
	markerFile    = "hidden_marker_test.go"
	visibleMarker = "net/http.visibleMarker"
)

// waitedIn is a result of the waits recorder with the marker in each text that names code.
func waitedIn(q requests.Request, file string) *waits.Request {
	hidden := waits.Frame{Function: markerName, File: file, Line: 1}
	stack := []waits.Frame{{Function: "sync.(*Mutex).Lock"}, hidden, {Function: visibleMarker}}
	by := &waits.Party{Goroutine: 5, Function: markerName, Stack: stack[1:], Request: q.Root.Name}
	took := q.Root.Duration()
	alone := &waits.Party{Goroutine: 6, Function: markerName, Stack: []waits.Frame{hidden}}
	return &waits.Request{
		TraceID: q.TraceID(), RootID: q.Root.SpanID, Name: q.Root.Name, Start: q.Root.Start, Duration: took,
		Goroutines: []waits.Goroutine{
			{ID: 1, Function: markerName, Intervals: []waits.Interval{
				{Kind: waits.OnCPU, End: took * 7 / 8, SpanID: q.Root.SpanID, Stack: []waits.Frame{hidden}},
				{Kind: waits.Mutex, Start: took * 7 / 8, End: took, SpanID: q.Root.SpanID, Stack: stack, By: by},
			}},
			{ID: 2, Function: markerName, Intervals: []waits.Interval{
				{Kind: waits.ChannelReceive, End: took, SpanID: q.Root.SpanID, Stack: stack, By: alone},
			}},
		},
		Causes: []waits.Cause{
			{Kind: waits.Mutex, Duration: took * 3 / 4, Function: markerName, Via: markerName, SpanID: q.Root.SpanID, Span: q.Root.Name, By: by, In: by},
			{Kind: waits.OnCPU, Duration: took / 4, Function: markerName + ".func1", SpanID: q.Root.SpanID, Span: q.Root.Name, By: alone},
		},
	}
}

// A minute is a source with a profile of the last minute.
type minute struct {
	perfline.Source
	trace *profile.Trace
}

// crashedIn is the Go runtime's text about a crash in the marker.
func crashedIn(file string) string {
	const arguments = "(0x1, {0x2, 0x3})\n\t"
	return "fatal error: concurrent map writes\n\ngoroutine 7 [running]:\n" + visibleMarker + arguments + "/src/net/http/server.go:1 +0x1d\n" + markerName + arguments + file + ":1 +0x1d\n" +
		"created by " + markerName + " in goroutine 1\n\t" + file + ":1 +0x1d\n\ngoroutine 8 [select]:\n" + markerName + "(...)"
}

func (m minute) LastMinute() *profile.Trace { return m.trace }

// A markedProgram has recorded two requests in the marker, in session 1, by the waits recorder and by a profiler that runs all the time.
type markedProgram struct {
	*program
	file  string // of the marker
	roots [2]requests.Request
	named bool // the profile of the last minute knows the requests of its samples: not where goroutines have no labels
}

func marked(t *testing.T, modules ...string) *markedProgram {
	t.Helper()
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 1 << 10
	p, f := withWaits(t, perfline.Config{Sessions: sessions.Config{Policy: profiling.Policy{Remote: true, Modules: modules}}})
	always, err := profiling.Start(t.Context(), profiling.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &markedProgram{program: p}
	id, err := p.pl.Sessions().Start(t.Context(), sessions.StartOptions{Process: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p.serve("GET /marked", "/marked", func(http.ResponseWriter, *http.Request) { hiddenMarker(p.sampled()) })
	}
	if _, err := p.pl.Sessions().Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	last, err := always.Stop()
	if err != nil {
		t.Fatal(err)
	}
	m.named = slices.ContainsFunc(last.Contexts, func(c profile.SampleContext) bool { return c.SpanName == "GET /marked" })
	m.file = fileOfMarker()
	if filepath.Base(m.file) != markerFile {
		t.Fatalf("the marker is in the file %q", m.file)
	}
	p.page = live.Handler(minute{afterDeaths(p.pl, died(t, crashedIn(m.file), func(*mirror.Region) {})), last}, live.Config{Logger: slog.New(slog.DiscardHandler)})
	for i, s := range stored(p.pl).Requests()[:len(m.roots)] {
		m.roots[i] = s.Request()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range m.roots {
		f.results[q.Root.SpanID] = waitedIn(q, m.file)
	}
	return m
}

// A hiddenRow has the questions of a route.
type hiddenRow struct {
	names     bool     // the answers name the marker, if the policy shows all modules
	body      string   // of POST
	questions []string // paths; of a stream or a procedure, none
}

// hiddenRows has a row for each route.
func (m *markedProgram) hiddenRows() map[string]hiddenRow {
	path := func(q requests.Request) string { return q.TraceID().String() + "/" + q.Root.SpanID.String() }
	one, other := path(m.roots[0]), path(m.roots[1])
	ofRequest := "trace=" + strings.ReplaceAll(one, "/", "&span=")
	timeline := strconv.Itoa(int(m.contents(1)["GET /marked"].Route))
	profiles := []string{"last=minute", "session=1", "session=1&route=" + timeline, "session=1&timeline=" + timeline, ofRequest, ofRequest + "&session=1&running"}
	if m.named {
		profiles = append(profiles, "last=minute&name=GET+%2Fmarked")
	}
	profiled := func(path string, more func(i int) string) (all []string) {
		for i, q := range profiles {
			all = append(all, path+"?"+q+more(i))
		}
		return all
	}
	nothing := func(int) string { return "" }
	files := func(of string) (all []string) {
		var d struct{ Files []struct{ Format string } }
		m.get(of, http.StatusOK, &d)
		for _, f := range d.Files {
			all = append(all, of+"/"+f.Format)
		}
		return all
	}
	events := `{"sessionID":1,"timelineID":` + timeline + `}`
	const recorded = "data/v1/sessions/1"
	return map[string]hiddenRow{
		"GET data/v1/overview":                         {names: true, questions: []string{"data/v1/overview"}},
		"GET data/v1/stream":                           {names: true},
		"GET data/v1/routes":                           {questions: []string{"data/v1/routes", "data/v1/routes?window=start"}},
		"GET data/v1/routes/heat":                      {questions: []string{"data/v1/routes/heat"}},
		"GET data/v1/requests":                         {questions: []string{"data/v1/requests", "data/v1/requests?text=marked"}},
		"GET data/v1/runtime":                          {questions: []string{"data/v1/runtime"}},
		"GET data/v1/requests/{trace}/{span}":          {names: true, questions: []string{"data/v1/requests/" + one}},
		"GET data/v1/requests/{trace}/{span}/samples":  {names: true, questions: []string{"data/v1/requests/" + one + "/samples"}},
		"GET data/v1/requests/{trace}/{span}/waits":    {names: true, questions: []string{"data/v1/requests/" + one + "/waits?from=0&columns=7&to=" + strconv.FormatInt(m.roots[0].Root.Duration().Milliseconds(), 10)}},
		"GET data/v1/requests/{trace}/{span}/{format}": {names: true, questions: files("data/v1/requests/" + one)},
		"GET data/v1/compare":                          {names: true, questions: []string{"data/v1/compare?a=" + one + "&b=" + other, "data/v1/compare?a=" + one}},
		"GET data/v1/profile/flame":                    {names: true, questions: profiled("data/v1/profile/flame", nothing)},
		"GET data/v1/profile/functions":                {names: true, questions: profiled("data/v1/profile/functions", nothing)},
		"GET data/v1/profile/sandwich":                 {names: true, questions: profiled("data/v1/profile/sandwich", func(int) string { return "&function=" + url.QueryEscape("net/http.HandlerFunc.ServeHTTP") })},
		"GET data/v1/profile/difference":               {names: true, questions: profiled("data/v1/profile/difference", func(i int) string { return "&with=" + url.QueryEscape(profiles[(i+2)%len(profiles)]) })},
		"GET data/v1/sessions/{id}":                    {questions: []string{recorded}},
		"GET data/v1/sessions/{id}/{format}":           {names: true, questions: files(recorded)},
		"GET data/v1/deaths":                           {names: true, questions: []string{"data/v1/deaths"}},
		"POST data/v1/leaks":                           {names: hasLeakProfile(), questions: []string{"data/v1/leaks"}},
		"POST waits/arm":                               {body: `{"length":1000}`, questions: []string{"waits/arm"}},
		"POST waits/disarm":                            {body: "{}", questions: []string{"waits/disarm"}},
		"POST rpc/ListSessions":                        {body: "{}"},
		"POST rpc/GetSession":                          {body: `{"sessionID":1}`},
		"POST rpc/GetEvents":                           {names: true, body: events},
		"POST rpc/StreamEvents":                        {names: true, body: events},
		"POST rpc/WatchSession":                        {body: `{"sessionID":1}`},
		"POST rpc/StartProfiler":                       {body: `{"startMode":"START_MODE_IMMEDIATE"}`},
		"POST rpc/StopProfiler":                        {body: `{"sessionID":2}`},
		"POST rpc/ReleaseSession":                      {body: `{"sessionID":2}`},
	}
}

// hiddenRoutes returns all routes, in the order in which the test asks: from the patterns in the code, and from the service.
func hiddenRoutes(t *testing.T) (all []string, streams map[string]bool) {
	t.Helper()
	for _, p := range patterns(t) {
		all = append(all, p.method+" "+p.path)
	}
	methods := pb.File_perfline_profiler_v1_profiler_proto.Services().ByName("ProfilerService").Methods()
	streams = map[string]bool{}
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		streams[name] = methods.Get(i).IsStreamingServer()
		all = append(all, "POST rpc/"+name)
	}
	last := func(route string) int {
		return slices.Index([]string{"POST rpc/StartProfiler", "POST rpc/StopProfiler", "POST rpc/ReleaseSession"}, route)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(last(a), last(b)) })
	return all, streams
}

// hiddenAnswers returns the answers of all routes, by their questions.
func (m *markedProgram) hiddenAnswers() map[string]map[string]string {
	m.t.Helper()
	routes, streams := hiddenRoutes(m.t)
	rows := m.hiddenRows()
	all := map[string]map[string]string{}
	for _, route := range routes {
		row, ok := rows[route]
		if !ok {
			m.t.Errorf("%s has no row: add its questions to hiddenRows", route)
			continue
		}
		method, path, _ := strings.Cut(route, " ")
		answers := map[string]string{}
		all[route] = answers
		procedure, isProcedure := strings.CutPrefix(path, "rpc/")
		switch {
		case path == "data/v1/stream":
			answers[path] = m.firstEvents()
			continue
		case isProcedure:
			row.questions = []string{"rpc/perfline.profiler.v1.ProfilerService/" + procedure}
		}
		for _, question := range row.questions {
			r := ask(method, question, row.body)
			if streams[procedure] {
				head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(row.body)))
				r = ask(method, question, string(head)+row.body)
				r.Header.Set("Content-Type", "application/connect+json")
			}
			rec := m.do(r)
			if rec.Code != http.StatusOK && (rec.Code != http.StatusNotFound || path != "data/v1/leaks") {
				m.t.Errorf("%s: status %d, %s", question, rec.Code, rec.Body)
			}
			answers[question] = unzipped(m.t, rec.Body.Bytes())
		}
	}
	return all
}

func unzipped(t *testing.T, body []byte) string {
	t.Helper()
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return string(body)
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// No answer names a function of a module that the policy hides, or its file. With all modules, those with functions do.
func TestHiddenModulesAreNowhere(t *testing.T) {
	for _, c := range []struct {
		name    string
		modules []string
		hidden  bool
	}{{"hidden", []string{profiling.ModuleStandard}, true}, {"shown", []string{profiling.ModuleAny}, false}} {
		t.Run(c.name, func(t *testing.T) {
			m := marked(t, c.modules...)
			rows := m.hiddenRows()
			for route, answers := range m.hiddenAnswers() {
				for question, answer := range answers {
					if c.hidden {
						wantUnnamed(t, question, answer)
						continue
					}
					wants := rows[route].names && !strings.HasSuffix(question, "/otlp") // which has the spans only
					if named := strings.Contains(answer, marker); named != wants {
						t.Errorf("%s names the marker: %t, its row says %t", question, named, wants)
					}
				}
			}
		})
	}
}

func wantUnnamed(t *testing.T, question, answer string) {
	t.Helper()
	for _, text := range []string{marker, strings.TrimSuffix(markerFile, ".go")} {
		if at := strings.Index(answer, text); at >= 0 {
			t.Errorf("%s has %s: …%q…", question, text, answer[max(0, at-100):min(len(answer), at+100)])
		}
	}
}
