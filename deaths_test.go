package perfline_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/marks"
)

// deathVariable is how the process of a test dies, and deathDir the directory of its black box.
const (
	deathVariable = "PERFLINE_TEST_DEATH"
	deathDir      = "PERFLINE_TEST_DEATH_DIR"
)

// die is the program of the process: its backend is away, one request has ended, and one is open.
func die(how string) error {
	ctx := context.Background()
	_, err := perfline.Start(ctx, perfline.Config{
		Service: "mortal", BlackBox: os.Getenv(deathDir),
		Traces: exporter.Config{Sender: &receiver{answer: exporter.Answer{Err: errors.New("away"), Retry: true}}},
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /done", func(_ http.ResponseWriter, r *http.Request) {
		marks.Time(r.Context(), "render").End()
	})
	mux.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) {
		marks.Time(r.Context(), "query").End()
		marks.Mark(r.Context(), "looked-up")
		if how == "nil" {
			var none *struct{ total int }
			go func() { none.total++ }()
		}
		fmt.Println("open")
		select {}
	})
	serve := func(path string) {
		bridgehttp.Middleware(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, http.NoBody))
	}
	serve("/done")
	if how == "job" {
		func() {
			ctx, job := marks.StartJob(ctx, "import")
			defer job.End() // runs before the process dies
			marks.Mark(ctx, "looked-up")
			panic("no such file")
		}()
	}
	serve("/items/7")
	return nil
}

// A process dies. The next process with the same directory reports the open requests, and delivers all spans once.
func TestDeaths(t *testing.T) {
	for _, c := range []struct {
		how       string
		note      bool // the parent notes the exit
		kind      blackbox.Kind
		errorType string
		open      string
		place     string
	}{
		{how: "nil", kind: blackbox.Panic, errorType: "panic", open: "GET /items/{id}", place: "die.func"},
		{how: "job", kind: blackbox.Panic, errorType: "panic", open: "import", place: "die.func"},
		{how: "kill", kind: blackbox.Gone, errorType: "killed_or_exited", open: "GET /items/{id}"},
		{how: "kill", note: true, kind: blackbox.Killed, errorType: "killed", open: "GET /items/{id}"},
	} {
		t.Run(fmt.Sprintf("%s/note=%t", c.how, c.note), func(t *testing.T) {
			dir := t.TempDir()
			state, pid := dies(t, dir, c.how)
			if c.note {
				if err := blackbox.NoteExit(dir, pid, state); err != nil {
					t.Fatal(err)
				}
			}
			backend := &receiver{}
			pl, _, log := start(t, perfline.Config{BlackBox: dir, Traces: exporter.Config{Sender: backend}})
			report := (*blackbox.Reports)(pl.Deaths())
			for end := patient(t); len(report.All()) == 0; time.Sleep(time.Millisecond) {
				if end.Err() != nil {
					t.Fatal("no report")
				}
			}
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			r := report.All()[0]
			crashed := len(r.Open) == 1 && r.Open[0].Crashed
			if r.Kind != c.kind || r.PID != pid || r.OpenByRoute() != "1 "+c.open || crashed != (c.place != "") {
				t.Errorf("the report says %q of %d, open %q, crashed %t", r.Kind, r.PID, r.OpenByRoute(), crashed)
			}
			if c.place != "" && (r.Crash == nil || !strings.Contains(r.Crash.Place(), c.place)) {
				t.Errorf("the crash is %+v, want the function %s", r.Crash, c.place)
			}
			for _, want := range []string{string(c.kind), "1 " + c.open} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q: %s", want, log)
				}
			}
			want := []string{"GET /done", "render", c.open + " " + c.errorType + " looked-up"}
			if c.how != "job" {
				want = append(want, "query")
			}
			slices.Sort(want)
			if got := told(t, backend); !slices.Equal(got, want) {
				t.Errorf("the backend has %q, want %q", got, want)
			}
			if left, err := blackbox.Find(dir); err != nil || len(left) != 1 { // of this process
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// dies runs the program until its death, and returns how the parent sees the death.
func dies(t *testing.T, dir, how string) (state string, pid int) {
	t.Helper()
	cmd := exec.CommandContext(patient(t), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), deathVariable+"="+how, deathDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	switch {
	case how == "kill" && err != nil:
		t.Errorf("the process says %q, %v", line, err)
		fallthrough
	case how == "kill":
		_ = cmd.Process.Kill()
	default:
		_, _ = io.Copy(io.Discard, out)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended well")
	}
	return cmd.ProcessState.String(), cmd.Process.Pid
}

// told returns the spans at the backend, with error.type and the marks of failed ones.
func told(t *testing.T, r *receiver) (all []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		var request tracepb.TracesData
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					text := []string{s.GetName()}
					if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
						for _, a := range s.GetAttributes() {
							if a.GetKey() == "error.type" {
								text = append(text, a.GetValue().GetStringValue())
							}
						}
						for _, e := range s.GetEvents() {
							if e.GetName() != "exception" {
								text = append(text, e.GetName())
							}
						}
					}
					all = append(all, strings.Join(text, " "))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
