package otlp

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// resolve returns the settings of traces, which must be right.
func resolve(t *testing.T, c Config) *Settings {
	t.Helper()
	s, err := Resolve(environ.NewReader(slog.New(slog.DiscardHandler)), c, Traces)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResolve(t *testing.T) {
	const (
		endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
		ofTraces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
		protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
		insecure = "OTEL_EXPORTER_OTLP_INSECURE"
	)
	type env = map[string]string
	for _, c := range []struct {
		name  string
		env   env
		c     Config
		named string
		url   string
	}{
		{"OTLP's default", nil, Config{}, "grpc to http://localhost:4317", "http://localhost:4317/v1/traces"},
		{"OTLP's default over HTTP", env{protocol: HTTP}, Config{}, "http/protobuf to http://localhost:4318", "http://localhost:4318/v1/traces"},
		{"a variable without effect", env{insecure: "false"}, Config{Protocol: HTTP}, "http/protobuf to http://localhost:4318", "http://localhost:4318/v1/traces"},
		{"a variable is a base", env{endpoint: "http://h:4318"}, Config{}, "http/protobuf to http://h:4318", "http://h:4318/v1/traces"},
		{"with a path", env{endpoint: "http://h:4318/otlp/"}, Config{}, "http/protobuf to http://h:4318/otlp/", "http://h:4318/otlp/v1/traces"},
		{"with an escaped path", env{endpoint: "http://h:4318/a%2Fb"}, Config{}, "http/protobuf to http://h:4318/a/b", "http://h:4318/a%2Fb/v1/traces"},
		{"the signal's is the address", env{endpoint: "http://h:1", ofTraces: "https://t:4318/in?k=v"}, Config{}, "http/protobuf to https://t:4318/in", "https://t:4318/in?k=v"},
		{"the signal's without a path", env{ofTraces: "https://t:4318"}, Config{}, "http/protobuf to https://t:4318", "https://t:4318/"},
		{"the field is a base", env{ofTraces: "http://h:1"}, Config{Endpoint: "http://f:4318/"}, "http/protobuf to http://f:4318/", "http://f:4318/v1/traces"},
		{"unless it has a path", nil, Config{Endpoint: "http://f:4318/in"}, "http/protobuf to http://f:4318/in", "http://f:4318/in"},
		{"the scheme wins", env{endpoint: "https://h:4318", insecure: "true"}, Config{}, "http/protobuf to https://h:4318", "https://h:4318/v1/traces"},
		{"over gRPC too", env{endpoint: "https://h:4317", insecure: "true"}, Config{}, "grpc to https://h:4317", "https://h:4317/v1/traces"},
		{"the field's scheme wins", env{insecure: "true"}, Config{Endpoint: "https://h:4318"}, "http/protobuf to https://h:4318", "https://h:4318/v1/traces"},
		{"the protocol's field wins", env{protocol: HTTP}, Config{Endpoint: "http://h:4318", Protocol: GRPC}, "grpc to http://h:4318", "http://h:4318/v1/traces"},
		{"a password is not in the name", nil, Config{Endpoint: "http://u:secret@h:1"}, "grpc to http://h:1", "http://u:secret@h:1/v1/traces"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			s := resolve(t, c.c)
			if s.Name != c.named || s.URL.String() != c.url {
				t.Errorf("%q at %s, want %q at %s", s.Name, s.URL, c.named, c.url)
			}
			if (s.TLS == nil) != strings.HasPrefix(c.url, "http:") {
				t.Errorf("TLS is %v for %s", s.TLS, c.url)
			}
		})
	}
}

// gRPC takes endpoints in any form that it knows. INSECURE decides about those without http and https (OpenTelemetry's
// specification, protocol/exporter).
func TestTargets(t *testing.T) {
	for _, c := range []struct {
		endpoint, insecure string
		target             string
		secure             bool
	}{
		{"http://h:1", "", "dns:///h:1", false},
		{"http://h", "", "dns:///h:80", false},
		{"https://h", "true", "dns:///h:443", true},
		{"h:1", "", "dns:///h:1", true},
		{"h:1", "TRUE", "dns:///h:1", false},
		{"h:1", "false", "dns:///h:1", true},
		{"h:1", "perhaps", "dns:///h:1", true},
		{"[::1]:1", "true", "dns:///[::1]:1", false},
		{"192.0.2.7:4317", "true", "dns:///192.0.2.7:4317", false},
		{"dns:///h:1", "true", "dns:///h:1", false},
		{"dns://192.0.2.53/h", "", "dns://192.0.2.53/h", true},
		{"passthrough:///h:1", "true", "passthrough:///h:1", false},
		{"unix:///run/collector.sock", "true", "unix:///run/collector.sock", false},
		{"unix:collector.sock", "true", "unix:collector.sock", false},
	} {
		for _, byField := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, insecure %q, by field %t", c.endpoint, c.insecure, byField), func(t *testing.T) {
				t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", c.insecure)
				config := Config{Endpoint: c.endpoint}
				if !byField {
					t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.endpoint)
					config = Config{}
				}
				if found, err := HasEndpoint(config, Traces); !found || err != nil {
					t.Errorf("an endpoint is found: %t, %v", found, err)
				}
				s := resolve(t, config)
				if s.Protocol != GRPC || s.Target != c.target || (s.TLS != nil) != c.secure || !strings.HasSuffix(s.Name, " "+c.endpoint) {
					t.Errorf("%s to %s with TLS %t, named %q; want gRPC to %s, TLS %t", s.Protocol, s.Target, s.TLS != nil, s.Name, c.target, c.secure)
				}
			})
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "a=all, b=all")
	for _, c := range []struct {
		name, signal string
		field        map[string]string
		want         map[string]string
	}{
		{"of all signals", "", nil, map[string]string{"a": "all", "b": "all"}},
		{"of the signal, alone", "a=traces%20%2C", nil, map[string]string{"a": "traces ,"}},
		{"of the field, alone", "a=traces", map[string]string{"c": "field"}, map[string]string{"c": "field"}},
		{"none", "a=traces", map[string]string{}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", c.signal)
			if got := resolve(t, Config{Headers: c.field}).Headers; !maps.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		c    Config
		says string
	}{
		{"target over HTTP", map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, Config{Endpoint: "localhost:4317"}, `endpoint "localhost:4317": must be a URL with scheme http or https for http/protobuf`},
		{"target without a port", nil, Config{Endpoint: "localhost"}, `Endpoint "localhost": must be a URL with scheme http or https and a host`},
		{"target with a wrong port", nil, Config{Endpoint: "localhost:99999"}, `Endpoint "localhost:99999": must be a URL`},
		{"target of an unknown resolver", nil, Config{Endpoint: "ftp:///localhost:4317"}, `Endpoint "ftp:///localhost:4317": must be a URL`},
		{"target without a host", nil, Config{Endpoint: "dns:///"}, `Endpoint "dns:///": must be a URL`},
		{"endpoint variable without scheme", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost"}, Config{}, `OTEL_EXPORTER_OTLP_ENDPOINT "localhost"`},
		{"unknown protocol in the field", nil, Config{Endpoint: "http://h:1", Protocol: "http"}, `Protocol "http": must be grpc or http/protobuf`},
		{"a host that gRPC cannot read", nil, Config{Endpoint: "http://[fe80::1%25eth0]:4317"}, `endpoint "http://[fe80::1%25eth0]:4317": must have a host name or an address without a zone`},
		{"no password in errors", nil, Config{Endpoint: "ftp://u:secret@h"}, `"ftp://h"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			_, err := Resolve(environ.NewReader(slog.New(slog.DiscardHandler)), c.c, Traces)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
