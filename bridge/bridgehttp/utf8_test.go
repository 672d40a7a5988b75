package bridgehttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// OTLP cannot carry text that is not UTF-8 and loses the whole batch with it: a
// client could choose which spans do not arrive.
func TestTextThatIsNotUTF8(t *testing.T) {
	r := withProcessor(t)
	const bad = "a\xffb"
	inner := httptest.NewServer(http.NotFoundHandler())
	defer inner.Close()
	client := http.Client{Transport: bridgehttp.Client{TracerProvider: r.provider}.Transport(inner.Client().Transport)}
	req := httptest.NewRequest(http.MethodGet, "/x", nil)
	req.Method = bad
	req.URL.Path = "/" + bad
	req.Host = bad
	req.Header.Set("User-Agent", bad)
	req.Header.Set("X-Forwarded-For", bad)
	r.serve(func(_ http.ResponseWriter, req *http.Request) {
		out, err := http.NewRequestWithContext(req.Context(), http.MethodGet, inner.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		out.URL.Path = "/" + bad
		resp, err := client.Do(out)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}, "/", req)
	r.flush(t)
	check := func(what, s string) {
		if !utf8.ValidString(s) {
			t.Errorf("%s is %q, which is not UTF-8", what, s)
		}
	}
	spans := r.got.all()
	if len(spans) != 2 {
		t.Errorf("spans %v, want the request and the call", r.got.names())
	}
	for _, s := range spans {
		check("a span's name", s.Name())
		for _, kv := range s.Attributes() {
			check("a key", string(kv.Key))
			check(string(kv.Key), kv.Value.String())
		}
	}
}
