// Package guard decides who may come to a handler that shows or changes what goes on
// inside the program:
//
//	mux.Handle("/debug/", guard.Guard{}.Handler(h))
//
// A [Guard] without Authorize lets in who is on the same machine, whatever the address
// the server listens on:
//
//   - The connection comes from a loopback address. That of a Unix socket has none.
//   - The Host header is localhost or a loopback address. A browser that was made to
//     resolve somebody's name to this machine (DNS rebinding) sends that name.
//   - No header says that a proxy asks for somebody else.
//
// A proxy on the same machine that adds no such header, as nginx does not unless told to,
// and names a loopback address as the Host cannot be told from a local user: where there
// is one, set Authorize.
//
// In any case a browser may not change anything on behalf of a page from elsewhere: see
// [http.CrossOriginProtection]. Such a page cannot read an answer either, as none allows
// it to. Clients that are no browsers are not concerned.
package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxied are the headers by which proxies tell whom they ask for.
var proxied = []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"}

var errNotAuthorized = errors.New("not authorized")

// A Guard says who may come. The zero value lets in who is on the same machine.
type Guard struct {
	// Authorize decides alone who may come: nil lets the request in. The error is logged and
	// told to nobody. It is called concurrently.
	Authorize func(*http.Request) error

	Logger *slog.Logger // of what Authorize refuses; nil means slog.Default()

	// Refuse answers who may not come, whose clients understand more than a status perhaps. The error's
	// text is for them. nil means a line of text.
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// Handler is next for those who may come. Others get status 403 and a line of text, or what
// Refuse makes of it, that says which rule they did not meet.
func (g Guard) Handler(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := g.authorize(r)
		if err == nil {
			err = crossOrigin.Check(r)
		}
		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case g.Refuse != nil:
			g.Refuse(w, r, err)
		default:
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	})
}

// authorize is why r is not let in. Its text is for who asks.
func (g Guard) authorize(r *http.Request) error {
	if g.Authorize == nil {
		return local(r)
	}
	err := g.Authorize(r)
	if err == nil {
		return nil
	}
	logger := g.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.WarnContext(r.Context(), "perfline: a request to a diagnostic page was refused",
		"path", r.URL.Path, "remote", r.RemoteAddr, "error", err)
	return errNotAuthorized
}

// local is why r does not come from this machine.
func local(r *http.Request) error {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().IsLoopback() {
		return fmt.Errorf("from %s: only clients on the same machine may come here, unless the application authorizes others", r.RemoteAddr)
	}
	if !loopback(r.Host) {
		return fmt.Errorf("host %q: must be localhost or a loopback address", r.Host)
	}
	for _, name := range proxied {
		if len(r.Header.Values(name)) > 0 {
			return fmt.Errorf("header %s: only direct clients may come here, unless the application authorizes others", name)
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
