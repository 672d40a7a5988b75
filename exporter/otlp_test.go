package exporter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name, variable string
		c              Config
		want           string // the target's name or part of the error
	}{
		{"the default", "", Config{}, "grpc to http://localhost:4317"},
		{"a variable", "http://h:4318", Config{}, "http/protobuf to http://h:4318"},
		{"the field wins", "http://h:4318", Config{Endpoint: "http://f:3", Protocol: HTTP}, "http/protobuf to http://f:3"},
		{"a wrong field", "", Config{Endpoint: "ftp://u:secret@h"}, `Endpoint "ftp://h": must be a URL`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.variable)
			target, err := New(t.Context(), c.c)
			if err != nil {
				target = &Target{Name: err.Error()}
			} else {
				defer func() { _ = target.Shutdown(t.Context()) }()
			}
			if !strings.Contains(target.Name, c.want) {
				t.Errorf("got %q, want %q", target.Name, c.want)
			}
		})
	}
}

func TestConfigHidesSecrets(t *testing.T) {
	c := Config{Endpoint: "https://secret:secret@h?secret", Headers: map[string]string{"authorization": "secret"}}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%s", "%#v", "%d", string(asJSON) + "%.0s"} {
		if s := fmt.Sprintf(format, c); strings.Contains(s, "secret") || !strings.Contains(s, "authorization") {
			t.Errorf("%s prints %s", format, s)
		}
	}
}
