package peers_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

// differences are what differs between otelhttp and us; docs/lab/otelhttp.md shows
// them.
var differences = []difference{
	// Servers' spans.
	{where: "server span", what: "instrumentation scope", theirs: "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", ours: "github.com/perfline/perfline",
		why: "it says who made the span"},
	{where: "server span", what: "http.route", theirs: absent, ours: "/items/{id}", but: []string{"no route"},
		why: "required when it is known; otelhttp has it in the name and in metrics only"},
	{where: "server span", what: "name", theirs: "GET", ours: "GET /items/{id}", when: panics,
		why: "otelhttp learns the route when the handler returns"},
	{where: "server span", what: "name", theirs: "GET /items/{id}", ours: "HTTP /items/{id}", when: []string{lower},
		why: "methods are case-sensitive, the span of an unknown one is named HTTP"},
	{where: "server span", what: "http.request.method", theirs: "GET", ours: "_OTHER", when: []string{lower},
		why: "it must match a known method exactly"},
	{where: "server span", what: "name", theirs: "HTTP /items/{id}", ours: "QUERY /items/{id}", when: []string{"QUERY"},
		why: "the conventions list QUERY as known"},
	{where: "server span", what: "http.request.method", theirs: "_OTHER", ours: "QUERY", when: []string{"QUERY"},
		why: "the conventions list QUERY as known"},
	{where: "server span", what: "http.request.method_original", theirs: "QUERY", ours: absent, when: []string{"QUERY"},
		why: "it is for methods that are not known"},
	{where: "server span", what: "network.protocol.version", theirs: "2.0", ours: "2", when: serverHTTP2,
		why: "HTTP/2 is \"2\" in the conventions"},
	{where: "server span", what: "server.address", theirs: `""`, ours: absent, when: []string{"HTTP/1.0 without a Host"},
		why: "there is none"},
	{where: "server span", what: "client.address", theirs: "203.0.113.9 ", ours: "203.0.113.9", when: []string{"X-Forwarded-For, a blank before the comma"},
		why: "the blank is no part of it"},
	{where: "server span", what: "http.response.body.size", theirs: absent, ours: "25", when: []string{"POST with a body", "http.ServeContent", "a panic in the response"},
		why: "otelhttp does not count what io.Copy hands to the writer's ReadFrom, nor what was sent before a panic"},
	{where: "server span", what: "http.response.body.size", theirs: "25", ours: absent, when: []string{"HEAD"},
		why: "the handler's body is not sent"},
	{where: "server span", what: "http.response.status_code", theirs: absent, ours: "200", when: []string{"a panic in the response"},
		why: "sent before the panic"},
	{where: "server span", what: "http.response.status_code", theirs: "200", ours: absent, when: []string{"a hijacked connection", "a client that is gone"},
		why: "what the handler writes to a hijacked connection is not seen; a client that is gone gets no status"},
	{where: "server span", what: "http.response.status_code", theirs: "400", ours: absent, when: []string{"a body cut short"},
		why: "required if one was received or sent: the client has gone"},
	{where: "server span", what: "error.type", theirs: absent, ours: "client_closed_request", when: left,
		why: "required when the request failed"},
	{where: "server span", what: "error.type", theirs: absent, ours: "handler_aborted", when: []string{"http.ErrAbortHandler"},
		why: "required when the request failed: the client does not get the whole answer"},
	{where: "server span", what: "status", theirs: "Unset", ours: "Error: the answer did not arrive whole", when: append([]string{"http.ErrAbortHandler"}, left...),
		why: "the request failed"},
	{where: "server span", what: "client.address", theirs: "203.0.113.9:51234", ours: "203.0.113.9", when: []string{"X-Forwarded-For with a port"},
		why: "an address has no port"},
	{where: "server span", what: "client.address", theirs: "unknown", ours: "127.0.0.1", when: []string{"X-Forwarded-For without an address"},
		why: "the peer's where the client's is not known"},
	{where: "server span", what: "client.address", theirs: "127.0.0.1", ours: "203.0.113.9", when: []string{"Forwarded"},
		why: "the conventions name Forwarded first"},
	{where: "server span", what: "url.scheme", theirs: "http", ours: "https", when: proxied,
		why: "the scheme of the client's request, if a proxy tells it"},
	{where: "server metrics", what: "url.scheme", theirs: "http", ours: "https", when: proxied,
		why: "the scheme of the client's request, if a proxy tells it"},
	{where: "server span", what: "server.address", theirs: "127.0.0.1", ours: "www.shop.example", when: proxied,
		why: "the host of the client's request, if a proxy tells it"},
	{where: "server span", what: "server.port", theirs: "PORT", ours: absent, when: proxied,
		why: "the port of the client's request, if a proxy tells it: the usual one"},
	{where: "server span", what: "perfline.stream", theirs: absent, ours: "true", when: []string{"a hijacked connection"},
		why: "a stream lasts as long as its client stays: it is not a slow request"},
	{where: "server span", what: "error.type", theirs: absent, ours: "500", when: []string{"500"},
		why: "required when the status is an error"},
	{where: "server span", what: "error.type", theirs: absent, ours: "600", when: []string{"a status above 599"},
		why: "required when the status is an error"},
	{where: "server span", what: "status", theirs: "Error: Invalid HTTP status code 600", ours: "Error", when: []string{"a status above 599"},
		why: "no description where the status code says it"},
	{where: "server span", what: "error.type", theirs: absent, ours: "panic", when: []string{"a panic"},
		why: "required when the request failed"},
	{where: "server span", what: "error.type", theirs: absent, ours: "*errors.errorString", when: []string{"a panic in the response"},
		why: "required when the request failed; the type of the error"},
	{where: "server span", what: "status", theirs: "Unset", ours: "Error: handler panicked", when: []string{"a panic", "a panic in the response"},
		why: "the request failed"},
	{where: "server span", what: "events", theirs: "exception exception.message=out of socks, exception.type=.string",
		ours: "exception exception.message=out of socks, exception.stacktrace, exception.type=panic", when: []string{"a panic"},
		why: "ours has the stack; theirs is the SDK's"},
	{where: "server span", what: "events", theirs: "exception exception.message=multiple Read calls return no data or error, exception.type=*errors.errorString",
		ours: "exception exception.message=multiple Read calls return no data or error, exception.stacktrace, exception.type=*errors.errorString",
		when: []string{"a panic in the response"}, why: "ours has the stack; theirs is the SDK's"},
	{where: "server span", what: "events", theirs: "exception exception.message=net/http: abort Handler, exception.type=*errors.errorString", ours: "none",
		when: []string{"http.ErrAbortHandler"}, why: "a handler's way to hang up, no exception"},

	// Servers' metrics.
	{where: "server metrics", what: "recorded", theirs: "0", ours: "1", when: panics,
		why: "otelhttp records when the handler returns"},
	{where: "server metrics", what: "server.address", theirs: "…", ours: absent,
		why: "opt-in in the conventions: callers choose the Host, and each one makes new time series"},
	{where: "server metrics", what: "server.port", theirs: "…", ours: absent,
		but: []string{"a Host with the usual port", "a Host without a port", "an IPv6 Host without a port", "HTTP/1.0", "HTTP/1.0 without a Host",
			"a body cut short", "a client that is gone", "a hijacked connection"},
		why: "as server.address; otelhttp leaves usual ports out"},
	{where: "server metrics", what: "network.protocol.name", theirs: "http", ours: absent,
		why: "for protocols other than http"},
	{where: "server metrics", what: "network.protocol.version", theirs: "2.0", ours: "2", when: serverHTTP2,
		why: "HTTP/2 is \"2\" in the conventions"},
	{where: "server metrics", what: "http.request.method", theirs: "GET", ours: "_OTHER", when: []string{lower},
		why: "it must match a known method exactly"},
	{where: "server metrics", what: "http.request.method", theirs: "_OTHER", ours: "QUERY", when: []string{"QUERY"},
		why: "the conventions list QUERY as known"},
	{where: "server metrics", what: "error.type", theirs: absent, ours: "500", when: []string{"500"},
		why: "required when the status is an error"},
	{where: "server metrics", what: "error.type", theirs: absent, ours: "600", when: []string{"a status above 599"},
		why: "required when the status is an error"},
	{where: "server metrics", what: "http.response.status_code", theirs: "200", ours: absent, when: []string{"a hijacked connection", "a client that is gone"},
		why: "what the handler writes to a hijacked connection is not seen; a client that is gone gets no status"},
	{where: "server metrics", what: "http.response.status_code", theirs: "400", ours: absent, when: []string{"a body cut short"},
		why: "required if one was received or sent: the client has gone"},
	{where: "server metrics", what: "error.type", theirs: absent, ours: "client_closed_request", when: left,
		why: "required when the request failed"},
	{where: "server metrics", what: "http.server.response.body.size", theirs: "1 times, 0 in all", ours: "1 times, 25 in all", when: []string{"POST with a body", "http.ServeContent"},
		why: "otelhttp does not count what io.Copy hands to the writer's ReadFrom"},
	{where: "server metrics", what: "http.server.response.body.size", theirs: "1 times, 25 in all", ours: "1 times, 0 in all", when: []string{"HEAD"},
		why: "the handler's body is not sent"},

	// Clients' spans.
	{where: "client span", what: "instrumentation scope", theirs: "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", ours: "github.com/perfline/perfline",
		why: "it says who made the span"},
	{where: "client span", what: "name", theirs: "HTTP …", ours: "…",
		why: "the conventions name it by the method alone; HTTP stands for an unknown one"},
	{where: "client span", what: "http.request.method", theirs: "_OTHER", ours: "QUERY", when: []string{"QUERY"},
		why: "the conventions list QUERY as known"},
	{where: "client span", what: "http.request.method_original", theirs: "QUERY", ours: absent, when: []string{"QUERY"},
		why: "it is for methods that are not known"},
	{where: "client span", what: "url.full", theirs: "http://127.0.0.1:PORT/items/7?token=secret#part", ours: "http://127.0.0.1:PORT/items/7", when: []string{"GET with a query"},
		why: "queries and fragments often hold secrets; neither has the user"},
	{where: "client span", what: "server.port", theirs: absent, ours: "80", when: []string{"the usual port"},
		why: "always required of clients"},
	{where: "client span", what: "server.port", theirs: absent, ours: "443", when: []string{"TLS, the usual port"},
		why: "always required of clients"},
	{where: "client span", what: "network.peer.address", theirs: absent, ours: "127.0.0.1", but: unconnected,
		why: "recommended: the peer of the connection"},
	{where: "client span", what: "network.peer.port", theirs: absent, ours: "PORT", but: unconnected,
		why: "recommended: the peer of the connection"},
	{where: "client span", what: "http.request.resend_count", theirs: absent, ours: "1", when: []string{"a redirect"},
		why: "recommended of the second request and those after it"},
	{where: "client span", what: "network.protocol.version", theirs: "2.0", ours: "2", when: []string{"HTTP/2"},
		why: "HTTP/2 is \"2\" in the conventions"},
	{where: "client span", what: "network.protocol.version", theirs: "1.1", ours: absent, when: unanswered,
		why: "without a response it is not known"},
	{where: "client span", what: "http.response.body.size", theirs: absent, ours: "…",
		but: append([]string{"HEAD", "204", "404", "500", "gzip"}, unanswered...),
		why: "what was read of the body; not when the transport unpacked it"},

	// Clients' metrics.
	{where: "client metrics", what: "server.port", theirs: absent, ours: "80", when: []string{"the usual port"},
		why: "always required of clients"},
	{where: "client metrics", what: "server.port", theirs: absent, ours: "443", when: []string{"TLS, the usual port"},
		why: "always required of clients"},
	{where: "client metrics", what: "network.protocol.name", theirs: "http", ours: absent,
		why: "for protocols other than http"},
	{where: "client metrics", what: "network.protocol.version", theirs: "2.0", ours: "2", when: []string{"HTTP/2"},
		why: "HTTP/2 is \"2\" in the conventions"},
	{where: "client metrics", what: "network.protocol.version", theirs: "1.1", ours: absent, when: unanswered,
		why: "without a response it is not known"},
	{where: "client metrics", what: "http.request.method", theirs: "_OTHER", ours: "QUERY", when: []string{"QUERY"},
		why: "the conventions list QUERY as known"},
	{where: "client metrics", what: "error.type", theirs: absent, ours: "404", when: []string{"404"},
		why: "required when the status is an error"},
	{where: "client metrics", what: "error.type", theirs: absent, ours: "500", when: []string{"500"},
		why: "required when the status is an error"},
	{where: "client metrics", what: "error.type", theirs: "net.OpError", ours: "*net.OpError", when: []string{"no server"},
		why: "as on the span, where otelhttp has it too"},
	{where: "client metrics", what: "error.type", theirs: "errors.errorString", ours: "*errors.errorString", when: []string{"cancelled before the response"},
		why: "as on the span, where otelhttp has it too"},
	{where: "client metrics", what: "error.type", theirs: "fmt.wrapError", ours: "*net.OpError", when: []string{"a wrapped error"},
		why: "as on the span, where otelhttp has it too"},
}

