// Package guard decides who may come to a handler that shows or changes what goes on
// inside the program:
//
//	mux.Handle("/debug/", guard.Guard{}.Handler(h))
//
// # Who may come
//
// A [Guard] without Authorize lets in who is on the same machine, whatever the address
// the server listens on: see [Local]. One with Authorize leaves it to that, which then has
// to look at what Local looks at, too, as far as it goes by where a request comes from:
//
//	if r.Host != "10.0.0.7:8080" { // or a name that was made to resolve to 10.0.0.7 comes in, with the browser of who may
//		return fmt.Errorf("host %q: must be 10.0.0.7:8080", r.Host)
//	}
//
// It need not if it goes by what only who may come can send, as a token in a header.
//
// # What browsers may do
//
// A browser comes from an address that may, on behalf of pages that may not. So in any case:
//
//   - A request that its Sec-Fetch-Site says to be of another site's page, or of another origin
//     of the same site, is refused, whatever its method. So is one without that header whose Origin is
//     not the Host that it asks for. See [http.CrossOriginProtection], which asks that of
//     methods that change something.
//   - A GET or HEAD by which a browser opens a document in a window of its own
//     (Sec-Fetch-Mode: navigate, Sec-Fetch-Dest: document) is let in: links to the page work. Who
//     made the browser do that cannot read what comes.
//   - TrustedOrigins are let in when they say who they are by Origin.
//   - Clients that are no browsers send none of these headers, and are not concerned.
package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
)

var errNotAuthorized = errors.New("not authorized")

// A Guard says who may come. The zero value lets in who is on the same machine.
type Guard struct {
	// Authorize decides alone who may come: nil lets the request in. The error is logged and
	// told to nobody. It is called concurrently. nil means [Local].
	Authorize func(*http.Request) error

	// TrustedOrigins are other origins whose pages may come, as "https://tools.example", where a
	// proxy changes the Host header above all.
	TrustedOrigins []string

	Logger *slog.Logger // of refusals, a line a minute at most; nil means slog.Default()

	// Refuse answers who may not come, whose clients understand more than a status perhaps. The error's
	// text is for them. nil means a line of text.
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// passed is the key in a request's context of having been let in.
type passed struct{}

// Handler is next for those who may come. Others get status 403 and a line of text, or what
// Refuse makes of it, that says which rule they did not meet. Whom one guard has let in
// another one within does not ask. It panics if one of TrustedOrigins is no origin.
func (g Guard) Handler(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	for _, origin := range g.TrustedOrigins {
		if err := crossOrigin.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("perfline: TrustedOrigins: %v: must be as https://tools.example", err))
		}
	}
	log := &refusals{logger: g.Logger}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(passed{}) != nil {
			next.ServeHTTP(w, r)
			return
		}
		reason, told := g.refuses(r, crossOrigin)
		switch {
		case reason == nil:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passed{}, true)))
			return
		case g.Refuse != nil:
			g.Refuse(w, r, told)
		default:
			http.Error(w, told.Error(), http.StatusForbidden)
		}
		log.add(r, reason)
	})
}

// refuses is why r is not let in, and what of that is for who asks.
func (g Guard) refuses(r *http.Request, crossOrigin *http.CrossOriginProtection) (reason, told error) {
	if g.Authorize == nil {
		reason = Local(r)
		told = reason
	} else if reason = g.Authorize(r); reason != nil {
		told = errNotAuthorized
	}
	if reason == nil {
		reason = fromElsewhere(r, crossOrigin)
		told = reason
	}
	return reason, told
}

// fromElsewhere is why a browser may not do this on behalf of the page that asks for it.
func fromElsewhere(r *http.Request, crossOrigin *http.CrossOriginProtection) error {
	asked := r
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		if r.Method != http.MethodOptions && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
			return nil
		}
		asked = r.WithContext(r.Context())
		asked.Method = http.MethodPost // of others crossOrigin asks nothing
	}
	if crossOrigin.Check(asked) == nil {
		return nil
	}
	return fmt.Errorf("origin %q, Sec-Fetch-Site %q, host %q: pages of other origins may not come here; "+
		"if this is the page itself behind a proxy, have the proxy pass the Host header on, or set TrustedOrigins",
		r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"), r.Host)
}
