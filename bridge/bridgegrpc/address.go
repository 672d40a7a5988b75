package bridgegrpc

import (
	"net"
	"strconv"
)

// hostPort are the parts of an address as attributes have them: an IP address and
// its port, or the name of a socket and 0. An address without a name has host "".
func hostPort(addr net.Addr) (host string, port int) {
	switch a := addr.(type) {
	case nil:
		return "", 0
	case *net.TCPAddr:
		at := a.AddrPort()
		return at.Addr().Unmap().String(), int(at.Port())
	}
	text := addr.String()
	if text == "@" { // a Unix socket that was not bound to a name
		return "", 0
	}
	host, p, err := net.SplitHostPort(text)
	if err != nil {
		return text, 0
	}
	port, _ = strconv.Atoi(p) // a named or broken port is left out
	return host, port
}
