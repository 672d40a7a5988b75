package livepage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/profiling/sessions"
)

// If remote sessions are not allowed, the page shows this and the remedy, and offers none. It shows requests.
func TestSessionsNotAllowed(t *testing.T) {
	base, page := serve(t, bridgehttp.Server{}, http.NotFound, sessions.Config{})
	request(t, base+"/nothing")
	p := open(t, page, View{})
	p.wait(`document.querySelector("#recent tbody tr")`)
	for _, hash := range []string{"#/sessions", "#/sessions/1"} {
		p.show(hash)
		p.wait(`document.querySelector("#refused")?.checkVisibility()`)
		if text := p.text("#refused"); !strings.Contains(text, "PERFLINE_PROFILING=remote") || !strings.Contains(text, "Remote: true") {
			t.Errorf("%s: the page says %q, want how sessions are allowed", hash, text)
		}
		if shown := eval[[]string](p, `[...document.querySelectorAll("main :is(button, input, table)")].filter((n) => n.checkVisibility()).map((n) => n.outerHTML)`); len(shown) > 0 {
			t.Errorf("%s: the page offers %q", hash, shown)
		}
	}
}
