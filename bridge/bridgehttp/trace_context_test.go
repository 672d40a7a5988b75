package bridgehttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// The cases of the W3C's harness for Trace Context, with what the specification says of them. A server gets a request with
// the lines of a case, and calls another server. The call has the wanted state, and belongs to the caller's trace if that goes on.
func TestTraceContext(t *testing.T) {
	const id, parent = "12345678901234567890123456789012", "1234567890123456"
	valid := func(flags string) string { return "traceparent: 00-" + id + "-" + parent + "-" + flags }
	state := func(lines ...string) []string { return append([]string{valid("00")}, lines...) }
	members := func(from, to int) string {
		var all []string
		for i := from; i <= to; i++ {
			all = append(all, fmt.Sprintf("bar%02d=%02d", i, i))
		}
		return strings.Join(all, ",")
	}
	const (
		keyCharacters   = "abcdefghijklmnopqrstuvwxyz0123456789_-*/"
		valueCharacters = ` !"#$%&'()*+-./0123456789:;<>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_` + "`abcdefghijklmnopqrstuvwxyz{|}~"
	)
	// A key may have several at signs, at any place, since the second edition. OpenTelemetry's trace.TraceState has the keys of
	// the first one, and the whole state is lost.
	const lost = ""
	for _, c := range []struct {
		name   string
		lines  []string
		goesOn bool
		state  string
	}{
		{"nothing", nil, false, ""},
		{"a parent", []string{valid("01")}, true, ""},
		{"two parents", []string{"traceparent: 00-12345678901234567890123456789011-" + parent + "-01", valid("01")}, false, ""},
		{"an empty parent besides", []string{valid("01"), "traceparent:"}, false, ""}, // Trace Context, section 3.2
		{"a name with a hyphen", []string{"trace-parent: 00-" + id + "-" + parent + "-01"}, false, ""},
		{"a name with a dot", []string{"trace.parent: 00-" + id + "-" + parent + "-01"}, false, ""},
		{"a name with capitals", []string{"TraceParent: 00-" + id + "-" + parent + "-01"}, true, ""},
		{"a name of mixed letters", []string{"TrAcEpArEnT: 00-" + id + "-" + parent + "-01"}, true, ""},
		{"a name in capitals", []string{"TRACEPARENT: 00-" + id + "-" + parent + "-01"}, true, ""},
		{"version 00 with a dot behind", []string{valid("01.")}, false, ""},
		{"version 00 with more behind", []string{valid("01-what-the-future-will-be-like")}, false, ""},
		{"version cc", []string{"traceparent: cc-" + id + "-" + parent + "-01"}, true, ""},
		{"version cc with more behind", []string{"traceparent: cc-" + id + "-" + parent + "-01-what-the-future-will-be-like"}, true, ""},
		{"version cc with a dot behind", []string{"traceparent: cc-" + id + "-" + parent + "-01.what-the-future-will-be-like"}, false, ""},
		{"version ff", []string{"traceparent: ff-" + id + "-" + parent + "-01"}, false, ""},
		{"a dot in the version", []string{"traceparent: .0-" + id + "-" + parent + "-01"}, false, ""},
		{"a dot at the version's end", []string{"traceparent: 0.-" + id + "-" + parent + "-01"}, false, ""},
		{"a version of three digits", []string{"traceparent: 000-" + id + "-" + parent + "-01"}, false, ""},
		{"a version of four digits", []string{"traceparent: 0000-" + id + "-" + parent + "-01"}, false, ""},
		{"a version of one digit", []string{"traceparent: 0-" + id + "-" + parent + "-01"}, false, ""},
		{"a trace id of zeros", []string{"traceparent: 00-" + strings.Repeat("0", 32) + "-" + parent + "-01"}, false, ""},
		{"a dot in the trace id", []string{"traceparent: 00-." + id[1:] + "-" + parent + "-01"}, false, ""},
		{"a dot at the trace id's end", []string{"traceparent: 00-" + id[1:] + ".-" + parent + "-01"}, false, ""},
		{"a trace id that is too long", []string{"traceparent: 00-" + id + "3-" + parent + "-01"}, false, ""},
		{"a trace id that is too short", []string{"traceparent: 00-" + id[1:] + "-" + parent + "-01"}, false, ""},
		{"a parent id of zeros", []string{"traceparent: 00-" + id + "-0000000000000000-01"}, false, ""},
		{"a dot in the parent id", []string{"traceparent: 00-" + id + "-." + parent[1:] + "-01"}, false, ""},
		{"a dot at the parent id's end", []string{"traceparent: 00-" + id + "-" + parent[1:] + ".-01"}, false, ""},
		{"a parent id that is too long", []string{"traceparent: 00-" + id + "-" + parent + "7-01"}, false, ""},
		{"a parent id that is too short", []string{"traceparent: 00-" + id + "-" + parent[1:] + "-01"}, false, ""},
		{"a dot in the flags", []string{valid(".0")}, false, ""},
		{"a dot at the flags' end", []string{valid("0.")}, false, ""},
		{"flags that are too long", []string{valid("001")}, false, ""},
		{"flags that are too short", []string{valid("1")}, false, ""},
		{"a blank before", []string{"traceparent:   00-" + id + "-" + parent + "-01"}, true, ""},
		{"a tab before", []string{"traceparent:\t00-" + id + "-" + parent + "-01"}, true, ""},
		{"a blank behind", []string{valid("01 ")}, true, ""},
		{"a tab behind", []string{valid("01\t")}, true, ""},
		{"tabs and blanks around", []string{"traceparent:\t 00-" + id + "-" + parent + "-01 \t"}, true, ""},

		{"a state without a parent", []string{"tracestate: foo=1,bar=2"}, false, ""},
		{"a state", state("tracestate: foo=1,bar=2"), true, "foo=1,bar=2"},
		{"a state's name with a hyphen", state("trace-state: foo=1"), true, ""},
		{"a state's name with a dot", state("trace.state: foo=1"), true, ""},
		{"a state's name with capitals", state("TraceState: foo=1"), true, "foo=1"},
		{"a state's name of mixed letters", state("TrAcEsTaTe: foo=1"), true, "foo=1"},
		{"a state's name in capitals", state("TRACESTATE: foo=1"), true, "foo=1"},
		{"an empty state", state("tracestate:"), true, ""},
		{"an empty state behind", state("tracestate: foo=1", "tracestate:"), true, "foo=1"},
		{"empty states between", state("tracestate: foo=1", "tracestate:", "tracestate: \t ", "tracestate: bar=2"), true, "foo=1,bar=2"}, // section 3.3.1
		{"an empty state before", state("tracestate:", "tracestate: foo=1"), true, "foo=1"},
		{"several states", state("tracestate: foo=1,bar=2", "tracestate: rojo=1,congo=2", "tracestate: baz=3"), true, "foo=1,bar=2,rojo=1,congo=2,baz=3"},
		{"a member twice", state("tracestate: foo=1,foo=1"), true, "foo=1"},
		{"a key twice", state("tracestate: foo=1,foo=2"), true, "foo=1"},
		{"a member twice in two states", state("tracestate: foo=1", "tracestate: foo=1"), true, "foo=1"},
		{"a key twice in two states", state("tracestate: foo=1", "tracestate: foo=2"), true, "foo=1"},
		{"all characters", state("tracestate: " + keyCharacters + "=" + valueCharacters), true, keyCharacters + "=" + valueCharacters},
		{"all characters with a vendor", state("tracestate: " + keyCharacters + "@a-z0-9_-*/=" + valueCharacters), true, keyCharacters + "@a-z0-9_-*/=" + valueCharacters},
		{"blanks and tabs between", state("tracestate: foo=1 \t , \t bar=2, \t baz=3"), true, "foo=1,bar=2,baz=3"},
		{"tabs and blanks between", state("tracestate: foo=1\t \t,\t \tbar=2,\t \tbaz=3"), true, "foo=1,bar=2,baz=3"},
		{"blanks and tabs around", state("tracestate:\t foo=1 \t"), true, "foo=1"},
		{"a blank in a key", state("tracestate: foo =1"), true, ""},
		{"capitals in a key", state("tracestate: FOO=1"), true, ""},
		{"a dot in a key", state("tracestate: foo.bar=1"), true, ""},
		{"an at sign at a key's end", state("tracestate: foo@=1,bar=2"), true, lost},
		{"an at sign before a key", state("tracestate: @foo=1,bar=2"), true, ""},
		{"two at signs", state("tracestate: foo@@bar=1,bar=2"), true, lost},
		{"two at signs apart", state("tracestate: foo@bar@baz=1,bar=2"), true, lost},
		{"32 members", state("tracestate: "+members(1, 10), "tracestate: "+members(11, 20), "tracestate: "+members(21, 30), "tracestate: "+members(31, 32)), true, members(1, 32)},
		{"33 members", state("tracestate: "+members(1, 10), "tracestate: "+members(11, 20), "tracestate: "+members(21, 30), "tracestate: "+members(31, 33)), true, ""},
		{"a key of 256 characters", state("tracestate: foo=1", "tracestate: "+strings.Repeat("z", 256)+"=1"), true, "foo=1," + strings.Repeat("z", 256) + "=1"},
		{"a key of 257 characters", state("tracestate: foo=1", "tracestate: "+strings.Repeat("z", 257)+"=1"), true, ""},
		{"a tenant and a system", state("tracestate: foo=1", "tracestate: "+strings.Repeat("t", 241)+"@"+strings.Repeat("v", 14)+"=1"), true, "foo=1," + strings.Repeat("t", 241) + "@" + strings.Repeat("v", 14) + "=1"},
		{"a longer tenant", state("tracestate: foo=1", "tracestate: "+strings.Repeat("t", 242)+"@v=1"), true, lost},
		{"a longer system", state("tracestate: foo=1", "tracestate: t@"+strings.Repeat("v", 15)+"=1"), true, lost},
		{"an equals sign in a value", state("tracestate: foo=bar=baz"), true, ""},
		{"an empty value", state("tracestate: foo=,bar=3"), true, ""},

		{"the flag random", []string{valid("02")}, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			sent := make(chan http.Header, 1)
			transport := bridgehttp.Client{TracerProvider: r.provider, Propagators: propagation.TraceContext{}}.Transport(
				roundTripper(func(req *http.Request) (*http.Response, error) {
					sent <- req.Header
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
				}))
			s := r.open(t, "http/1.1", bridgehttp.Server{TracerProvider: r.provider, Timeline: r.tl, Propagators: propagation.TraceContext{}}.Middleware(
				http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
					resp, err := transport.RoundTrip(newRequest(t, http.MethodGet, "http://other.example/", nil).WithContext(req.Context()))
					if err != nil {
						t.Error(err)
						return
					}
					_ = resp.Body.Close()
				})))
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: shop.example\r\n"+strings.Join(append(c.lines, ""), "\r\n")+"\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("the server answered %v, %v", resp, err)
			}
			_ = resp.Body.Close()
			h := <-sent
			parents, states := h["Traceparent"], strings.Join(h["Tracestate"], ",")
			if len(parents) != 1 || len(parents[0]) != len("00-"+id+"-"+parent+"-00") || strings.Contains(parents[0], parent+"-") {
				t.Fatalf("the call has the parents %q, want one of its own", parents)
			}
			if goesOn := strings.Contains(strings.Join(c.lines, "\n"), parents[0][3:35]); goesOn != c.goesOn || states != c.state {
				t.Errorf("the trace goes on: %t, with %q; want %t, %q", goesOn, states, c.goesOn, c.state)
			}
			if c.name == "the flag random" && !strings.HasSuffix(parents[0], "-02") {
				t.Errorf("the call has the parent %s, want the flag 02", parents[0])
			}
		})
	}
}
