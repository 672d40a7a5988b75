package otlp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

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
		listener := listen(t, "127.0.0.1:0")
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

func TestTimeout(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "20")
	both(t, func(t *testing.T, protocol string) {
		endpoint, _ := hang(t)
		got := senderTo(t, protocol, endpoint).Send(t.Context(), requestOf(t, 1))
		got.Unanswered = false // it depends on where the time ends
		check(t, got, queue.Answer{Retry: true}, "no answer within 20ms: ")
	})
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
