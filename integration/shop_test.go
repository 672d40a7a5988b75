package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/perfline/perfline/integration/backend"
)

// buildShop builds the shop as "go run -C examples ./shop" does, when a test first asks for it: to link it takes seconds.
func buildShop(t *testing.T) string {
	t.Helper()
	bin, err := builtShop()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

var builtShop = sync.OnceValues(func() (string, error) { return backend.BuildShop(context.Background(), programs) })

// shop is a command that runs the shop with a clean environment and traces to j.
func shop(bin string, j *backend.Jaeger, service string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+j.OTLPGRPC(), "OTEL_RESOURCE_ATTRIBUTES=test="+service)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

var delivered = regexp.MustCompile(`(\d+) spans for the backend: (\d+) delivered, (\d+) lost\.`)

var slowestTrace = regexp.MustCompile(`(?m) trace ([0-9a-f]{32})$`)

// names counts the spans and events of a trace by name.
func names(spans []backend.Span) map[string]int {
	n := map[string]int{}
	for _, s := range spans {
		n[s.Name]++
		for _, e := range s.Events {
			n[e.Name]++
		}
	}
	return n
}

var folded = regexp.MustCompile(` × (\d+) `)

// rowsOf counts the spans and marks of a name in the text of a request. A row may stand for several.
func rowsOf(shown, name string) (n int) {
	lines := strings.Split(strings.TrimSpace(shown), "\n")
	for _, line := range lines[1:] { // without the heading
		if row := strings.TrimLeft(line, " ◆"); !strings.HasPrefix(row, name+" ") {
			continue
		}
		if m := folded.FindStringSubmatch(line); m != nil {
			several, _ := strconv.Atoi(m[1])
			n += several
		} else {
			n++
		}
	}
	return n
}

// TestShop runs the shop as a user would and looks for its traces, which must be
// as many as it says, under service=shop, with the tree that its code makes.
func TestShop(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := serviceName(t)
	cmd, out := shop(buildShop(t), jaeger, run, "-for", "2s", "-rps", "100")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := out.String()
	for _, want := range []string{"load: 100 %", "POST /orders", "GET /products/{id}", "GET /", "accepted-to-paid", "The slowest request:", "checkout"} {
		if !strings.Contains(text, want) {
			t.Errorf("the shop's output lacks %q", want)
		}
	}
	m := delivered.FindStringSubmatch(text)
	if m == nil || m[1] != m[2] || m[3] != "0" {
		t.Fatalf("the shop does not say that all was delivered:\n%s", text)
	}
	traces, err := jaeger.Traces(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	for id, spans := range traces {
		if spans[0].Process["test"] != run { // other tests run the shop, too
			delete(traces, id)
		}
	}
	n, routes := 0, map[string]int{}
	for _, spans := range traces {
		n += len(spans)
		byID := map[string]backend.Span{}
		for _, s := range spans {
			byID[s.ID] = s
		}
		for _, s := range spans {
			parent := byID[s.ParentID].Name
			switch s.Name {
			case "checkout", "accepted-to-paid", "encode":
				if parent != "POST /orders" && parent != "checkout" && parent != "GET /products/{id}" && parent != "GET /search" {
					t.Errorf("parent of %q is %q", s.Name, parent)
				}
			case "POST", "sql.conn.exec":
				if parent != "checkout" && parent != "" { // the store's first statement makes its tables
					t.Errorf("parent of %q is %q, want checkout", s.Name, parent)
				}
			case "POST /payments":
				if parent != "POST" || s.Tags["span.kind"] != "server" {
					t.Errorf("%q is a %v under %q, want a server span under the call", s.Name, s.Tags["span.kind"], parent)
				}
			case "shop.Shipping/Quote":
				if kind := s.Tags["span.kind"]; (kind == "client" && parent != "POST /orders") || (kind == "server" && parent != s.Name) {
					t.Errorf("%q is a %v under %q", s.Name, kind, parent)
				}
			case "GET /{$}", "GET /products/{id}", "GET /search", "POST /orders":
				routes[s.Name]++
				if s.Tags["http.response.status_code"] == nil || s.Tags["http.route"] == nil || s.Tags["http.request.method"] == nil {
					t.Errorf("server span %q lacks status, route or method: %v", s.Name, s.Tags)
				}
			}
		}
	}
	if strconv.Itoa(n) != m[1] {
		t.Errorf("%d spans in Jaeger, the shop says %s", n, m[1])
	}
	if len(routes) != 4 {
		t.Errorf("server spans by route: %v, want four routes", routes)
	}
	_, shown, _ := strings.Cut(text, "The slowest request:")
	slowest := slowestTrace.FindStringSubmatch(shown)
	if slowest == nil {
		t.Fatalf("the shop does not say which trace was the slowest:\n%s", text)
	}
	if slices.ContainsFunc(traces[slowest[1]], func(s backend.Span) bool { return len(s.Events) > 0 }) && !strings.Contains(shown, "◆") {
		t.Error("the waterfall shows no mark")
	}
	for name, n := range names(traces[slowest[1]]) {
		if got := rowsOf(shown, name); got < n { // other names may begin with this one
			t.Errorf("the waterfall shows %q %d times, Jaeger has %d", name, got, n)
		}
	}
	ordersAreWhole(t, traces)
	t.Logf("routes %v, %d spans in Jaeger\n%s", routes, n, text)
}

// ordersAreWhole wants of each order HTTP in and out, gRPC in and out, SQL, measures
// and marks.
func ordersAreWhole(t *testing.T, traces map[string][]backend.Span) {
	t.Helper()
	orders := 0
	for _, spans := range traces {
		got := names(spans)
		if got["POST /orders"] == 0 {
			continue
		}
		orders++
		for name, want := range map[string]int{
			"POST /orders": 1, "POST": 1, "POST /payments": 1, "shop.Shipping/Quote": 2, "sql.conn.exec": 2,
			"checkout": 1, "bank": 1, "tariff": 1, "accepted-to-paid": 1, "order.accepted": 1, "order.paid": 1,
		} {
			if got[name] != want {
				t.Errorf("an order has %d × %q in Jaeger, want %d; it has %v", got[name], name, want, got)
			}
		}
	}
	if orders == 0 {
		t.Error("no order in Jaeger")
	}
}

// underLoad is what the shop prints each second: it has answered some requests.
var underLoad = regexp.MustCompile(`s of \S+  [1-9]\d* requests`)

// TestShopInterrupted ends the shop as a terminal or an orchestrator does.
func TestShopInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bin := buildShop(t)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd, out := shop(bin, jaeger, t.Name(), "-for", "1h")
			progress := &output{}
			cmd.Stderr = progress
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := progress.await(ctx, underLoad); err != nil {
				t.Error(err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			m := delivered.FindStringSubmatch(out.String())
			if m == nil || m[1] != m[2] || m[1] == "0" {
				t.Errorf("after %v the shop does not say that all was delivered:\n%s", sig, out)
			}
		})
	}
}

// TestShopWithoutJaeger kills Jaeger in the middle of a run. The shop counts what is lost, and says so.
func TestShopWithoutJaeger(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	j := ownJaeger(ctx, t)
	cmd, _ := shop(buildShop(t), j, t.Name(), "-for", "1h", "-rps", "200")
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(cmd.Env, "OTEL_BSP_SCHEDULE_DELAY=200")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := out.await(ctx, underLoad); err != nil {
		t.Error(err)
	}
	if err := j.Kill(); err != nil {
		t.Error(err)
	}
	if err := out.await(ctx, regexp.MustCompile("spans are not delivered")); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("the shop lost spans and ended without an error")
	}
	m := delivered.FindStringSubmatch(out.String())
	if m == nil || m[3] == "0" {
		t.Errorf("the shop does not say that spans were lost:\n%s", out)
	}
	if n := strings.Count(out.String(), "spans are not delivered"); n != 1 {
		t.Errorf("%d log lines about the outage, want one:\n%s", n, out)
	}
}
