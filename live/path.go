package live

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// beside serves the page at its prefix, and the program's own handler everywhere else. A request of
// the program costs two comparisons, and no second walk through a mux.
type beside struct {
	page   http.Handler
	prefix string
	next   http.Handler
}

// ServeHTTP implements [http.Handler].
func (b beside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; strings.HasPrefix(p, b.prefix) || p == b.prefix[:len(b.prefix)-1] {
		b.page.ServeHTTP(w, r)
		return
	}
	b.next.ServeHTTP(w, r)
}

// beneath returns next for the paths below a prefix, which it removes. The prefix without its
// last slash redirects there. Other paths are not found. This includes paths that a mux would
// clean, because its redirect would lead out of the prefix.
func beneath(prefix string, next http.Handler) http.Handler {
	base := strings.TrimSuffix(prefix, "/")
	inside := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.EscapedPath()
		switch {
		case p == base:
			toSlash(w, r)
		case strings.HasPrefix(p, prefix) && (path.Clean(p) == p || path.Clean(p)+"/" == p):
			inside.ServeHTTP(w, r)
		default:
			nothing(w, r)
		}
	})
}

// toSlash redirects to the same page with a slash at its end. The redirect is relative, because the
// browser's path may have a longer beginning than the handler's.
func toSlash(w http.ResponseWriter, r *http.Request) {
	asked := r.URL
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		asked = u
	}
	to := url.URL{Path: "./" + path.Base(asked.Path) + "/", RawQuery: asked.RawQuery}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func nothing(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "nothing is at "+shown(r.URL.Path))
}
