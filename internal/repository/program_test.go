//go:build unix

package repository_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// The README's program, in a module outside with the README's lines for go.mod, serves requests and the page at the address that it
// prints. After SIGTERM it delivers the spans of its requests, and ends without an error.
func TestProgramOutside(t *testing.T) {
	atRoot(t)
	program := buildOutside(t)
	backend := startReceiver(t)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OTEL_") }),
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://"+backend.address)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	page, log := pageAddress(t, stderr)
	root := strings.TrimSuffix(page, "/debug/perfline/")
	for _, url := range []string{root + "/hello/a", root + "/hello/b", root + "/hello/c", page} {
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %s", url, answer.Status)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(log)
	if err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the program ends with %v", err)
	}
	if strings.Contains(string(rest), "lost") {
		t.Errorf("the program says at its end:\n%s", rest)
	}
	want := slices.Repeat([]string{"GET /hello/{name}"}, 3)
	if got := backend.serverSpans(); !slices.Equal(got, want) {
		t.Errorf("the backend has the server spans %q, want %q", got, want)
	}
}

// buildOutside does what the README says, in an empty folder, and returns the path of the program. The program takes a free port.
func buildOutside(t *testing.T) string {
	t.Helper()
	clone, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	readme := string(read(t, "README.md"))
	source := between(t, readme, "<!-- program -->\n\n```go\n", "```\n")
	lines := between(t, readme, "\n```\nreplace (\n", ")\n```\n")
	const port, beside = `"localhost:8080"`, " ../perfline"
	if strings.Count(source, port) != 1 || !strings.Contains(lines, beside) {
		t.Fatalf("the README's program lacks %s, or its lines for go.mod lack a clone at %s", port, beside)
	}
	dir := t.TempDir()
	goCommand := func(args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goCommand("mod", "init", "example.com/hello")
	write("go.mod", string(read(t, filepath.Join(dir, "go.mod")))+"\nreplace (\n"+strings.ReplaceAll(lines, beside, " "+clone)+")\n")
	write("go.sum", string(read(t, "go.sum"))+string(read(t, "mcpserver/go.sum"))) // go mod tidy need not ask for the sums
	write("main.go", strings.Replace(source, port, `"localhost:0"`, 1))
	write("agents/agents.go", "package agents\n\nimport (\n\t_ \""+module+"/mcpserver\"\n\t_ \""+module+"/observer\"\n)\n")
	goCommand("mod", "tidy")
	goCommand("build", "-o", "built"+string(filepath.Separator), "./...")
	return filepath.Join(dir, "built", "hello")
}

// between returns the text after begin and before the next end.
func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, rest, begins := strings.Cut(text, begin)
	found, _, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("the README has nothing between %q and %q", begin, end)
	}
	return found
}

// pageAddress reads a program's log up to the address of the page, and returns the rest.
func pageAddress(t *testing.T, log io.Reader) (address string, rest io.Reader) {
	t.Helper()
	lines := bufio.NewReader(log)
	var all strings.Builder
	for {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if page := regexp.MustCompile(`http://\S+/debug/perfline/`).FindString(line); page != "" {
			return page, lines
		}
		if err != nil {
			t.Fatalf("the program prints no address of the page: %v\n%s", err, &all)
		}
	}
}

// A receiver is a backend that takes spans over gRPC.
type receiver struct {
	address string
	mu      sync.Mutex
	names   []string // of server spans
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{address: l.Addr().String()}
	srv := grpc.NewServer()
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.trace.v1.TraceService",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: export}},
	}, r)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	return r
}

// export takes the spans of a call. Its answer is an empty message. The generated service would bring grpc-gateway into go.mod.
func export(srv any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	r, q := srv.(*receiver), new(tracepb.TracesData)
	if err := decode(q); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range q.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				if span.GetKind() == tracepb.Span_SPAN_KIND_SERVER {
					r.names = append(r.names, span.GetName())
				}
			}
		}
	}
	return new(tracepb.TracesData), nil
}

func (r *receiver) serverSpans() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}
