// Package guard (stable) restricts handlers that show or change the inside of the program, such as
// debug pages, to the clients that may use them:
//
//	mux.Handle("/debug/", guard.Guard{}.Handler(h))
//
// # Clients
//
// A [Guard] without Authorize allows clients on the same machine only, whatever the address the
// server listens on: see [Local]. With Authorize, that function alone decides. An Authorize that
// decides by the address of the client must check the Host header, as Local does:
//
//	if r.Host != "10.0.0.7:8080" { // otherwise a page whose name resolves to 10.0.0.7 gets in, through an allowed client's browser
//		return fmt.Errorf("host %q: must be 10.0.0.7:8080", r.Host)
//	}
//
// An Authorize that decides by a secret, such as [Token], need not.
//
// # Browsers
//
// A browser on an allowed machine may send requests on behalf of pages that are not allowed. So in
// any case:
//
//   - A request whose Sec-Fetch-Site header names another site, or another origin of the same site,
//     is refused, whatever its method. Without that header, a request whose Origin differs from its
//     Host is refused. [http.CrossOriginProtection] does the same for methods that change
//     something.
//   - A GET or HEAD with which a browser opens a document in a window of its own (Sec-Fetch-Mode:
//     navigate, Sec-Fetch-Dest: document) is allowed: links to the page work. The page with the
//     link cannot read the response.
//   - Requests with an Origin of TrustedOrigins are allowed.
//   - Clients other than browsers send none of these headers, and are not affected.
package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

var errNotAuthorized = errors.New("not authorized")

// A Guard decides which clients a handler serves. The zero value allows clients on the same
// machine.
type Guard struct {
	// Authorize returns an error for a client that is not allowed. The error is logged, and not
	// sent to the client. It is called concurrently. nil means [Local].
	Authorize func(*http.Request) error

	// TrustedOrigins are other origins whose pages are allowed, such as "https://tools.example".
	// They are mostly needed behind a proxy that changes the Host header.
	TrustedOrigins []string

	Logger *slog.Logger // of refusals, a line a minute at most; nil means slog.Default()

	// Refuse responds to a client that is not allowed. The error's text is for the client. nil
	// means status 403 and a line of text.
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// Handler returns a handler that calls next for allowed clients. Others get the rule that they did
// not meet, by Refuse. A guard within the handler of another one decides for itself: both have to
// allow a request. Handler panics if one of TrustedOrigins is not an origin.
func (g Guard) Handler(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	for _, origin := range g.TrustedOrigins {
		if err := crossOrigin.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("perfline: TrustedOrigins: %v: must be as https://tools.example",
				err))
		}
	}
	log := &refusals{logger: record.SafeLogger(g.Logger)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason, public := g.check(r, crossOrigin)
		switch {
		case reason == nil:
			next.ServeHTTP(w, r)
			return
		case g.Refuse != nil:
			g.Refuse(w, r, public)
		case errors.Is(reason, errNoToken):
			w.Header().Set("WWW-Authenticate", `Basic realm="perfline: the password is the token"`)
			http.Error(w, text.Line(record.ErrorText(public), maxLogged), http.StatusUnauthorized)
		default:
			http.Error(w, text.Line(record.ErrorText(public), maxLogged), http.StatusForbidden)
		}
		log.add(r, reason)
	})
}

// check returns the reason to refuse r, and what the client may know of it. Both are nil for an
// allowed request.
func (g Guard) check(r *http.Request, crossOrigin *http.CrossOriginProtection) (reason,
	public error) {
	if g.Authorize == nil {
		reason = Local(r)
		public = reason
	} else if reason = g.Authorize(r); reason != nil {
		public = errNotAuthorized
	}
	if reason == nil {
		reason = checkOrigin(r, crossOrigin)
		public = reason
	}
	return reason, public
}

// checkOrigin returns an error if a browser sent r on behalf of a page that is not allowed.
func checkOrigin(r *http.Request, crossOrigin *http.CrossOriginProtection) error {
	checked := r
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		if r.Method != http.MethodOptions && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document" {
			return nil
		}
		checked = r.WithContext(r.Context())
		checked.Method = http.MethodPost // crossOrigin allows these methods without a check
	}
	if crossOrigin.Check(checked) == nil {
		return nil
	}
	return fmt.Errorf("origin %q, Sec-Fetch-Site %q, host %q: pages of other origins may not come here; "+
		"if this is the page itself behind a proxy, have the proxy pass the Host header on, or set TrustedOrigins",
		text.Cut(r.Header.Get("Origin"), maxQuoted),
		text.Cut(r.Header.Get("Sec-Fetch-Site"), maxQuoted), text.Cut(r.Host, maxQuoted))
}
