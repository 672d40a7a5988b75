package faulttest

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

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perfline/perfline/internal/otlp"
)

// A receiver takes one signal. It fails as a fault says until well is called.
type receiver struct {
	t        *testing.T
	signal   Signal
	protocol string
	fault    fault
	network  network
	healthy  chan struct{} // closed by well
	arrived  chan struct{} // has a value when a request has come
	serving  sync.WaitGroup

	mu    sync.Mutex // guards what follows
	stop  func()
	cut   []net.Conn      // connections that the fault is about
	names map[string]bool // of the items that arrived
	asked int             // requests, also of other signals
	next  time.Time       // no request may come before
	most  time.Duration   // the longest delay that the delivery obeys
}

func serve(t *testing.T, s Signal, protocol string, f fault, n network) *receiver {
	t.Helper()
	r := &receiver{
		t: t, signal: s, protocol: protocol, fault: f, network: n,
		most: longestAfter, names: map[string]bool{}, healthy: make(chan struct{}),
		arrived: make(chan struct{}, 1), stop: func() {},
	}
	if !f.absent {
		r.on()
	}
	t.Cleanup(func() {
		r.end()
		r.serving.Wait()
	})
	return r
}

// on serves from now on.
func (r *receiver) on() {
	l := &failing{r.network.Listen(), r}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.protocol == otlp.HTTP {
		h := &http.Server{ //nolint:gosec // a slow client is this test
			Handler: r, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		}
		r.serving.Go(func() { _ = h.Serve(l) })
		r.stop = func() { _ = h.Close() }
		return
	}
	size := 64 << 20
	if r.fault.limit > 0 {
		size = r.fault.limit
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(size), grpc.ForceServerCodecV2(bytesCodec{}),
		grpc.UnknownServiceHandler(r.serveGRPC))
	r.serving.Go(func() { _ = g.Serve(l) })
	r.stop = g.Stop
}

func (r *receiver) end() {
	r.drop()
	r.mu.Lock()
	stop := r.stop
	r.mu.Unlock()
	stop()
}

// well ends the fault.
func (r *receiver) well() {
	close(r.healthy)
	r.drop()
	if r.fault.absent || r.fault.restarts {
		r.on()
	}
}

func (r *receiver) isWell() bool {
	select {
	case <-r.healthy:
		return true
	default:
		return false
	}
}

// knows counts a request, and reports whether it is one of the signal.
func (r *receiver) knows(got, want string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	select {
	case r.arrived <- struct{}{}:
	default:
	}
	return got == want
}

// requests returns the number of requests that came.
func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// answer takes a request, or does not, and returns the reply to it.
func (r *receiver) answer(ctx context.Context, body []byte) reply {
	names, err := r.signal.Names(body)
	if err != nil {
		r.t.Error(err)
	}
	var a reply
	if !r.isWell() {
		if r.fault.hangs {
			select {
			case <-r.healthy:
			case <-ctx.Done():
				// as a receiver that knows the deadline, too
				return reply{code: codes.DeadlineExceeded, status: http.StatusServiceUnavailable}
			}
		} else {
			a = r.fault.reply
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if early := time.Until(r.next); early > 0 {
		r.t.Errorf("a request comes %v before its time", early)
	}
	if a.code != codes.OK {
		if a.after != "" {
			r.next = time.Now().Add(min(delay(a.after), r.most))
		}
		return a
	}
	for _, name := range names[min(max(a.rejected, 0), int64(len(names))):] {
		r.names[name] = true
	}
	return a
}

// The longest delays that a delivery obeys.
const (
	longestAfter = 5 * time.Minute
	flushedAfter = 3 * time.Second // while ForceFlush waits
)

// flushed tells the receiver whether ForceFlush waits from now on.
func (r *receiver) flushed(waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = longestAfter
	if waits {
		r.most = flushedAfter
	}
	if soon := time.Now().Add(r.most); r.next.After(soon) {
		r.next = soon
	}
}

// taken returns the number of items that arrived, each counted once.
func (r *receiver) taken() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.names)
}

// has reports whether an item arrived.
func (r *receiver) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name]
}

// response returns the body of the answer to a request that was taken. The responses of all signals
// have the same fields.
func (a reply) response() []byte {
	if a.raw != "" {
		return []byte(a.raw)
	}
	var partial []byte
	if a.rejected != 0 {
		partial = protowire.AppendVarint(protowire.AppendTag(partial, 1, protowire.VarintType),
			uint64(a.rejected))
	}
	if a.message != "" {
		partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType),
			a.message)
	}
	if len(partial) == 0 {
		return nil
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

// ServeHTTP answers a request over HTTP according to the fault. ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // without an answer
	}
	if !r.knows(request.URL.Path, r.signal.Of.Path) {
		http.NotFound(w, request)
		return
	}
	if r.fault.limit > 0 && len(body) > r.fault.limit {
		http.Error(w, "larger than max", http.StatusRequestEntityTooLarge)
		return
	}
	a := r.answer(request.Context(), body)
	switch {
	case a.lost:
		panic(http.ErrAbortHandler)
	case a.code != codes.OK:
		if a.after != "" {
			w.Header().Set("Retry-After", a.after)
		}
		http.Error(w, a.message, a.status)
	default:
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(a.response())
	}
}

// serveGRPC serves all methods.
func (r *receiver) serveGRPC(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if !r.knows(method, r.signal.Of.Method) {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	var body []byte
	if err := stream.RecvMsg(&body); err != nil {
		return err
	}
	ctx := stream.Context()
	a := r.answer(ctx, body)
	switch {
	case a.lost:
		r.drop()
		<-ctx.Done()
		return ctx.Err()
	case a.code != codes.OK:
		st := status.New(a.code, a.message)
		if a.after != "" {
			var details protoadapt.MessageV1 = &errdetails.RetryInfo{RetryDelay: durationpb.New(
				delay(a.after))}
			st, _ = st.WithDetails(details)
		}
		return st.Err()
	default:
		response := a.response()
		return stream.SendMsg(&response)
	}
}

// A bytesCodec passes the bytes of messages as they are.
type bytesCodec struct{}

// Marshal returns the bytes in v. Marshal implements encoding.CodecV2.
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

// Unmarshal stores a copy of data in v. Unmarshal implements encoding.CodecV2.
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// Name returns "". Name implements encoding.CodecV2.
func (bytesCodec) Name() string { return "" }

// delay returns the time until the end of HTTP's Retry-After.
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
