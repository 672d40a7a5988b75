package blackbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/record/mirror"
)

// What a process of the tests does is in this variable, and its directory in the next one.
const (
	role = "PERFLINE_TEST_ROLE"
	home = "PERFLINE_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		leaktest.Main(m)
	case "child": // lives until the test closes the pipe
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "parent": // starts a child, and ends without a word
		if _, err := Open(Config{Dir: os.Getenv(home), Self: nobody, Failed: func(error) {}}); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		child := exec.Command(os.Args[0])
		child.Env, child.Stdin = append(os.Environ(), role+"=child"), os.Stdin
		if err := child.Start(); err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
	}
}

func nobody() uint64 { return 0 }

// openBox opens a box, and closes it at the end of the test. failed may be nil.
func openBox(t *testing.T, dir string, failed func(error)) *Box {
	t.Helper()
	if failed == nil {
		failed = func(err error) { t.Error(err) }
	}
	b, err := Open(Config{Dir: dir, Service: "shop", Resource: []byte{}, Origin: time.Now(), Self: nobody, Failed: failed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// begin begins a request.
func begin(b *Box, name string) *mirror.Slot {
	s := b.Region().Take()
	s.Begin(&mirror.Head{Trace: mirror.TraceID{1}, Span: mirror.SpanID{2}, Kind: 2, Flags: mirror.Sampled, Start: time.Since(b.c.Origin), Name: name})
	return s
}

// end ends a request.
func end(s *mirror.Slot) {
	s.Clear()
	s.Put()
}

// put puts an item of a span into the spool.
func put(b *Box, body string) uint64 {
	b.Spool().Begin()
	defer b.Spool().Commit()
	return b.Spool().Put(1, nil, []byte(body))
}

// died returns the name of a copy of the box's file, as if its process had died now.
func died(t *testing.T, b *Box) string {
	t.Helper()
	bytes, err := os.ReadFile(b.name)
	if err != nil {
		t.Fatal(err)
	}
	return boxFile(t, t.TempDir(), bytes)
}

// boxFile makes a file with the name of a box.
func boxFile(t *testing.T, dir string, bytes []byte) string {
	t.Helper()
	name := fmt.Sprintf("%s/%s1-%08x%s", dir, prefix, len(must(os.ReadDir(dir))), boxSuffix)
	if err := os.WriteFile(name, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// take takes and reads a file.
func take(t *testing.T, name string) (*File, *Death) {
	t.Helper()
	f, err := Take(name)
	if err != nil || f == nil {
		t.Fatalf("%s: taken %v, %v", name, f, err)
	}
	t.Cleanup(func() { _ = f.Close() })
	d, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	return f, d
}
