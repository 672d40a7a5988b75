package otlp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coltracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/grpc/metadata"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/internal/queue"
)

// A flow is a connection that a load balancer may have forgotten: then it swallows all that is written, and answers nothing.
type flow struct {
	net.Conn
	number    int32
	forgotten *atomic.Int32 // flows up to that number
}

func (f flow) Write(p []byte) (int, error) {
	if f.number <= f.forgotten.Load() {
		return len(p), nil
	}
	return f.Conn.Write(p)
}

// A connection that is dead while new ones work is left after two attempts without an answer. HTTP/1.1 leaves it by itself after one.
func TestDeadConnection(t *testing.T) {
	for _, c := range []struct {
		name, protocol string
		secured        bool
		lost           int // attempts, with each dead connection
	}{{"gRPC", GRPC, false, maxSilent}, {"HTTP 2", HTTP, true, maxSilent}, {"HTTP 1.1", HTTP, false, 1}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n memnet.Network
				var made, forgotten atomic.Int32
				dial := func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := n.Dial(ctx, network, address)
					return flow{conn, made.Add(1), &forgotten}, err
				}
				var endpoint string
				if c.protocol == GRPC {
					endpoint = serveGRPC(t, &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
						return &coltracepb.ExportTraceServiceResponse{}, nil
					}}, n.Listen(), nil)
				} else {
					endpoint = serveInMemory(t, &n, c.secured)
				}
				sender := newSenderInTime(t, resolve(t, Config{Endpoint: endpoint, Protocol: c.protocol, Dial: dial}))
				for range 3 {
					for range 5 {
						check(t, sender.Send(t.Context(), requestOf(t, 1)), queue.Answer{}, "")
					}
					forgotten.Store(made.Load())
					for range c.lost {
						if a := sender.Send(t.Context(), requestOf(t, 1)); a.Err == nil || !a.Retry || !a.Unanswered {
							t.Errorf("an attempt over a dead connection gives %+v", a)
						}
					}
				}
				check(t, sender.Send(t.Context(), requestOf(t, 1)), queue.Answer{}, "")
				if got := made.Load(); got != 4 {
					t.Errorf("%d connections were made, want one and one after each that died", got)
				}
			})
		})
	}
}

// serveInMemory serves HTTP/1.1, or HTTP/2 with a certificate that the variables make known. It returns the endpoint.
func serveInMemory(t *testing.T, n *memnet.Network, secured bool) string {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if wants := map[bool]int{false: 1, true: 2}[secured]; r.ProtoMajor != wants {
			t.Errorf("a request of %s", r.Proto)
		}
	}), ReadHeaderTimeout: time.Hour}
	listener, scheme := n.Listen(), "http://"
	if secured {
		ours := newAuthority(t)
		certificate, key := ours.sign(&x509.Certificate{SerialNumber: ours.certificate.SerialNumber, DNSNames: []string{"memory"}, NotAfter: time.Now().Add(time.Hour)})
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", ours.file("CERTIFICATE", ours.certificate.Raw))
		scheme = "https://"
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if secured {
			_ = server.ServeTLS(listener, "", "")
		} else {
			_ = server.Serve(listener)
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return scheme + "memory:4318"
}

// A caller that gives up says nothing about the connection.
func TestCallerThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n memnet.Network
		var made atomic.Int32
		slow := 10 * time.Second
		serveGRPC(t, &grpcReceiver{export: func(ctx context.Context, _ *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
			select {
			case <-time.After(slow):
			case <-ctx.Done():
			}
			return &coltracepb.ExportTraceServiceResponse{}, nil
		}}, n.Listen(), nil)
		settings := resolve(t, Config{Endpoint: "http://" + memnet.Address, Protocol: GRPC, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			made.Add(1)
			return n.Dial(ctx, network, address)
		}})
		sender := newSenderInTime(t, settings)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if a := sender.Send(ctx, requestOf(t, 1)); a.Err == nil {
				t.Error("an attempt that was cancelled succeeds")
			}
		}
		if got := made.Load(); got != 1 {
			t.Errorf("%d connections were made", got)
		}
	})
}

