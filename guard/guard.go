// Package guard (stable) protects debug pages and other handlers that show or change the inside
// of the program. Only allowed clients reach a guarded handler:
//
//	mux.Handle("/debug/", guard.Guard{}.Handler(h))
//
// # Clients
//
// A [Guard] without Authorize allows only clients on the same machine, whatever address the server
// listens on: see [Local]. A Guard with Authorize allows the clients that Authorize accepts. An
// Authorize function that checks the client's address must also check the Host header, as Local
// does. Otherwise a web page under a name that resolves to this server gets in:
//
//	if r.Host != "10.0.0.7:8080" {
//		return fmt.Errorf("host %q: must be 10.0.0.7:8080", r.Host)
//	}
//
// An Authorize function that checks a secret, such as [Token], need not check the Host header.
//
// # Browsers
//
// A browser on an allowed machine may send requests on behalf of a foreign web page. Every Guard
// therefore checks the origin, with and without Authorize:
//
//   - A request is refused if its Sec-Fetch-Site header names another site or another origin of
//     the same site. Without this header, a request is refused if its Origin differs from its
//     Host. The rule covers all methods; [http.CrossOriginProtection] alone allows every GET.
//   - Links to a guarded page work: a GET or HEAD that opens a document in its own window
//     (Sec-Fetch-Mode: navigate, Sec-Fetch-Dest: document) is allowed. The page with the link
//     cannot read the response.
//   - Requests with an Origin of TrustedOrigins are allowed.
//   - Clients other than browsers send none of these headers, and pass.
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

// A Guard decides which clients may call an HTTP handler. The zero value allows only clients on the
// same machine.
type Guard struct {
	// Authorize returns an error to refuse a client. Guard logs the error and does not send the
	// error to the client. Authorize is called concurrently. nil means [Local].
	Authorize func(*http.Request) error

	// TrustedOrigins lists further origins, such as "https://tools.example". Pages of these origins
	// may send requests. If a proxy changes the Host header, add the page's origin to the list.
	TrustedOrigins []string

	Logger *slog.Logger // logs refusals, at most one a minute; nil means slog.Default()

	// Refuse answers a refused client. Refuse may send the error's text to the client. nil means a
	// line of text with status 403, or 401 for [Token].
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// Handler returns a guarded handler. The guarded handler calls the handler next for allowed
// clients, and the function Refuse for other clients. The error that Refuse receives names the
// violated rule. If two guards are nested, both guards must allow a request. Handler panics if
// TrustedOrigins contains an invalid origin.
func (g Guard) Handler(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	for _, origin := range g.TrustedOrigins {
		if err := crossOrigin.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("perfline: TrustedOrigins: %v: must be as https://tools.example",
				err))
		}
	}
	log := &refusalLog{logger: record.SafeLogger(g.Logger)}
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

// check returns the reason to refuse r, for the log, and the error that the client may see. Both
// errors are nil for an allowed request.
func (g Guard) check(r *http.Request, o *http.CrossOriginProtection) (reason, public error) {
	if g.Authorize != nil {
		if err := g.Authorize(r); err != nil {
			return err, errNotAuthorized
		}
	} else if err := Local(r); err != nil {
		return err, err
	}
	err := checkOrigin(r, o)
	return err, err
}

// checkOrigin returns an error if a browser sent r on behalf of a foreign page.
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
