package exporter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		c    Config
		want string // target's name; "" means none
	}{
		{"nothing set: nothing connects", nil, Config{}, ""},
		{"none", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317"}, Config{}, ""},
		{"endpoint variable", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317"}, Config{}, "grpc to http://h:4317"},
		{"the signal's variable wins", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t:2"}, Config{}, "grpc to https://t:2"},
		{"the field wins", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:1"}, Config{Endpoint: "http://f:3"}, "grpc to http://f:3"},
		{"port 4318 is HTTP", nil, Config{Endpoint: "http://h:4318"}, "http/protobuf to http://h:4318"},
		{"protocol variable", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, Config{Endpoint: "http://h:9"}, "http/protobuf to http://h:9"},
		{"protocol field wins", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, Config{Endpoint: "http://h:4318", Protocol: GRPC}, "grpc to http://h:4318"},
		{"otlp without endpoint", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, Config{}, "grpc to localhost, OTLP's default"},
		{"console", map[string]string{"OTEL_TRACES_EXPORTER": "console"}, Config{}, "console"},
		{"a password is not shown", nil, Config{Endpoint: "http://u:secret@h:1"}, "grpc to http://h:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			target, err := New(t.Context(), c.c)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if target != nil {
				got = target.Name
				defer func() { _ = target.Shutdown(t.Context()) }()
			}
			if got != c.want {
				t.Errorf("target is %q, want %q", got, c.want)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		c    Config
		says []string
	}{
		{"endpoint without scheme", nil, Config{Endpoint: "localhost:4317"}, []string{`Endpoint "localhost:4317"`, "http or https"}},
		{"endpoint variable without scheme", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost"}, Config{}, []string{`OTEL_EXPORTER_OTLP_ENDPOINT "localhost"`}},
		{"unknown protocol", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, Config{Endpoint: "http://h:1"}, []string{`OTEL_EXPORTER_OTLP_PROTOCOL "http/json"`, "must be grpc or http/protobuf"}},
		{"unknown exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, Config{}, []string{`OTEL_TRACES_EXPORTER "zipkin"`, "must be otlp, console, none, or a name that the program registered"}},
		{"unknown protocol in the field", nil, Config{Endpoint: "http://h:1", Protocol: "http"}, []string{`Protocol "http"`, "must be grpc or http/protobuf"}},
		{"a host that gRPC cannot read", nil, Config{Endpoint: "http://[fe80::1%25eth0]:4317"}, []string{"fe80::1", "without a zone"}},
		{"no password in errors", nil, Config{Endpoint: "ftp://u:secret@h"}, []string{`"ftp://h"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			_, err := New(t.Context(), c.c)
			if err == nil {
				t.Fatal("no error")
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
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
