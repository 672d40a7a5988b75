package exporter_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perfline/perfline/exporter"
)

// A signal's own variables win over the variables of all signals, and other signals' variables have no effect.
func TestVariablesOfSignals(t *testing.T) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	eachSignal(t, func(t *testing.T, s signal) {
		for _, c := range []struct {
			name             string
			env              map[string]string // without the prefix; OF stands for the signal, AT for the receiver's URL
			path, key, coded string            // of the request
		}{
			{"of all", map[string]string{"ENDPOINT": "AT/base", "HEADERS": "key=all"}, "/base" + s.of.Path, "all", ""},
			{"the signal's", map[string]string{
				"ENDPOINT": "http://127.0.0.1:1", "OF_ENDPOINT": "AT/in", "HEADERS": "key=all", "OF_HEADERS": "key=own", "COMPRESSION": "none", "OF_COMPRESSION": "gzip",
				"PROTOCOL": "grpc", "OF_PROTOCOL": "http/protobuf"}, "/in", "own", "gzip"},
			{"others'", map[string]string{
				"ENDPOINT": "AT", "METRICS_ENDPOINT": "http://127.0.0.1:1", "OTHER_ENDPOINT": "http://127.0.0.1:1", "OTHER_HEADERS": "key=other", "OTHER_COMPRESSION": "gzip",
				"OTHER_PROTOCOL": "grpc"}, s.of.Path, "", ""},
		} {
			t.Run(c.name, func(t *testing.T) {
				var names []string
				receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path != c.path || r.Header.Get("key") != c.key || r.Header.Get("Content-Encoding") != c.coded {
						t.Errorf("request to %s with %v, want %s, key %q and encoding %q", r.URL.Path, r.Header, c.path, c.key, c.coded)
					}
					body, err := io.ReadAll(r.Body)
					if c.coded == "gzip" {
						body = unpacked(t, body)
					}
					if err == nil {
						names, err = s.names(body)
					}
					if err != nil {
						t.Error(err)
					}
				}))
				defer receiver.Close()
				t.Setenv(prefix+"PROTOCOL", "http/protobuf")
				other := map[string]string{"TRACES": "LOGS", "LOGS": "TRACES"}[s.of.Variable]
				own := strings.NewReplacer("OF_", s.of.Variable+"_", "OTHER_", other+"_")
				for name, value := range c.env {
					t.Setenv(prefix+own.Replace(name), strings.ReplaceAll(value, "AT", receiver.URL))
				}
				d, err := s.start(exporter.Config{})
				if err != nil {
					t.Fatal(err)
				}
				d.add("item")
				if err := d.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if len(names) != 1 || names[0] != "item" {
					t.Errorf("%q arrived", names)
				}
			})
		}
	})
}

func unpacked(t *testing.T, body []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	body, err = io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A receiver that repeats the secrets of its requests does not get them into the log, nor into the errors.
func TestSecretsAreNotLogged(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) {
		for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound} {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					user, password, _ := r.BasicAuth()
					http.Error(w, fmt.Sprint(r.Header, user, password, r.URL), status)
				}))
				defer receiver.Close()
				t.Setenv("OTEL_EXPORTER_OTLP_"+s.of.Variable+"_HEADERS", "x-token=hunter2-of-the-variable")
				var log bytes.Buffer
				c := exporter.Config{Endpoint: strings.Replace(receiver.URL, "http://", "http://me:hunter2-of-the-url@", 1) + "?token=hunter2-of-the-query", Protocol: "http/protobuf",
					Headers: map[string]string{"x-key": "hunter2-of-the-field"}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
				d, err := s.start(c)
				if err != nil {
					t.Fatal(err)
				}
				d.add("item")
				err = d.Shutdown(t.Context())
				if err == nil || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("Shutdown returned %v, want an error without secrets", err)
				}
				if text := log.String(); strings.Count(text, "\n") != 1 || strings.Contains(text, "hunter2") || !strings.Contains(text, fmt.Sprint(status)) {
					t.Errorf("the log must have one line with the status and without secrets:\n%s", text)
				}
			})
		}
	})
}