const lower = "a method in lower case"

var (
	left        = []string{"a body cut short", "a client that is gone"}
	proxied     = []string{"Forwarded", "X-Forwarded-Proto and -Host"}
	panics      = []string{"a panic", "a panic in the response", "http.ErrAbortHandler"}
	serverHTTP2 = []string{"HTTP/2", "HTTP/2, POST with a body"}
	unconnected = []string{"no server", "a wrapped error"}
	unanswered  = append([]string{"cancelled before the response"}, unconnected...)
)

var update = flag.Bool("update", false, "write the differences into docs/lab/otelhttp.md")

const (
	document   = "../../docs/lab/otelhttp.md"
	tableBegin = "<!-- differences -->\n"
	tableEnd   = "<!-- /differences -->"
)

// The document has the table above, word for word.
func TestDocumentedDifferences(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte(tableBegin))
	got, after, closed := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !closed {
		t.Fatalf("%s lacks %q or %q", document, tableBegin, tableEnd)
	}
	want := markdown(differences)
	if *update {
		written := append(append(append(append(bytes.Clone(before), tableBegin...), want...), tableEnd...), after...)
		if err := os.WriteFile(document, written, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if g, w := line(gotLines, i), line(wantLines, i); g != w {
			t.Fatalf("row %d of the table in %s is\n%s\nand by the tests\n%s\n(go test -C integration ./peers -run Documented -update writes it)", i+1, document, g, w)
		}
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "not there"
}

func markdown(rows []difference) string {
	var b strings.Builder
	b.WriteString("| where | what | otelhttp | perfline | when | why |\n|---|---|---|---|---|---|\n")
	for _, d := range rows {
		when := "always"
		switch {
		case d.when != nil:
			when = strings.Join(d.when, "; ")
		case d.but != nil:
			when = "always but in: " + strings.Join(d.but, "; ")
		}
		b.WriteString("| " + strings.Join([]string{d.where, d.what, code(d.theirs), code(d.ours), when, d.why}, " | ") + " |\n")
	}
	return b.String()
}

// code is a value as it was recorded.
func code(v string) string {
	if v == absent || v == "…" {
		return v
	}
	return "`" + v + "`"
}
