package integration

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/marks"
)

// The process that is killed is the test's program again. mortalVariable has the name of its service.
const mortalVariable = "PERFLINE_TEST_MORTAL"

// mortal serves requests until it is killed. It prints its address.
func mortal(ctx context.Context, service string) error {
	pl, err := perfline.Start(ctx, perfline.Config{Service: service, Traces: exporter.Config{}})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	query := func(r *http.Request) {
		marks.Time(r.Context(), "query").End()
		marks.Mark(r.Context(), "looked-up")
	}
	mux.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) { query(r) })
	mux.HandleFunc("GET /reports/{id}", func(w http.ResponseWriter, r *http.Request) {
		query(r)
		ctx, span := pl.TracerProvider().Tracer("mortal").Start(r.Context(), "render")
		defer span.End()
		_ = http.NewResponseController(w).Flush() // the client knows that the request is here
		<-ctx.Done()
	})
	handler := bridgehttp.Middleware(mux)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // until the kill
		switch r.URL.Path {
		case "/flush":
			if err := pl.Flush(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		case "/counts": // hands over the ended requests
			pl.Counts()
		default:
			handler.ServeHTTP(w, r)
		}
	}))
}

// A process is killed while requests are open and others wait for Jaeger. After the next start, Jaeger has each of them once.
func TestKilledProcess(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, service := t.TempDir(), serviceName(t)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), mortalVariable+"="+service, "PERFLINE_BLACKBOX_DIR="+dir,
		"OTEL_EXPORTER_OTLP_ENDPOINT="+jaeger.OTLPGRPC(), "OTEL_BSP_SCHEDULE_DELAY=3600000")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(line)+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", path, resp, err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	const delivered, waiting, ended, open = 3, 4, 5, 2 // before the kill
	for range delivered {
		get("/items/1")
	}
	get("/flush")
	for range waiting {
		get("/items/2")
	}
	get("/counts")
	for range ended {
		get("/items/3")
	}
	for range open {
		get("/reports/4")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := blackbox.NoteExit(dir, cmd.Process.Pid, cmd.ProcessState.String()); err != nil {
		t.Fatal(err)
	}
	before, err := jaeger.Traces(ctx, service)
	if err != nil || len(before) != delivered {
		t.Fatalf("before the next start, Jaeger has %d traces, %v, want %d", len(before), err, delivered)
	}

	pl, _, _ := start(t, jaeger, func(c *perfline.Config) { c.BlackBox = dir })
	for reports := (*blackbox.Reports)(pl.Deaths()); len(reports.All()) == 0; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("no report")
		}
	}
	if err := pl.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	// Jaeger merges equal spans: the books say that each was sent once.
	const late = 2*(waiting+ended) + 3*open
	for _, c := range pl.Counts() {
		if c.Group == "perfline.blackbox.spans" && c.Name == "delivered" && c.N != late {
			t.Errorf("%d spans of the killed process were delivered, want %d", c.N, late)
		}
	}
	traces, err := jaeger.Traces(ctx, service)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, spans := range traces {
		var all []string
		for _, s := range spans {
			text := []string{s.Name}
			if s.Tags["error"] == true {
				text = append(text, fmt.Sprint(s.Tags["error.type"]))
			}
			for _, e := range s.Events {
				text = append(text, e.Name)
			}
			all = append(all, strings.Join(text, " "))
		}
		slices.Sort(all)
		got[strings.Join(all, ", ")]++
	}
	want := map[string]int{
		"GET /items/{id} looked-up, query":                         delivered + waiting + ended,
		"GET /reports/{id} killed looked-up, query, render killed": open,
	}
	for text, n := range want {
		if got[text] != n {
			t.Errorf("%d traces of %q, want %d", got[text], text, n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("Jaeger has the traces %v", got)
	}
}
