package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/secret"
)

func TestAnswersAreRedacted(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t0ken, x-tenant = web-shop ,")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=tr4ces")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-key=m3trics")
	endpoint := &url.URL{Scheme: "http", User: url.UserPassword("user", "p4ss"), Host: "h", RawQuery: "key=qu3ry"}
	a := Config{Headers: map[string]string{"x-field": "f1eld"}}.redactor(Traces, endpoint)
	for _, c := range []struct{ name, said, want string }{
		{"nothing", "connection refused", "connection refused"},
		{"the variable of all signals", "not t0ken of web-shop", "not xxxxx of xxxxx"},
		{"as it was given", "Bearer%20t0ken", "xxxxx"},
		{"the signal's variable", "not tr4ces", "not xxxxx"},
		{"another signal's", "not m3trics", "not m3trics"},
		{"the field", "not f1eld", "not xxxxx"},
		{"the endpoint's password", "user may not p4ss", "user may not xxxxx"},
		{"the endpoint's authorization", "not Basic dXNlcjpwNHNz", "not Basic xxxxx"},
		{"the endpoint's query", "not qu3ry", "not xxxxx"},
		{"control characters", "a\r\n\x1b[31mb", "a   [31mb"},
		{"a page", "<" + strings.Repeat("p", 1<<20), "<" + strings.Repeat("p", maxText-len("<…")) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := errors.New(c.said)
			got := a.Redact(said)
			if got.Error() != c.want {
				t.Errorf("got %.100q of %d bytes, want %.100q of %d", got, len(got.Error()), c.want, len(c.want))
			}
			if c.said == c.want && !errors.Is(got, said) {
				t.Error("it is another error")
			}
		})
	}
	if err := a.Redact(nil); err != nil {
		t.Error(err)
	}
	if err := (redactor{}).Redact(errors.New("x")); err.Error() != "x" { // of a target that others made
		t.Error(err)
	}
}

// An error without its secret is still the error that it was for errors.Is, and does not give the secret out.
func TestRedactedErrors(t *testing.T) {
	a := redactor{secret.Hide("hunter2")}
	err := a.Redact(fmt.Errorf("sent hunter2: %w", context.DeadlineExceeded))
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("%v is not what it was", err)
	}
	if errors.Unwrap(err) != nil || strings.Contains(fmt.Sprintf("%v %+v %s", err, err, err), "hunter2") {
		t.Errorf("%v gives out its secret", err)
	}
}
