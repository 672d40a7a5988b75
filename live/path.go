package live

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/perfline/perfline/live/internal/view"
)

// A prefixHandler serves the page below a prefix, and the program's handler everywhere else. A
// request of the program costs two comparisons instead of a second walk through a mux.
type prefixHandler struct {
	page   http.Handler
	prefix string
	next   http.Handler
}

// ServeHTTP implements [http.Handler].
func (h prefixHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; strings.HasPrefix(p, h.prefix) || p == h.prefix[:len(h.prefix)-1] {
		h.page.ServeHTTP(w, r)
		return
	}
	h.next.ServeHTTP(w, r)
}

// stripPrefix serves next for paths below a prefix, and removes the prefix. The prefix without its
// last slash redirects to the prefix. Other paths answer 404. So do paths that a mux would clean,
// because the mux's redirect would lead out of the prefix.
func stripPrefix(prefix string, next http.Handler) http.Handler {
	base := strings.TrimSuffix(prefix, "/")
	inside := http.StripPrefix(base, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.EscapedPath()
		switch {
		case p == base:
			redirectToSlash(w, r)
		case strings.HasPrefix(p, prefix) && (path.Clean(p) == p || path.Clean(p)+"/" == p):
			inside.ServeHTTP(w, r)
		default:
			notFound(w, r)
		}
	})
}

// redirectToSlash redirects to the same path with a slash at the end. The redirect is relative: a
// proxy may serve the page below a longer path.
func redirectToSlash(w http.ResponseWriter, r *http.Request) {
	asked := r.URL
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		asked = u
	}
	to := url.URL{Path: "./" + path.Base(asked.Path) + "/", RawQuery: asked.RawQuery}
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "nothing is at "+view.Shown(r.URL.Path))
}

// redirectMoved redirects requests for an old address of waits to the present address, with their
// method and their body. The redirect is relative, as in redirectToSlash.
func redirectMoved(next http.Handler) http.Handler {
	old := http.NewServeMux()
	old.Handle("/", next)
	for pattern, to := range map[string]string{
		"/flight/arm":    "../waits/arm",
		"/flight/disarm": "../waits/disarm",
		"/data/v1/requests/{trace}/{span}/states": "waits",
	} {
		old.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to+"?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusPermanentRedirect)
		})
	}
	return old
}
