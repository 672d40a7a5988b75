package received_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/received"
)

func TestText(t *testing.T) {
	long := strings.Repeat("x", received.MaxText)
	for _, c := range []struct{ name, s, want string }{
		{"empty", "", ""},
		{"short", "/x/ü", "/x/ü"},
		{"as long as may be", long, long},
		{"longer", long + "x", long[:received.MaxText-len("…")] + "…"},
		{"not UTF-8", "a\xff\xfeb", "a\uFFFDb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := received.Text(c.s); got != c.want {
				t.Errorf("got %.20q… of %d bytes, want %.20q… of %d", got, len(got), c.want, len(c.want))
			}
			if got := received.Text(received.Bounded(c.s, 1<<20)); got != c.want {
				t.Errorf("bounded before: got %.20q… of %d bytes, want the same", got, len(got))
			}
		})
	}
}

// Every tracestate that OpenTelemetry takes passes, unless it is stretched with what means nothing.
func TestTraceState(t *testing.T) {
	var members []string
	for i := range 32 {
		members = append(members, strings.Repeat(string(rune('a'+i%26)), 255)+string("01"[i/26])+"="+strings.Repeat("v", 256))
	}
	longest := strings.Join(members, ",")
	if _, err := trace.ParseTraceState(longest); err != nil {
		t.Fatal(err) // or the bound is no bound
	}
	for _, c := range []struct {
		name   string
		values []string
		pass   bool
	}{
		{"none", nil, true},
		{"usual", []string{"vendor=1"}, true},
		{"the longest", []string{longest}, true},
		{"longer", []string{longest + ","}, false},
		{"longer together", []string{longest[:len(longest)/2], longest[len(longest)/2:] + ","}, false},
		{"one of several", []string{"vendor=1", strings.Repeat(" ", 1<<20)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.values
			if !c.pass {
				want = nil
			}
			if got := received.TraceState(c.values); !slices.Equal(got, want) {
				t.Errorf("%d values pass, want %d", len(got), len(want))
			}
		})
	}
}

// An end of a connection has an address, the name of a Unix socket, or nothing. An interface may hold a nil pointer.
func TestEndpoint(t *testing.T) {
	for _, c := range []struct {
		name string
		addr net.Addr
		host string
		port int
	}{
		{"nil", nil, "", 0},
		{"IPv4", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4711}, "192.0.2.7", 4711},
		{"IPv6", &net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 4711}, "2001:db8::7", 4711},
		{"TCP without an address", &net.TCPAddr{Port: 4711}, "", 0},
		{"a nil of TCP", (*net.TCPAddr)(nil), "", 0},
		{"a Unix socket", &net.UnixAddr{Name: "/run/shop.sock", Net: "unix"}, "/run/shop.sock", 0},
		{"a Unix socket without a name", &net.UnixAddr{Name: "@", Net: "unix"}, "", 0},
		{"a nil of Unix", (*net.UnixAddr)(nil), "", 0},
		{"another type", &net.UDPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 53}, "192.0.2.7", 53},
	} {
		t.Run(c.name, func(t *testing.T) {
			if host, port := received.EndpointHostPort(received.EndpointOf(c.addr)); host != c.host || port != c.port {
				t.Errorf("%q and %d, want %q and %d", host, port, c.host, c.port)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("/x", 1)
	f.Add("\xff\x80ü", 3000)
	f.Fuzz(func(t *testing.T, s string, times int) {
		s = strings.Repeat(s, max(0, min(times, 1<<16/(len(s)+1))))
		got := received.Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if len(got) > 3*received.MaxText { // a byte that is none becomes three
			t.Errorf("%d bytes are kept", len(got))
		}
		if utf8.ValidString(s) && len(s) <= received.MaxText && got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}
