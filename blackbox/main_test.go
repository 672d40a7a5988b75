package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/record/mirror"
)

// testAs says what the binary of the tests is in a process: the command, or a program that the command runs.
const testAs = "BLACKBOX_TEST_AS"

func TestMain(m *testing.M) {
	switch as := os.Getenv(testAs); as {
	case "":
		os.Exit(m.Run())
	case "command":
		_ = os.Setenv(testAs, "program")
		adopt()
		main()
	default:
		helper(as)
		program(os.Getenv(testProgram))
	}
}

// testProgram says what the program does that the command runs.
const testProgram = "BLACKBOX_TEST_PROGRAM"

// An outcome is what a command prints, and its exit code.
type outcome struct {
	stdout, stderr string
	code           int
}

// command returns the command with arguments, in a session of its own without a terminal.
func command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), testAs+"=command", testProgram+"="+program, dirVariable+"=")
	cmd.SysProcAttr = withoutTerminal()
	return cmd
}

func do(t *testing.T, cmd *exec.Cmd) (o outcome) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// death makes the files of a process that died in a request, and returns the name of the box.
func death(t *testing.T, dir string, pid int, words string) string {
	t.Helper()
	origin := time.Now()
	box, err := blackbox.Open(blackbox.Config{Dir: t.TempDir(), Service: "shop", Origin: origin,
		Self: func() uint64 { return 8 }, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	slot := box.Region().Take()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(pid))
	slot.Begin(&mirror.Head{Trace: mirror.TraceID{1}, Span: n, Kind: 2, Name: "GET /cart"})
	slot.Write(&mirror.Entry{Kind: mirror.Open, Span: mirror.SpanID{2}, Parent: n, Name: "SELECT stock"})
	b, err := os.ReadFile(box.Name())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("perfline-%d-00c0ffee.blackbox", pid))
	write(t, name, b)
	write(t, strings.TrimSuffix(name, ".blackbox")+".crash", []byte(words))
	return name
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents returns the files of a directory, with their times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.ModTime().String() + string(b)
	}
	return all
}

const nilPointer = "panic: no stock\n\ngoroutine 8 [running]:\nmain.total()\n\t/src/shop/main.go:7 +0x1\n"

func TestPrint(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	crashed := death(t, dir, 41, nilPointer)
	killed := death(t, dir, 42, "")
	foreign := filepath.Join(empty, "foreign.txt")
	write(t, foreign, []byte("something else"))
	living, err := blackbox.Open(blackbox.Config{Dir: t.TempDir(), Self: func() uint64 { return 8 }})
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	const (
		ofCrash = "shop (process %d) died of a panic, no stock, in main.total (shop/main.go:7), while it served GET /cart"
		open    = "\n     1  GET /cart  (the oldest for "
	)
	died := strings.Replace(ofCrash, "%d", fmt.Sprint(os.Getpid()), 1)
	unwrapped := func(s string) string { return strings.ReplaceAll(s, "GET\n/cart", "GET /cart") }
	before := contents(t, dir)
	for _, c := range []struct {
		name   string
		args   []string
		want   []string // on the standard output
		stderr string
		code   int
	}{
		{"a file", []string{crashed}, []string{died, open, "▶ open for ", "\n  SELECT stock ▶", "the Go runtime's last words:\npanic: no stock\n"}, "", 0},
		{"a directory", []string{dir}, []string{"== " + crashed + "\n" + died, "== " + killed + "\nshop (process "}, "", 0},
		{"a directory without boxes", []string{empty}, []string{empty + ": no black box"}, "", 0},
		{"a living process", []string{living.Name()}, []string{"no report: the process lives"}, "", 0},
		{"a foreign file beside another", []string{foreign, crashed}, []string{died}, foreign + ": the file is no black box of perfline", exitUnread},
		{"a missing file", []string{filepath.Join(dir, "missing")}, nil, "missing", exitUnread},
		{"nothing", nil, nil, "usage: ", exitUsage},
		{"an unknown flag", []string{"-living", crashed}, nil, "usage: ", exitUsage},
		{"run without a program", []string{"run", "-dir", dir}, nil, "usage: ", exitUsage},
		{"run without a directory", []string{"run", "--", "true"}, nil, "usage: ", exitUsage},
		{"run with an unknown flag", []string{"run", "-x", "--", "true"}, nil, "usage: ", exitUsage},
		{"run of a missing program", []string{"run", "-dir", empty, "--", filepath.Join(dir, "missing")}, nil, "missing", exitNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := do(t, command("", c.args...))
			if got.code != c.code || !strings.Contains(got.stderr, c.stderr) || c.stderr == "" && got.stderr != "" {
				t.Errorf("exit code %d, want %d; %s", got.code, c.code, got.stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(unwrapped(got.stdout), want) {
					t.Errorf("the output lacks %q:\n%s", want, got.stdout)
				}
			}
			if c.want == nil && got.stdout != "" {
				t.Errorf("the output is %q", got.stdout)
			}
		})
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("%q became %q", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	for _, name := range []string{crashed, killed} {
		if f, err := blackbox.Take(name); err != nil || f == nil {
			t.Errorf("the next start does not get %s: %v", name, err)
		}
	}
}

// runs runs a program that opens a black box and then ends in some way. It returns what the command did, and the death.
func runs(t *testing.T, program string) (outcome, *blackbox.Death) {
	t.Helper()
	dir := t.TempDir()
	o := do(t, command(program, "run", "-dir", dir, "--", os.Args[0], "an argument"))
	names, err := blackbox.Find(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v, %+v", names, err, o)
	}
	d, err := blackbox.Peek(names[0])
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	return o, d
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		program string
		kind    blackbox.Kind
		note    string
		code    int
	}{
		{"exit", blackbox.Exited, "exit status 3", 3},
		{"return", blackbox.Exited, "exit status 0", 0},
		{"shutdown", blackbox.Ended, "exit status 0", 0},
		{"panic", blackbox.Panic, "exit status 2", 2},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			o, d := runs(t, c.program)
			if o.code != c.code || d.Kind != c.kind || d.Exit != c.note {
				t.Errorf("exit code %d, kind %s, note %q; want %d, %s, %q", o.code, d.Kind, d.Exit, c.code, c.kind, c.note)
			}
			if o.stdout != "to stdout: an argument\n" || !strings.HasPrefix(o.stderr, "to stderr\n") {
				t.Errorf("the program said %q and %q", o.stdout, o.stderr)
			}
		})
	}
}

// program is the program that the command runs.
func program(how string) {
	fmt.Println("to stdout:", strings.Join(os.Args[1:], " "))
	fmt.Fprintln(os.Stderr, "to stderr")
	box, err := blackbox.Open(blackbox.Config{Dir: os.Getenv(dirVariable), Origin: time.Now(),
		Self: func() uint64 { return 0 }, Failed: func(err error) { panic(err) }})
	if err != nil {
		panic(err)
	}
	switch how {
	case "return":
	case "exit":
		os.Exit(3)
	case "shutdown":
		_ = box.Close()
	case "panic":
		panic("no stock")
	default:
		programUnix(how)
	}
}
