package live_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perfline/perfline/live"
)

// The addresses that waits had before lead a client to the present ones, with method, body and
// query, also where the program serves the page below a longer path.
func TestMovedAddresses(t *testing.T) {
	p, f, _ := waited(t)
	d := p.detail()
	server := httptest.NewServer(http.StripPrefix("/admin", p.page))
	t.Cleanup(server.Close)
	request := "data/v1/requests/" + d.Trace + "/" + d.Span
	part := fmt.Sprintf("?from=0&columns=7&to=%g", d.Took)
	for _, c := range []struct{ method, old, now, body string }{
		{http.MethodPost, "flight/arm", "waits/arm", `{"length":60000}`},
		{http.MethodPost, "flight/disarm", "waits/disarm", `{}`},
		{http.MethodGet, request + "/states" + part, request + "/waits" + part, ""},
	} {
		answered := func(path string) string {
			to := server.URL + "/admin" + live.Prefix + path
			r, err := http.NewRequestWithContext(t.Context(), c.method, to, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s: status %d, %v: %s", c.method, path, resp.StatusCode, err, body)
			}
			return string(body)
		}
		if old, now := answered(c.old), answered(c.now); old != now {
			t.Errorf("%s answers %s, want the answer of %s, %s", c.old, old, c.now, now)
		}
	}
	if got := fmt.Sprint(f.arms); got != "[1m0s 1m0s]" {
		t.Errorf("armed for %s, want one minute, twice", got)
	}
}
