package exporter

import (
	"errors"
	"strings"
	"testing"
)

func TestAnswersAreDiscreet(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t0ken, x-tenant = web-shop ,")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=tr4ces")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-key=m3trics")
	a := Config{Headers: map[string]string{"x-field": "f1eld"}}.answers("TRACES")
	for _, c := range []struct{ name, said, want string }{
		{"nothing", "connection refused", "connection refused"},
		{"the variable of all signals", "not t0ken of web-shop", "not xxxxx of xxxxx"},
		{"as it was given", "Bearer%20t0ken", "xxxxx"},
		{"the signal's variable", "not tr4ces", "not xxxxx"},
		{"another signal's", "not m3trics", "not m3trics"},
		{"the field", "not f1eld", "not xxxxx"},
		{"a page", "<" + strings.Repeat("p", 1<<20), "<" + strings.Repeat("p", maxError-len("<…")) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := errors.New(c.said)
			got := a.discreet(said)
			if got.Error() != c.want {
				t.Errorf("got %.100q of %d bytes, want %.100q of %d", got, len(got.Error()), c.want, len(c.want))
			}
			if c.said == c.want && !errors.Is(got, said) {
				t.Error("it is another error")
			}
		})
	}
	if err := a.discreet(nil); err != nil {
		t.Error(err)
	}
	if err := (answers{}).discreet(errors.New("x")); err.Error() != "x" { // of a target that others made
		t.Error(err)
	}
}

func TestVariablesThatWouldBePrinted(t *testing.T) {
	for _, c := range []struct {
		name, variable, value string
		fine                  bool
	}{
		{"headers", "OTEL_EXPORTER_OTLP_HEADERS", " a=b, c = d%2Ce,x-empty=", true},
		{"a comma at the end", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=b,", true},
		{"a value with =", "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic dTpw==", true},
		{"a comma in a value", "OTEL_EXPORTER_OTLP_HEADERS", "a=b,secret", false},
		{"a percent sign in a value", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=100%secret", false},
		{"a name with a space", "OTEL_EXPORTER_OTLP_HEADERS", "Bearer secret=x", false},
		{"no name", "OTEL_EXPORTER_OTLP_HEADERS", "=secret", false},
		{"headers of another signal", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "secret", true},
		{"a certificate's file", "OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem", true},
		{"a certificate", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "-----BEGIN CERTIFICATE-----\nsecret", false},
		{"a key", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "\n-----BEGIN PRIVATE KEY-----\nsecret", false},
		{"an endpoint that is not used", "OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:secret@h:port", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			target, err := New(t.Context(), Config{Endpoint: "http://h:4317"})
			if target != nil {
				defer func() { _ = target.Shutdown(t.Context()) }()
			}
			if (err == nil) != c.fine {
				t.Fatalf("got %v, want it taken: %v", err, c.fine)
			}
			if err != nil && (!strings.Contains(err.Error(), c.variable) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("got %v, want the variable and not its value", err)
			}
		})
	}
}
