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
