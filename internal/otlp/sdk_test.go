package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// differing are headers that may differ from the headers of OpenTelemetry's exporter.
var differing = []string{"User-Agent", "Grpc-Timeout", "Content-Length"} // the SDK counts from the batch on; it sends packed requests in chunks

// The same variables lead to the same requests as with OpenTelemetry's exporters.
func TestSendsAsTheSDK(t *testing.T) {
	ours := newAuthority(t)
	server, certificate, key := ours.pair()
	known := ours.file("CERTIFICATE", ours.certificate.Raw)
	secured := &tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
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
		{name: "TLS", tls: true, env: map[string]string{"CERTIFICATE": known}},
		{name: "a certificate of the client", tls: true, env: map[string]string{"CERTIFICATE": known, "TRACES_CLIENT_CERTIFICATE": certificate, "TRACES_CLIENT_KEY": key}},
		{name: "insecure by variable", env: map[string]string{"TRACES_INSECURE": "true", "INSECURE": "false"}},
	} {
		both(t, func(t *testing.T, protocol string) {
			t.Run(c.name, func(t *testing.T) {
				var got []http.Header
				security := secured
				if !c.tls {
					security = nil
				}
				endpoint := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
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
					if protocol == GRPC {
						asGRPC(nil)(w, r)
					}
				}, security)
				for name, value := range c.env {
					t.Setenv(prefix+name, value)
				}
				t.Setenv(prefix+c.of+"ENDPOINT", endpoint+c.path)
				t.Setenv(prefix+"TIMEOUT", "60000") // of the SDK's exporter, on a slow machine
				request := new(coltracepb.ExportTraceServiceRequest)
				body := requestOf(t, 1000)
				if err := proto.Unmarshal(body, request); err != nil {
					t.Fatal(err)
				}
				var client otlptrace.Client
				if protocol == GRPC {
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
				if a := newSender(t, resolve(t, Config{Protocol: protocol})).Send(t.Context(), body); a.Err != nil {
					t.Fatal(a.Err)
				}
				if len(got) != 2 || !maps.EqualFunc(got[0], got[1], slices.Equal[[]string]) {
					t.Errorf("the SDK sends\n%q\nwe send\n%q", got[0], got[1])
				}
			})
		})
	}
}
