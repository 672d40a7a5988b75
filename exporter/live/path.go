package live

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// beneath is next for the paths below a prefix, which it takes away. The prefix without its last
// slash leads there. Nothing else is here: a path that is not as short as it could be is not
// either, as the redirect that a mux answers it with would lead out of the prefix.
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

// toSlash leads from a page to the same with a slash at its end. What the browser asked for may have
// more before it than what came here: the redirect is relative.
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
