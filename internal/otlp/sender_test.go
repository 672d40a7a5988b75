package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coltracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/internal/queue"
)

// both runs a test with each protocol.
func both(t *testing.T, test func(t *testing.T, protocol string)) {
	t.Helper()
	for _, protocol := range []string{GRPC, HTTP} {
		t.Run(protocol, func(t *testing.T) { test(t, protocol) })
	}
}

func TestRefusedConnection(t *testing.T) {
	both(t, func(t *testing.T, protocol string) {
		check(t, senderTo(t, protocol, refused(t)).Send(t.Context(), requestOf(t, 1)), queue.Answer{Retry: true}, "connection refused")
	})
}

// A receiver that hangs up within a request may take it later.
func TestClosedConnection(t *testing.T) {
	both(t, func(t *testing.T, protocol string) {
		listener := listen(t)
		var accepting sync.WaitGroup
		accepting.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.ReadFull(conn, make([]byte, 10)) // of a request, or of gRPC's preface
				_ = conn.(*net.TCPConn).SetLinger(0)       // a reset
				_ = conn.Close()
			}
		})
		sender := senderTo(t, protocol, "http://"+listener.Addr().String())
		got := sender.Send(t.Context(), requestOf(t, 1<<20))
		if got.Err == nil || !got.Retry {
			t.Errorf("got %+v, want an error that is retried", got)
		}
		_ = listener.Close()
		accepting.Wait()
	})
}

// hang returns the endpoint of a receiver that reads requests and never answers, and what tells of each request.
func hang(t *testing.T) (endpoint string, arrived chan struct{}) {
	t.Helper()
	arrived = make(chan struct{}, 10)
	return serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, nil), arrived
}

// An attempt ends at its time, whether a request is not answered or the connection is not made.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    string
		serves bool
		want   time.Duration
	}{
		{"default", "", true, 10 * time.Second},
		{"default, while connecting", "", false, 10 * time.Second},
		{"by variable", "7200000", true, 2 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", c.env)
			both(t, func(t *testing.T, protocol string) {
				synctest.Test(t, func(t *testing.T) {
					var n memnet.Network
					l := n.Listen()
					if c.serves {
						hangOn(t, protocol, l)
					}
					s := resolve(t, Config{Endpoint: "http://" + memnet.Address, Protocol: protocol, Dial: n.Dial})
					began := time.Now()
					got := newSenderInTime(t, s).Send(t.Context(), requestOf(t, 1))
					if took := time.Since(began); took != c.want {
						t.Errorf("the attempt took %v, want %v", took, c.want)
					}
					check(t, got, queue.Answer{Retry: true, Unanswered: c.serves}, fmt.Sprintf("no answer within %v: ", c.want))
				})
			})
		})
	}
}

// hangOn serves a receiver that reads requests and never answers.
func hangOn(t *testing.T, protocol string, l net.Listener) {
	t.Helper()
	if protocol == GRPC {
		serveGRPC(t, &grpcReceiver{export: func(ctx context.Context, _ *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, l, nil)
		return
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { //nolint:gosec // slow clients are no danger to a test
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// Without a timeout, an attempt lasts until its context ends.
func TestEndOfContext(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0")
	both(t, func(t *testing.T, protocol string) {
		endpoint, arrived := hang(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-arrived
			cancel()
		}()
		check(t, senderTo(t, protocol, endpoint).Send(ctx, requestOf(t, 1)), queue.Answer{Retry: true, Unanswered: true}, "context canceled")
	})
}

// Close ends what is under way. goleak looks for the rest.
func TestClose(t *testing.T) {
	both(t, func(t *testing.T, protocol string) {
		endpoint, arrived := hang(t)
		sender := senderTo(t, protocol, endpoint)
		answers := make(chan queue.Answer, 3)
		for range 2 {
			go func() { answers <- sender.Send(t.Context(), requestOf(t, 1)) }()
		}
		<-arrived
		<-arrived
		for range 2 {
			if err := sender.Close(); err != nil {
				t.Error(err)
			}
		}
		answers <- sender.Send(t.Context(), requestOf(t, 1))
		unanswered := 0
		for range 3 {
			got := <-answers
			if !errors.Is(got.Err, errClosed) || got.Retry {
				t.Errorf("got %+v, want %v, and no retry", got, errClosed)
			}
			if got.Unanswered {
				unanswered++
			}
		}
		if unanswered != 2 {
			t.Errorf("%d requests may have been taken, want those that were under way", unanswered)
		}
	})
}

// Receivers quote what they are sent.
func TestSecretsOfAnswers(t *testing.T) {
	both(t, func(t *testing.T, protocol string) {
		endpoint := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			said := r.Header.Get("Authorization") + " " + r.URL.RawQuery
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", said)
			if protocol == GRPC {
				w.Header().Set("Content-Type", "application/grpc")
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, said)
		}, nil)
		s := resolve(t, Config{Endpoint: endpoint + "/?key=qu3ry", Protocol: protocol, Headers: map[string]string{"authorization": "Bearer hunter2"}})
		says := "xxxxx key=xxxxx"
		if protocol == GRPC {
			says = "xxxxx "
		}
		check(t, newSender(t, s).Send(t.Context(), requestOf(t, 1)), queue.Answer{}, says)
	})
}

const proxied = "PERFLINE_TEST_PROXIED"

// Requests go by the proxies of the environment. Go reads these variables once in a process: the test has its own.
func TestProxy(t *testing.T) {
	if os.Getenv(proxied) != "" {
		sender := senderTo(t, os.Getenv(proxied), "http://collector.invalid:4317")
		check(t, sender.Send(t.Context(), requestOf(t, 1)), queue.Answer{}, os.Getenv(proxied+"_SAYS"))
		return
	}
	for protocol, c := range map[string]struct{ asks, says string }{
		GRPC: {"CONNECT collector.invalid:4317", ""},
		HTTP: {"POST http://collector.invalid:4317/v1/traces", "418"},
	} {
		t.Run(protocol, func(t *testing.T) {
			asked := make(chan string, 100)
			proxy := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Method + " " + r.RequestURI
				w.WriteHeader(http.StatusTeapot)
			}, nil)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProxy$")
			child.Env = append(os.Environ(), proxied+"="+protocol, proxied+"_SAYS="+c.says, "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy)
			out, err := child.CombinedOutput()
			if protocol == HTTP && err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if got := <-asked; got != c.asks {
				t.Errorf("the proxy is asked for %q, want %q", got, c.asks)
			}
		})
	}
}
