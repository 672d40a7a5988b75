package guard

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxied are the headers by which proxies tell whom they ask for, and the beginnings of
// their names.
var (
	proxied = []string{"Forwarded", "Via", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip", "X-Original-Host"}
	proxies = []string{"X-Forwarded", "X-Envoy-"}
)

// Local is why r does not come from this machine, nil if it does:
//
//   - The connection comes from a loopback address. That of a Unix socket has none.
//   - The Host header is localhost or a loopback address. A browser that was made to
//     resolve somebody's name to this machine (DNS rebinding) sends that name.
//   - No header says that a proxy asks for somebody else: X-Forwarded-For and others.
//
// A proxy on the same machine that adds no such header, as nginx does not unless told to,
// and names a loopback address as the Host cannot be told from a local user. Which page a
// browser asks for is not looked at: see [http.CrossOriginProtection].
//
// The error's text is for who asks.
func Local(r *http.Request) error {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return fmt.Errorf("from %q: not an address, as of a Unix socket: only clients on the same machine may come here, unless the application sets Authorize", r.RemoteAddr)
	}
	if !peer.Addr().IsLoopback() {
		return fmt.Errorf("from %s: only clients on the same machine may come here, unless the application sets Authorize", r.RemoteAddr)
	}
	if !loopback(r.Host) {
		return fmt.Errorf("host %q: must be localhost or a loopback address, unless the application sets Authorize", r.Host)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.Contains(proxied, name) || slices.ContainsFunc(proxies, begins) {
			return fmt.Errorf("header %s: only direct clients may come here, unless the application sets Authorize", name)
		}
	}
	return nil
}

// loopback tells whether a Host header names this machine by a name or an address that
// nobody else can give out.
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
