package bridgegrpc

import (
	"net"

	"github.com/perfline/perfline/bridge/internal/received"
)

// hostPort are the parts of an address as attributes have them: an IP address and
// its port, or the name of a socket and 0. An address without a name has host "".
func hostPort(addr net.Addr) (host string, port int) {
	if a, ok := addr.(*net.TCPAddr); ok {
		at := a.AddrPort()
		return at.Addr().Unmap().String(), int(at.Port())
	}
	if addr == nil {
		return "", 0
	}
	text := addressOf(addr)
	if text == "@" { // a Unix socket that was not bound to a name
		return "", 0
	}
	return received.HostPort(text)
}
