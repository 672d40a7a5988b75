package flight

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// A snapshot with a recorded trace becomes the result of its request.
func TestRecordedTrace(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("internal", "analysis", "testdata", "go1.*", "mutex.trace.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded trace: %v", err)
	}
	for _, path := range files {
		t.Run(path, func(t *testing.T) {
			data := unzipped(t, path)
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, Config{}, &fake{data: data, read: func(r io.ReadSeeker, wanted []analysis.Root, own func(string) bool, pause func()) ([]waits.Request, time.Time, error) {
					if !own("example.com/shop/store.Save") || own("example.com/lib.Save") {
						t.Error("the reader does not know the modules of the program")
					}
					return analysis.Read(r, wanted, own, pause)
				}})
				h.SetModules([]string{"example.com/shop"})
				h.arm(t, 0)
				item := bridge.Root{TraceID: trace.TraceID{1, 15: 1}, SpanID: trace.SpanID{7: 2}, Name: "GET /item"}
				other := root(1)
				h.Slow(item)
				h.Slow(other)
				time.Sleep(time.Second)
				synctest.Wait()
				got, ok := h.Result(item.TraceID, item.SpanID)
				if !ok {
					t.Fatalf("no result: %+v", h.Stats())
				}
				c := got.Causes[0]
				if got.Name != item.Name || c.Kind != waits.Mutex || c.By == nil || c.By.Request != "GET /search" {
					t.Errorf("the result is %+v, want a mutex of GET /search", got)
				}
				addsUp(t, got)
				if s := h.Stats(); s.Analysed != 1 || s.NotFound != 1 || s.SnapshotBytes != uint64(len(data)) {
					t.Errorf("got %+v, want 1 result, and 1 request that is not in the trace", s)
				}
			})
		})
	}
}

func unzipped(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
