package live

import "net/http"

// moved redirects requests for an old address of waits to the present one, with their method and
// their body. The redirect is relative: the program may serve the page below a longer path.
func moved(next http.Handler) http.Handler {
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
