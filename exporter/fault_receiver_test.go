package exporter_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perfline/perfline/exporter"
)

// A server is an OTLP receiver on a port. It fails as a fault says until well is called.
type server struct {
	t        *testing.T
	protocol string
	fault    fault
	address  string
	healthy  chan struct{} // closed by well
	serving  sync.WaitGroup

	mu    sync.Mutex
	stop  func()
	cut   []net.Conn // connections that the fault is about
	names map[string]int
}

// A reply says what a server does with a request. The zero value is success.
type reply struct {
	code   codes.Code // of gRPC; not OK: the server does not take the request
	status int        // of HTTP, for the same
	after  string     // with code and status: seconds, or a date, until the next attempt

	rejected int64 // partial success: these are not taken
	message  string
	raw      string // answered in place of OTLP
	lost     bool   // taken, but the connection ends before the answer
}

func serve(t *testing.T, protocol string, f fault) *server {
	t.Helper()
	s := &server{t: t, protocol: protocol, fault: f, names: map[string]int{}, healthy: make(chan struct{}), stop: func() {}}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	if f.absent {
		_ = l.Close()
	} else {
		s.on(l)
	}
	t.Cleanup(func() {
		s.end()
		s.serving.Wait()
	})
	return s
}

// on serves on a listener.
func (s *server) on(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l = &failing{l, s}
	if s.protocol == exporter.HTTP {
		h := &http.Server{Handler: s, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} //nolint:gosec // a slow client is this test
		s.serving.Go(func() { _ = h.Serve(l) })
		s.stop = func() { _ = h.Close() }
		return
	}
	size := 64 << 20
	if s.fault.limit > 0 {
		size = s.fault.limit
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(size))
	coltracepb.RegisterTraceServiceServer(g, &traces{server: s})
	s.serving.Go(func() { _ = g.Serve(l) })
	s.stop = g.Stop
}

func (s *server) end() {
	s.drop()
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	stop()
}

// well ends the fault.
func (s *server) well() {
	close(s.healthy)
	s.drop()
	if s.fault.absent {
		l, err := new(net.ListenConfig).Listen(s.t.Context(), "tcp", s.address)
		if err != nil {
			s.t.Fatal(err)
		}
		s.on(l)
	}
}

func (s *server) isWell() bool {
	select {
	case <-s.healthy:
		return true
	default:
		return false
	}
}

// answer takes a request, or does not, and returns the reply to it.
func (s *server) answer(ctx context.Context, q *coltracepb.ExportTraceServiceRequest) reply {
	var r reply
	if !s.isWell() {
		if s.fault.hangs {
			select {
			case <-s.healthy:
			case <-ctx.Done():
				return reply{code: codes.DeadlineExceeded, status: http.StatusServiceUnavailable} // as a server that knows the deadline, too
			}
		} else {
			r = s.fault.reply
		}
	}
	if r.code != codes.OK {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rejected := r.rejected
	for _, resource := range q.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				if rejected--; rejected < 0 {
					s.names[span.GetName()]++
				}
			}
		}
	}
	return r
}

// taken returns the number of spans that arrived, each counted once.
func (s *server) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.names)
}

func partial(r reply) *coltracepb.ExportTraceServiceResponse {
	if r.message == "" && r.rejected == 0 {
		return &coltracepb.ExportTraceServiceResponse{}
	}
	return &coltracepb.ExportTraceServiceResponse{PartialSuccess: &coltracepb.ExportTracePartialSuccess{RejectedSpans: r.rejected, ErrorMessage: r.message}}
}

func (s *server) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	if s.fault.limit > 0 && len(body) > s.fault.limit {
		http.Error(w, "larger than max", http.StatusRequestEntityTooLarge)
		return
	}
	var q coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &q); err != nil {
		s.t.Error(err)
	}
	r := s.answer(request.Context(), &q)
	switch {
	case r.lost:
		panic(http.ErrAbortHandler)
	case r.code != codes.OK:
		if r.after != "" {
			w.Header().Set("Retry-After", r.after)
		}
		http.Error(w, r.message, r.status)
	default:
		answer, err := proto.Marshal(partial(r))
		if err != nil {
			s.t.Error(err)
		}
		if r.raw != "" {
			answer = []byte(r.raw)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(answer)
	}
}

type traces struct {
	coltracepb.UnimplementedTraceServiceServer
	server *server
}

func (t *traces) Export(ctx context.Context, q *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	r := t.server.answer(ctx, q)
	switch {
	case r.lost:
		t.server.drop()
		<-ctx.Done()
		return nil, ctx.Err()
	case r.code != codes.OK:
		st := status.New(r.code, r.message)
		if r.after != "" {
			var details protoadapt.MessageV1 = &errdetails.RetryInfo{RetryDelay: durationpb.New(delay(r.after))}
			st, _ = st.WithDetails(details)
		}
		return nil, st.Err()
	default:
		answer := partial(r)
		if r.raw != "" {
			answer.ProtoReflect().SetUnknown([]byte(r.raw))
		}
		return answer, nil
	}
}

// delay returns what is left until a time of HTTP's Retry-After.
func delay(after string) time.Duration {
	if n, err := strconv.Atoi(after); err == nil {
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(after)
	if err != nil {
		panic(fmt.Sprintf("%q: %v", after, err))
	}
	return time.Until(at)
}

// drop ends the connections of the fault.
func (s *server) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cut {
		_ = c.Close()
	}
}

// failing gives the server its connections, as the fault makes them.
type failing struct {
	net.Listener
	server *server
}

func (f *failing) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil || f.server.isWell() {
			return c, err
		}
		s := f.server
		if s.fault.conn == nil && !s.fault.reply.lost {
			return c, nil
		}
		s.mu.Lock()
		s.cut = append(s.cut, c)
		s.mu.Unlock()
		if conn := s.fault.conn; conn != nil {
			c = conn(s, c)
		}
		if c != nil {
			return c, nil
		}
	}
}

// mute reads, and never answers.
func mute(s *server, c net.Conn) net.Conn {
	s.serving.Go(func() { _, _ = io.Copy(io.Discard, c) })
	return nil
}

// noise answers with bytes that are no protocol.
func noise(s *server, c net.Conn) net.Conn {
	s.serving.Go(func() {
		defer func() { _ = c.Close() }()
		least := 1
		if s.protocol == exporter.HTTP {
			least = 1 << 10 // the body, too: net/http reports a body that it cannot write before the noise
		}
		if _, err := io.ReadAtLeast(c, make([]byte, 4<<10), least); err == nil {
			_, _ = c.Write([]byte("\x00\xff\x17 noise \xfe\xed\n\n\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
		}
	})
	return nil
}

// midBatch is a connection that ends after some of a batch.
func midBatch(_ *server, c net.Conn) net.Conn { return &cutConn{Conn: c, left: 20_000} }

type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
