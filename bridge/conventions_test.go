package bridge_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// The conventions count QUERY among the known methods, net/http has no name for it.
func TestQueryIsAKnownMethod(t *testing.T) {
	r := withProcessor(t)
	r.serve(func(http.ResponseWriter, *http.Request) {}, "/", httptest.NewRequest("QUERY", "/", nil))
	r.flush(t)
	if s := r.got.one(t, "QUERY /"); tag(s, "http.request.method") != "QUERY" || tag(s, "http.request.method_original") != "" {
		t.Errorf("http.request.method is %q, the original %q", tag(s, "http.request.method"), tag(s, "http.request.method_original"))
	}
}
