package analysis_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// A recording is an execution trace, and the roots in it that Read is asked for.
type recording struct {
	data  []byte
	roots []root
	got   []waits.Request // by results
}

// A root is a root span, as its tracer knew it.
type root struct {
	id    trace.SpanID
	began time.Time
	took  time.Duration // zero if the span had not ended
	name  string
}

// The trace's id is the same for all roots that the scenarios make.
var traceID = trace.TraceID{1, 15: 1}

// wanted returns the root as the recorder asks for it.
func (r root) wanted() analysis.Root {
	return analysis.Root{TraceID: traceID, SpanID: r.id, Duration: r.took}
}

// own reports whether a function belongs to the program of the scenarios.
var own = modules.New("github.com/perfline/perfline").Own(nil)

func (r *recording) wanted() (all []analysis.Root) {
	for _, root := range r.roots {
		all = append(all, root.wanted())
	}
	return all
}

// results returns the results of all roots. Tests share them.
func (r *recording) results(j judge) []waits.Request {
	j.Helper()
	if r.got == nil {
		r.got = r.read(j, r.wanted()...)
	}
	return r.got
}

// read returns the results of these roots, and checks what is true for each one.
func (r *recording) read(j judge, wanted ...analysis.Root) []waits.Request {
	j.Helper()
	results, _, err := analysis.Read(bytes.NewReader(r.data), wanted, own, nil)
	if err != nil {
		j.Fatalf("Read: %v", err)
	}
	if len(results) != len(wanted) {
		j.Fatalf("Read returns %d requests, want %d", len(results), len(wanted))
	}
	for i := range results {
		check(j, &results[i])
		checkNames(j, &results[i])
		if results[i].RootID != wanted[i].SpanID || results[i].TraceID != wanted[i].TraceID {
			j.Errorf("request %d is %v of %v, want %+v",
				i, results[i].RootID, results[i].TraceID, wanted[i])
		}
	}
	return results
}

// A fixture has two files: NAME.trace.gz is the trace. NAME.txt has a line for each root, an empty
// line, and the golden result.
const (
	traceSuffix  = ".trace.gz"
	goldenSuffix = ".txt"
)

// folder has the fixtures that a release of Go recorded, such as go1.26.
func folder(release string) string { return filepath.Join("testdata", release) }

// releases returns the releases of Go that have recorded fixtures.
func releases(t testing.TB) (all []string) {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "go1.") {
			all = append(all, e.Name())
		}
	}
	return all
}

// loaded are the fixtures that a test has read. Tests do not change them, and none runs in parallel
// with others.
var loaded = map[string]*recording{}

// load returns a fixture.
func load(t testing.TB, release, name string) *recording {
	t.Helper()
	path := filepath.Join(release, name)
	if loaded[path] == nil {
		loaded[path], _ = read(t, release, name)
	}
	return loaded[path]
}

// read reads a fixture, and its golden result.
func read(t testing.TB, release, name string) (r *recording, golden string) {
	t.Helper()
	path := filepath.Join(folder(release), name)
	compressed, err := os.Open(path + traceSuffix)
	if err != nil {
		t.Fatal(err)
	}
	defer compressed.Close()
	decompressor, err := gzip.NewReader(compressed)
	if err != nil {
		t.Fatal(err)
	}
	r = &recording{}
	if r.data, err = io.ReadAll(decompressor); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path + goldenSuffix)
	if err != nil {
		t.Fatal(err)
	}
	heads, golden, _ := strings.Cut(string(text), "\n\n")
	for line := range strings.Lines(heads) {
		root, err := parseRoot(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatalf("%s%s: %q: %v", path, goldenSuffix, line, err)
		}
		r.roots = append(r.roots, root)
	}
	return r, golden
}

// writeGolden writes the text of a fixture.
func writeGolden(t testing.TB, release, name string, r *recording, got []waits.Request) {
	t.Helper()
	var heads strings.Builder
	for _, root := range r.roots {
		fmt.Fprintln(&heads, root)
	}
	path := filepath.Join(folder(release), name) + goldenSuffix
	if err := os.WriteFile(path, []byte(heads.String()+"\n"+goldenText(got)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// String returns the root's line of a golden file.
func (r root) String() string {
	return fmt.Sprintf("root %s began %s took %v: %s", short(r.id), r.began.UTC().Format(time.RFC3339Nano), r.took, r.name)
}

func parseRoot(line string) (r root, err error) {
	head, name, _ := strings.Cut(line, ": ")
	r.name = name
	var id uint64
	var began, took string
	if _, err = fmt.Sscanf(head, "root %x began %s took %s", &id, &began, &took); err != nil {
		return r, err
	}
	binary.BigEndian.PutUint64(r.id[:], id)
	if r.began, err = time.Parse(time.RFC3339Nano, began); err != nil {
		return r, err
	}
	r.took, err = time.ParseDuration(took)
	return r, err
}

// short returns an id without the zeros before it: scenarios number their spans.
func short(id trace.SpanID) string { return fmt.Sprintf("%x", binary.BigEndian.Uint64(id[:])) }
