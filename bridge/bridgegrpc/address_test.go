package bridgegrpc

import (
	"net"
	"testing"

	"github.com/perfline/perfline/bridge/internal/received"
)

func TestEndpointOf(t *testing.T) {
	for _, c := range []struct {
		name string
		addr net.Addr
		host string
		port int
	}{
		{"none", nil, "", 0},
		{"IPv4", &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 80}, "10.0.0.7", 80},
		{"IPv6 with a zone", &net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "eth0"}, "fe80::1%eth0", 80},
		{"as text", address("[::1]:99"), "::1", 99},
		{"port with a name", address("h:http"), "h", 0},
		{"Unix socket", &net.UnixAddr{Name: "/run/shop.sock", Net: "unix"}, "/run/shop.sock", 0},
		{"Unix socket with a colon", &net.UnixAddr{Name: "/run/shop:1.sock", Net: "unix"}, "/run/shop:1.sock", 0},
		{"Unix socket without a name", &net.UnixAddr{Name: "@", Net: "unix"}, "", 0},
		{"a name in memory", address("bufconn"), "bufconn", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if host, port := received.EndpointHostPort(endpointOf(c.addr)); host != c.host || port != c.port {
				t.Errorf("got %q, %d, want %q, %d", host, port, c.host, c.port)
			}
		})
	}
}

type address string

func (address) Network() string  { return "test" }
func (a address) String() string { return string(a) }
