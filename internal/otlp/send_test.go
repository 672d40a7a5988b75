package otlp

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/grpc/metadata"

	"github.com/perfline/perfline/internal/queue"
)

// An authority signs certificates for 127.0.0.1.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	a.certificate, a.key = a.sign(template)
	return a
}

// sign returns a certificate for a new key, signed by a, or by itself for the first one.
func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, parentKey := a.certificate, a.key
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, key
}

// pair returns a certificate for 127.0.0.1, and the files of it and its key.
func (a *authority) pair() (pair tls.Certificate, certificateFile, keyFile string) {
	a.t.Helper()
	certificate, key := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certificateFile, keyFile = a.file("CERTIFICATE", certificate.Raw), a.file("PRIVATE KEY", der)
	pair, err = tls.LoadX509KeyPair(certificateFile, keyFile)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair, certificateFile, keyFile
}

func (a *authority) file(kind string, der []byte) string {
	a.t.Helper()
	name := filepath.Join(a.t.TempDir(), "file.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return name
}

// Requests arrive as they are, with headers, compression and every kind of connection.
func TestSend(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	server, _, _ := ours.pair()
	_, certificate, key := ours.pair()
	known := ours.file("CERTIFICATE", ours.certificate.Raw)
	clients := x509.NewCertPool()
	clients.AddCert(ours.certificate)
	plain := &tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12}
	mutual := &tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	const (
		ca      = "OTEL_EXPORTER_OTLP_CERTIFICATE"
		cert    = "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE"
		keyFile = "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"
	)
	type env = map[string]string
	for _, c := range []struct {
		name    string
		env     env
		secured *tls.Config
		fails   map[string]string // part of the error, by protocol; nil: none
	}{
		{"plain", nil, nil, nil},
		{"gzip", env{"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, nil, nil},
		{"TLS", env{ca: known}, plain, nil},
		{"TLS and gzip", env{ca: known, "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip"}, plain, nil},
		{"certificates on both sides", env{ca: known, cert: certificate, keyFile: key}, mutual, nil},
		{"no certificate of the client", env{ca: known}, mutual, map[string]string{GRPC: ":", HTTP: ":"}}, // any error: the first write fails, or the read of an alert
		{"an unknown authority", nil, plain, map[string]string{GRPC: "unknown authority", HTTP: "unknown authority"}},
		{"another authority", env{ca: others.file("CERTIFICATE", others.certificate.Raw)}, plain, map[string]string{GRPC: "unknown authority", HTTP: "unknown authority"}},
		{"TLS to a receiver without", env{"OTEL_EXPORTER_OTLP_INSECURE": "true"}, nil, map[string]string{GRPC: "first record does not look like a TLS handshake", HTTP: "server gave HTTP response to HTTPS client"}},
	} {
		for _, protocol := range []string{GRPC, HTTP} {
			t.Run(c.name+" "+protocol, func(t *testing.T) {
				body := requestOf(t, 100_000)
				arrived := false
				arrives := func(q *coltracepb.ExportTraceServiceRequest, agent, tenant, path string) {
					arrived = equalMessage(t, body, q)
					if !strings.HasPrefix(agent, "perfline-OTLP-Exporter-Go/") || tenant != "web shop" || path != "/v1/traces" {
						t.Errorf("user agent %q, tenant %q, path %q", agent, tenant, path)
					}
				}
				var endpoint string
				if protocol == GRPC {
					endpoint = serveGRPC(t, &grpcReceiver{export: func(ctx context.Context, q *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
						md, _ := metadata.FromIncomingContext(ctx)
						arrives(q, md["user-agent"][0], md["x-tenant"][0], "/v1/traces")
						return &coltracepb.ExportTraceServiceResponse{}, nil
					}}, nil, c.secured)
				} else {
					endpoint = serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
						if gzip := c.env["OTEL_EXPORTER_OTLP_COMPRESSION"] == "gzip"; gzip && r.Header.Get("Content-Encoding") != "gzip" {
							t.Error("it is not packed")
						}
						arrives(decoded(t, r), r.UserAgent(), r.Header.Get("X-Tenant"), r.URL.Path)
					}, c.secured)
				}
				for name, value := range c.env {
					t.Setenv(name, value)
				}
				if c.secured == nil && c.fails != nil {
					endpoint = strings.Replace(endpoint, "http:", "https:", 1)
				}
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
				t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Tenant=web%20shop")
				sender := newSender(t, resolve(t, Config{Protocol: protocol}))
				for range 2 {
					got := sender.Send(t.Context(), body)
					check(t, queue.Answer{Err: got.Err}, queue.Answer{}, c.fails[protocol])
					if arrived != (c.fails == nil) {
						t.Fatalf("it arrived as it was: %v", arrived)
					}
				}
			})
		}
	}
}

// A certificate that is not trusted now is not trusted a second later: over HTTP, such a request is not repeated.
func TestUntrustedIsNotRetried(t *testing.T) {
	server, _, _ := newAuthority(t).pair()
	endpoint := serveHTTP(t, func(http.ResponseWriter, *http.Request) {}, &tls.Config{Certificates: []tls.Certificate{server}, MinVersion: tls.VersionTLS12})
	check(t, senderTo(t, HTTP, endpoint).Send(t.Context(), nil), queue.Answer{}, "unknown authority")
}

// Requests arrive at endpoints without http and https: by TCP, and at a Unix socket.
func TestSendsToTargets(t *testing.T) {
	got := make(chan struct{}, 1)
	r := &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
		got <- struct{}{}
		return &coltracepb.ExportTraceServiceResponse{}, nil
	}}
	folder, err := os.MkdirTemp("", "otlp") // t.TempDir's name may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	socket := filepath.Join(folder, "s")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	serveGRPC(t, r, l, nil)
	byTCP := strings.TrimPrefix(serveGRPC(t, r, nil, nil), "http://")
	t.Setenv("OTEL_EXPORTER_OTLP_INSECURE", "true")
	for _, endpoint := range []string{byTCP, "dns:///" + byTCP, "passthrough:///" + byTCP, "unix:" + socket, "unix://" + socket} {
		t.Run(endpoint, func(t *testing.T) {
			a := senderTo(t, "", endpoint).Send(t.Context(), nil)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			<-got
		})
	}
}