// Certificates are read again when their files change. What cannot be used yet, as a file that is half written, changes nothing.
func TestRenewedCertificates(t *testing.T) {
	both(t, func(t *testing.T, protocol string) {
		ours, next := newAuthority(t), newAuthority(t)
		_, certificate, key := ours.pair()
		known := ours.file("CERTIFICATE", ours.certificate.Raw)
		var server atomic.Pointer[tls.Config]
		set := func(a *authority) {
			pair, _, _ := a.pair()
			clients := x509.NewCertPool()
			clients.AddCert(a.certificate)
			server.Store(&tls.Config{
				Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
				NextProtos: []string{"h2", "http/1.1"},
			})
		}
		set(ours)
		current, _, _ := ours.pair()
		secured := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{current}, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return server.Load(), nil
		}}
		var endpoint string
		if protocol == GRPC {
			endpoint = serveGRPC(t, &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
				return &coltracepb.ExportTraceServiceResponse{}, nil
			}}, nil, secured)
		} else {
			endpoint = serveHTTP(t, func(http.ResponseWriter, *http.Request) {}, secured)
		}
		paths := map[string]string{}
		for name, file := range map[string]string{"CERTIFICATE": known, "CLIENT_CERTIFICATE": certificate, "CLIENT_KEY": key} {
			paths[name] = filepath.Join(t.TempDir(), name)
			t.Setenv("OTEL_EXPORTER_OTLP_"+name, paths[name])
			replace(t, paths[name], file)
		}
		made := make(chan net.Conn, 10)
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			made <- conn
			return conn, err
		}
		sender := newSender(t, resolve(t, Config{Endpoint: endpoint, Protocol: protocol, Dial: dial}))
		works := func() {
			t.Helper()
			check(t, sender.Send(t.Context(), requestOf(t, 1)), queue.Answer{}, "")
		}
		works()
		for name := range paths { // a program may take the variables away from its children
			t.Setenv("OTEL_EXPORTER_OTLP_"+name, "")
		}
		_, certificate, key = next.pair()
		replace(t, paths["CLIENT_KEY"], key) // not of the certificate that is there
		works()
		set(next)
		replace(t, paths["CLIENT_CERTIFICATE"], certificate)
		replace(t, paths["CERTIFICATE"], next.file("CERTIFICATE", next.certificate.Raw))
		_ = (<-made).Close() // which would go on working
		works()
	})
}

// replace puts a copy of a file in place of another one, at once.
func replace(t *testing.T, path, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// Headers that net/http and gRPC treat specially arrive.
func TestSpecialHeaders(t *testing.T) {
	for _, c := range []struct{ protocol, headers, host, agent string }{
		{GRPC, "user-agent=shop/1", "", "shop/1 perfline-OTLP-Exporter-Go/"},
		{HTTP, "host=tenant.example,User-Agent=shop/1", "tenant.example", "shop/1 perfline-OTLP-Exporter-Go/"},
		{HTTP, "", "127.0.0.1", "perfline-OTLP-Exporter-Go/"},
	} {
		t.Run(c.protocol+" "+c.headers, func(t *testing.T) {
			var host, agent string
			var endpoint string
			if c.protocol == GRPC {
				endpoint = serveGRPC(t, &grpcReceiver{export: func(ctx context.Context, _ *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
					md, _ := metadata.FromIncomingContext(ctx)
					agent = strings.Join(md["user-agent"], "|")
					return &coltracepb.ExportTraceServiceResponse{}, nil
				}}, nil, nil)
			} else {
				endpoint = serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) { host, agent = r.Host, r.UserAgent() }, nil)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", c.headers)
			check(t, senderTo(t, c.protocol, endpoint).Send(t.Context(), requestOf(t, 1)), queue.Answer{}, "")
			if !strings.HasPrefix(host, c.host) || !strings.HasPrefix(agent, c.agent) {
				t.Errorf("host %q, user agent %q", host, agent)
			}
		})
	}
}
