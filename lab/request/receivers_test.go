package main

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
)

func TestPeerReceivers(t *testing.T) {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, _ = z.Write([]byte(`{"type":"transaction"}` + "\n" + `{"type":"transaction"}`))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, kind, body string
		header           http.Header
		want             int64
	}{
		{"traces of dd-trace-go", "datadog", "…", http.Header{"X-Datadog-Trace-Count": {"7"}}, 7},
		{"another request of dd-trace-go", "datadog", "…", nil, 0},
		{"transactions of sentry-go", "sentry", `{"type":"transaction"}` + "\n", nil, 1},
		{"compressed transactions", "sentry", compressed.String(), http.Header{"Content-Encoding": {"gzip"}}, 2},
		{"another envelope of sentry-go", "sentry", `{"type":"session"}`, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := openReceiver(t.Context(), c.kind)
			if err != nil {
				t.Fatal(err)
			}
			defer r.close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.endpoint, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range c.header {
				request.Header[name] = values
			}
			res, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if r.arrived() != c.want || r.wire() == 0 {
				t.Errorf("%d traces and %d bytes arrived, want %d and more than none", r.arrived(), r.wire(), c.want)
			}
		})
	}
	if _, err := openReceiver(t.Context(), "zipkin"); err == nil || !strings.Contains(err.Error(), "zipkin") {
		t.Errorf("the error of a kind that is none is %v, want one that names it", err)
	}
}

func TestKindsOfReceivers(t *testing.T) {
	if got := strings.Join(kindsOf(2, peers), " "); got != "otlp otlp datadog sentry" {
		t.Errorf("the kinds are %q, want otlp twice and each peer's", got)
	}
}
