package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
)

// A load balancer forgets idle flows, and a machine goes away without a word: connections swallow everything, while new ones work. They are
// left after some attempts that are not answered, and nothing is lost. The host may have another address by then.
func TestForgottenConnections(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for _, moves := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/moves=%t", protocol, moves), func(t *testing.T) {
				if moves && runtime.GOOS != "linux" {
					t.Skip("only Linux has 127.0.0.2")
				}
				testForgottenConnections(t, protocol, moves)
			})
		}
	}
}

func testForgottenConnections(t *testing.T, protocol string, moves bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	target := jaeger.OTLPGRPC()
	if protocol != "grpc" {
		target = jaeger.OTLPHTTP()
	}
	first, err := backend.NewProxy(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	endpoint, used := first.URL(), first
	host := &movingHost{}
	if moves {
		if used, err = first.Twin(ctx); err != nil {
			t.Fatal(err)
		}
		defer used.Close()
		host.resolve(t)
		endpoint = strings.Replace(endpoint, "127.0.0.1", movingName, 1)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1000") // of each attempt
	service := ""
	pl, tl, _ := start(t, jaeger, func(c *perfline.Config) {
		service = c.Service
		c.Traces.Endpoint, c.Traces.Protocol = endpoint, protocol
	})
	srv := workServer(t, pl, tl)
	const phases, perPhase = 4, 20
	for range phases {
		drive(t, srv.URL, perPhase)
		if err := backend.Poll(ctx, func() (bool, error) { return pl.Flush(ctx) == nil, nil }); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*backend.Proxy{first, used} {
			if err := p.Set(backend.Mode{Kind: backend.Forget}); err != nil {
				t.Fatal(err)
			}
		}
		host.moved.Store(true)
	}
	if s := pl.Stats().Delivery; s.Lost() > 0 || s.Delivered != phases*perPhase*spansPerRequest || s.Retries == 0 {
		t.Errorf("the books are %+v", s)
	}
	traces, err := jaeger.Traces(ctx, service)
	if err != nil || len(traces) != phases*perPhase {
		t.Errorf("Jaeger has %d traces, %v, want %d", len(traces), err, phases*perPhase)
	}
	if up, _ := used.Bytes(); up == 0 {
		t.Error("nothing came to the host's new address")
	}
}

const movingName = "collector.test"

// A movingHost is the host movingName. The host has the address 127.0.0.1 first, and 127.0.0.2 after its move.
type movingHost struct{ moved atomic.Bool }

// resolve has the process resolve names by the host's own name server.
func (h *movingHost) resolve(t *testing.T) {
	t.Helper()
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go h.serve(server)
		return client, nil
	}}
}

// serve answers the queries of a connection, as over TCP (RFC 1035, section 4.2.2).
func (h *movingHost) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length uint16
		if binary.Read(conn, binary.BigEndian, &length) != nil {
			return
		}
		query := make([]byte, length)
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := h.answer(query)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil { //nolint:gosec // it is short
			return
		}
	}
}

// answer answers a query for an address of IPv4, and says that there is nothing else.
func (h *movingHost) answer(query []byte) []byte {
	const header = 12
	end := header
	for query[end] != 0 {
		end += 1 + int(query[end])
	}
	end += 5 // the end of the name, the type and the class
	isA := query[end-3] == 1 && strings.HasPrefix(string(query[header+1:]), strings.Split(movingName, ".")[0])
	answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[header:end]...)
	if isA {
		address := byte(1)
		if h.moved.Load() {
			address = 2
		}
		answer[7] = 1
		answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, address)
	}
	return answer
}
