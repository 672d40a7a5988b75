package otlp

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// files writes a certificate, its key and another key.
func files(t *testing.T) (certificate, key, otherKey string) {
	t.Helper()
	write := func(name, typ string, der []byte) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var names []string
	var first *ecdsa.PrivateKey
	for range 2 {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = k
		}
		names = append(names, write("key.pem", "PRIVATE KEY", der))
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &first.PublicKey, first)
	if err != nil {
		t.Fatal(err)
	}
	return write("certificate.pem", "CERTIFICATE", der), names[0], names[1]
}

// Wrong variables without which nothing can work are errors that name the variable. Values that may be secrets are not shown.
func TestVariablesThatFail(t *testing.T) {
	certificate, key, otherKey := files(t)
	const (
		fine     = ""
		headers  = "OTEL_EXPORTER_OTLP_HEADERS"
		ca       = "OTEL_EXPORTER_OTLP_CERTIFICATE"
		client   = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
		keyFile  = "OTEL_EXPORTER_OTLP_CLIENT_KEY"
		endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	)
	type env = map[string]string
	for _, c := range []struct {
		name     string
		protocol string // empty means both
		env      env
		want     string // in the error
	}{
		{"headers", "", env{headers: " a=b, c = d%2Ce,x-empty="}, fine},
		{"a comma at the end", "", env{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=b,"}, fine},
		{"a value with =", "", env{headers: "authorization=Basic dTpw=="}, fine},
		{"a comma in a value", "", env{headers: "a=b,secret"}, headers + " (10 bytes): must be name=value"},
		{"a percent sign in a value", "", env{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=100%secret"}, "OTEL_EXPORTER_OTLP_TRACES_HEADERS ("},
		{"a name with a space", "", env{headers: "Bearer secret=x"}, headers + " ("},
		{"no name", "", env{headers: "=secret"}, headers + " ("},
		{"headers of another signal", "", env{"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "secret"}, fine},
		{"a line break in a header", "", env{headers: "a=secret%0D%0Ax:y"}, headers + " ("},
		{"a line break in a binary header", GRPC, env{headers: "a-bin=x%0D%0Ay"}, fine},
		{"a header that is not ASCII", GRPC, env{headers: "a=s%C3%A9cret"}, headers + " ("},
		{"a header that is not ASCII", HTTP, env{headers: "a=s%C3%A9cret"}, fine},
		{"a header's name that gRPC refuses", GRPC, env{headers: "a!=secret"}, headers + " ("},
		{"a header's name that gRPC refuses", HTTP, env{headers: "a!=secret"}, fine},

		{"a header that the protocol sets", "", env{headers: "Content-Type=text/secret"}, headers + " ("},
		{"a header that the protocol sets", "", env{headers: "connection=close"}, headers + " ("},
		{"a header that gRPC sets", GRPC, env{headers: "grpc-timeout=1S"}, headers + " ("},
		{"a header that gRPC sets", HTTP, env{headers: "grpc-timeout=1S"}, fine},
		{"the host", GRPC, env{headers: "Host=secret"}, headers + " ("},
		{"the host", HTTP, env{headers: "Host=h"}, fine},
		{"a header that comes twice", "", env{headers: "a=secret,A=c"}, headers + " ("},
		{"a header that comes twice", "", env{headers: "a=secret, a =c"}, headers + " ("},

		{"a certificate", "", env{ca: certificate}, fine},
		{"a certificate's file that is not there", "", env{ca: "/no/such.pem"}, ca + ` "/no/such.pem": must be the name of a readable file in PEM format: no such file or directory`},
		{"a key in place of a certificate", "", env{ca: key}, ca + ` "` + key + `": must be the name of a readable file in PEM format: it has no certificate`},
		{"a certificate in place of its file", "", env{"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "-----BEGIN CERTIFICATE-----\nsecret"}, `OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE "…"`},
		{"a key in place of its file", "", env{client: certificate, keyFile: "\n-----BEGIN PRIVATE KEY-----\nsecret"}, keyFile + ` "…"`},
		{"a certificate and its key", "", env{client: certificate, keyFile: key}, fine},
		{"a certificate and another key", "", env{client: certificate, keyFile: otherKey}, client + " and " + keyFile + ": must be a certificate and its key"},
		{"a certificate without a key", "", env{client: certificate}, client + " and " + keyFile + ": must be set both or not at all"},
		{"a certificate for a connection without TLS", "", env{ca: certificate, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h:4317"}, ca + ": must be unset where the connection is without TLS"},

		{"an endpoint that is not used", "", env{endpoint: "http://u:secret@h:port"}, endpoint + ` "…@h:port": must be a URL`},
		{"a port that no machine has", "", env{endpoint: "http://h:99999"}, endpoint + ` "http://h:99999": must be a URL`},
		{"a port of this machine", "", env{endpoint: "http://:4317"}, fine},
		{"an endpoint that is not UTF-8", "", env{endpoint: "http://h/\xff"}, endpoint + ` "http://h/%FF": must be a URL`},
	} {
		for _, protocol := range []string{GRPC, HTTP} {
			if c.protocol != "" && c.protocol != protocol {
				continue
			}
			t.Run(c.name+" "+protocol, func(t *testing.T) {
				for name, value := range c.env {
					t.Setenv(name, value)
				}
				if c.env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] == "" {
					t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://h:4317")
				}
				_, err := Resolve(environ.NewReader(slog.New(slog.DiscardHandler)), Config{Protocol: protocol}, Traces)
				if (err == nil) != (c.want == fine) {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				if err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("got %v, want %q, and no secret", err, c.want)
				}
			})
		}
	}
}

// The other wrong variables are logged, and what counts instead is said.
func TestVariablesThatWarn(t *testing.T) {
	type env = map[string]string
	type settings struct {
		timeout        time.Duration
		gzip, insecure bool
	}
	for _, c := range []struct {
		name  string
		env   env
		field string // Endpoint
		want  settings
		says  []string // one line has one of them each
	}{
		{"none", nil, "", settings{timeout: 10 * time.Second, insecure: true}, nil},
		{"an endpoint with TLS", env{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://h"}, "", settings{timeout: 10 * time.Second}, nil},
		{
			"right ones", env{"OTEL_EXPORTER_OTLP_TIMEOUT": " 1500 ", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_INSECURE": "TRUE"}, "",
			settings{timeout: 1500 * time.Millisecond, gzip: true, insecure: true}, nil,
		},
		{
			"the signal's win", env{
				"OTEL_EXPORTER_OTLP_TIMEOUT": "1", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "0", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
				"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "none", "OTEL_EXPORTER_OTLP_INSECURE": "true", "OTEL_EXPORTER_OTLP_TRACES_INSECURE": "false",
			}, "",
			settings{insecure: true}, []string{"without effect\" variable=OTEL_EXPORTER_OTLP_TRACES_INSECURE reason=\"the scheme of the endpoint decides about TLS\""},
		},
		{
			"the signal's are wrong", env{
				"OTEL_EXPORTER_OTLP_TIMEOUT": "1", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "soon", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
				"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "zip", "OTEL_EXPORTER_OTLP_INSECURE": "true", "OTEL_EXPORTER_OTLP_TRACES_INSECURE": "1",
			}, "",
			settings{timeout: time.Millisecond, gzip: true, insecure: true},
			[]string{
				"variable=OTEL_EXPORTER_OTLP_TRACES_INSECURE value=1 rule=\"must be true or false\" instead=true",
				"variable=OTEL_EXPORTER_OTLP_TRACES_COMPRESSION value=zip rule=\"must be gzip or none\" instead=gzip",
				"variable=OTEL_EXPORTER_OTLP_TRACES_TIMEOUT value=soon rule=\"must be a whole number of milliseconds, 0 or more\" instead=1ms",
			},
		},
		{
			"all are wrong", env{
				"OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "-1",
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317", "OTEL_EXPORTER_OTLP_INSECURE": "no",
			}, "",
			settings{timeout: 10 * time.Second, insecure: true},
			[]string{
				"variable=OTEL_EXPORTER_OTLP_INSECURE value=no rule=\"must be true or false\" instead=true",
				"variable=OTEL_EXPORTER_OTLP_TRACES_TIMEOUT value=-1 rule=\"must be a whole number of milliseconds, 0 or more\" instead=10s",
				"variable=OTEL_EXPORTER_OTLP_TIMEOUT value=10s rule=\"must be a whole number of milliseconds, 0 or more\" instead=10s",
			},
		},
		{"the field's scheme wins", env{"OTEL_EXPORTER_OTLP_INSECURE": "true"}, "https://h", settings{timeout: 10 * time.Second}, []string{"without effect\" variable=OTEL_EXPORTER_OTLP_INSECURE"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			var log bytes.Buffer
			s, err := Resolve(environ.NewReader(slog.New(slog.NewTextHandler(&log, nil))), Config{Endpoint: c.field}, Traces)
			if err != nil {
				t.Fatal(err)
			}
			if got := (settings{s.Timeout, s.Gzip, s.TLS == nil}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			if log.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(c.says) {
				t.Fatalf("logged %q, want %d lines", lines, len(c.says))
			}
			for i, want := range c.says {
				if !strings.Contains(lines[i], want) {
					t.Errorf("logged %s, want %s", lines[i], want)
				}
			}
		})
	}
}
