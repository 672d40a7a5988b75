package guard

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/text"
)

// Proxies add proxyHeaders, and headers that begin with one of proxyPrefixes, to requests.
var (
	proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
		"X-Client-Ip", "X-Original-Host"}
	proxyPrefixes = []string{"X-Forwarded", "X-Envoy-"}
)

// remedy tells the program's author how to allow a refused client.
const remedy = "To allow others (a browser outside the container, another machine), the program sets Authorize, for example to guard.Token(secret)"

// Local returns an error unless r came from this machine. All of these conditions must hold:
//
//   - The client's address is a loopback address. A Unix socket does not meet this condition.
//   - The Host header is localhost or a loopback address. This condition stops DNS rebinding. With
//     DNS rebinding, a browser sends the attacker's host name in the Host header.
//   - No header indicates a proxy, such as X-Forwarded-For.
//
// Local cannot detect every proxy on the same machine. A proxy may send a loopback Host and no
// proxy header, as nginx does by default. Local does not check the origin of a browser's request.
// [Guard] checks the origin.
//
// The error's text may be sent to the client.
func Local(r *http.Request) error {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return fmt.Errorf("from %q: not an address, as of a Unix socket: only clients on the same machine may come here. "+remedy, text.Cut(r.RemoteAddr, maxQuoted))
	}
	if !peer.Addr().IsLoopback() {
		return fmt.Errorf("from %s: only clients on the same machine may come here. "+remedy,
			r.RemoteAddr)
	}
	if !loopback(r.Host) {
		return fmt.Errorf("host %q: must be localhost or a loopback address. "+remedy,
			text.Cut(r.Host, maxQuoted))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.Contains(proxyHeaders, name) || slices.ContainsFunc(proxyPrefixes, begins) {
			return fmt.Errorf("header %s: only direct clients may come here. "+remedy,
				text.Cut(name, maxQuoted))
		}
	}
	return nil
}

// loopback reports whether a Host header is localhost or a loopback address. DNS cannot redirect
// either of them to another machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
