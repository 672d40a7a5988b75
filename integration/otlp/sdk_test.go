// Package otlp compares perfline's sender of OTLP with OpenTelemetry's exporters.
package otlp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/otlp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// differing are headers that may differ from the headers of OpenTelemetry's exporter.
var differing = []string{"User-Agent", "Grpc-Timeout", "Content-Length"} // the SDK counts from the batch on; it sends packed requests in chunks

// The same variables lead to the same requests as with OpenTelemetry's exporters.
func TestSendsAsTheSDK(t *testing.T) {
	pair, certificate, key := certificates(t)
	const prefix = "OTEL_EXPORTER_OTLP_"
	for _, c := range []struct {
		name string
		path string // of the endpoint
		of   string // the signal's part of its variable
		tls  bool
		env  map[string]string
	}{
		{name: "plain"},
		{name: "a base", path: "/otlp/"},
		{name: "an address", path: "/in", of: "TRACES_"},
		{name: "an address without a path", of: "TRACES_"},
		{name: "gzip", env: map[string]string{"COMPRESSION": "gzip"}},
		{name: "headers", env: map[string]string{"HEADERS": "X-A=a%2Cb, x-b = c ", "TRACES_HEADERS": "x-c=d=e,X-Key-Bin=AAEC"}},
		{name: "TLS", tls: true, env: map[string]string{"CERTIFICATE": certificate}},
		{name: "a certificate of the client", tls: true, env: map[string]string{"CERTIFICATE": certificate, "TRACES_CLIENT_CERTIFICATE": certificate, "TRACES_CLIENT_KEY": key}},
		{name: "insecure by variable", env: map[string]string{"TRACES_INSECURE": "true", "INSECURE": "false"}},
	} {
		for _, protocol := range []string{otlp.GRPC, otlp.HTTP} {
			t.Run(protocol+" "+c.name, func(t *testing.T) {
				var got []http.Header
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					header := r.Header.Clone()
					if header.Get("Content-Encoding") == "gzip" || header.Get("Grpc-Encoding") == "gzip" {
						at := bytes.Index(body, []byte("\x1f\x8b"))
						z, err := gzip.NewReader(bytes.NewReader(body[max(0, at):]))
						if err != nil {
							t.Error(err)
							return
						}
						body, _ = io.ReadAll(z)
					}
					for _, name := range differing {
						header.Del(name)
					}
					header.Set(":path", r.Method+" "+r.RequestURI)
					header.Set(":authority", r.Host)
					header.Set(":body", string(body))
					if r.TLS != nil {
						header.Set(":certificates", strings.Repeat("1", len(r.TLS.PeerCertificates)))
					}
					got = append(got, header)
					if protocol == otlp.GRPC { // an empty message
						w.Header().Set("Content-Type", "application/grpc")
						w.Header().Set("Trailer", "Grpc-Status")
						_, _ = w.Write(make([]byte, 5))
						w.Header().Set("Grpc-Status", "0")
					}
				}))
				server.EnableHTTP2 = true
				if c.tls {
					server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
					server.StartTLS()
				} else {
					server.Config.Protocols = new(http.Protocols)
					server.Config.Protocols.SetHTTP1(true)
					server.Config.Protocols.SetUnencryptedHTTP2(true) // gRPC's
					server.Start()
				}
				defer server.Close()
				for name, value := range c.env {
					t.Setenv(prefix+name, value)
				}
				t.Setenv(prefix+c.of+"ENDPOINT", server.URL+c.path)
				t.Setenv(prefix+"TIMEOUT", "60000") // of the SDK's exporter, on a slow machine
				request := &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
					ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{Name: strings.Repeat("s", 1000)}}}},
				}}}
				body, err := proto.Marshal(request)
				if err != nil {
					t.Fatal(err)
				}
				var client otlptrace.Client
				if protocol == otlp.GRPC {
					client = otlptracegrpc.NewClient()
				} else {
					client = otlptracehttp.NewClient()
				}
				if err := client.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := client.UploadTraces(t.Context(), request.GetResourceSpans()); err != nil {
					t.Fatal(err)
				}
				_ = client.Stop(context.WithoutCancel(t.Context()))
				settings, err := otlp.Resolve(environ.NewReader(slog.New(slog.DiscardHandler)), otlp.Config{Protocol: protocol}, otlp.Traces)
				if err != nil {
					t.Fatal(err)
				}
				sender, err := settings.Sender()
				if err != nil {
					t.Fatal(err)
				}
				if a := sender.Send(t.Context(), body); a.Err != nil {
					t.Error(a.Err)
				}
				if err := sender.Close(); err != nil {
					t.Error(err)
				}
				if len(got) != 2 || !maps.EqualFunc(got[0], got[1], slices.Equal[[]string]) {
					t.Errorf("the SDK sends\n%q\nwe send\n%q", got[0], got[1])
				}
			})
		}
	}
}

// certificates returns the certificate of net/http/httptest, which is for 127.0.0.1, and the files of the certificate and its key.
func certificates(t *testing.T) (pair tls.Certificate, certificate, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair = server.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file := func(kind string, der []byte) string {
		name := filepath.Join(t.TempDir(), "pem")
		if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	return pair, file("CERTIFICATE", pair.Certificate[0]), file("PRIVATE KEY", der)
}
