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

// proxyHeaders are headers that proxies add to requests, and proxyPrefixes beginnings of such
// headers' names.
var (
	proxyHeaders = []string{"Forwarded", "Via", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
		"X-Client-Ip", "X-Original-Host"}
	proxyPrefixes = []string{"X-Forwarded", "X-Envoy-"}
)

// elsewhere is the remedy, for a client that the program's author may want to allow.
const elsewhere = "To allow others (a browser outside the container, another machine), the program sets Authorize, for example to guard.Token(secret)"

// Local returns an error unless r came from this machine. All of these must hold:
//
//   - The connection comes from a loopback address. A Unix socket has none.
//   - The Host header is localhost or a loopback address. A page whose name was made to
//     resolve to this machine (DNS rebinding) sends that name.
//   - No header shows a proxy, such as X-Forwarded-For.
//
// A proxy on the same machine that adds no such header, which is nginx's default, and sends a
// loopback address as the Host cannot be told from a local user. Local does not check which page a
// browser sends the request for: see [Guard] and [http.CrossOriginProtection].
//
// The error's text is for the client.
func Local(r *http.Request) error {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return fmt.Errorf("from %q: not an address, as of a Unix socket: only clients on the same machine may come here. "+elsewhere, text.Cut(r.RemoteAddr, maxQuoted))
	}
	if !peer.Addr().IsLoopback() {
		return fmt.Errorf("from %s: only clients on the same machine may come here. "+elsewhere,
			r.RemoteAddr)
	}
	if !loopback(r.Host) {
		return fmt.Errorf("host %q: must be localhost or a loopback address. "+elsewhere,
			text.Cut(r.Host, maxQuoted))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.Contains(proxyHeaders, name) || slices.ContainsFunc(proxyPrefixes, begins) {
			return fmt.Errorf("header %s: only direct clients may come here. "+elsewhere,
				text.Cut(name, maxQuoted))
		}
	}
	return nil
}

// loopback reports whether a Host header names this machine by localhost or a loopback address,
// which cannot be made to mean another machine.
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
