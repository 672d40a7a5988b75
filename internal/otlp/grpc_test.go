package otlp

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coltracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/internal/queue"
)

func TestRetryGRPC(t *testing.T) {
	var answer error
	endpoint := serveGRPC(t, &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
		return nil, answer
	}}, nil, nil)
	sender := senderTo(t, GRPC, endpoint)
	retried := map[codes.Code]bool{
		codes.Canceled: true, codes.DeadlineExceeded: true, codes.Aborted: true, codes.OutOfRange: true, codes.Unavailable: true, codes.DataLoss: true,
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		t.Run(code.String(), func(t *testing.T) {
			for _, c := range []struct {
				name    string
				details []protoadapt.MessageV1
				asked   bool
				after   time.Duration
			}{
				{"alone", nil, false, 0},
				{"with other details", []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: "tired"}}, false, 0},
				{"with a delay", []protoadapt.MessageV1{&errdetails.ErrorInfo{}, &errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)}}, true, 1500 * time.Millisecond},
				{"with no delay", []protoadapt.MessageV1{&errdetails.RetryInfo{}}, true, 0},
				{"with a negative delay", []protoadapt.MessageV1{&errdetails.RetryInfo{RetryDelay: durationpb.New(-time.Second)}}, true, 0},
				{"with an endless delay", []protoadapt.MessageV1{&errdetails.RetryInfo{RetryDelay: &durationpb.Duration{Seconds: math.MaxInt64}}}, true, math.MaxInt64},
			} {
				t.Run(c.name, func(t *testing.T) {
					s, err := status.New(code, "not now").WithDetails(c.details...)
					if err != nil {
						t.Fatal(err)
					}
					answer = s.Err()
					want := queue.Answer{Unanswered: code == codes.Canceled || code == codes.DeadlineExceeded, Unknown: code == codes.Unimplemented}
					want.TooLarge = code == codes.ResourceExhausted && !c.asked
					if retried[code] || code == codes.ResourceExhausted && c.asked {
						want.Retry, want.After = true, c.after
					}
					check(t, sender.Send(t.Context(), requestOf(t, 1)), want, "code = "+code.String()+" desc = not now")
				})
			}
		})
	}
}

// A receiver that takes less than a request has says so.
func TestTooLargeGRPC(t *testing.T) {
	endpoint := serveGRPC(t, &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
		return &coltracepb.ExportTraceServiceResponse{}, nil
	}}, nil, nil)
	sender := senderTo(t, GRPC, endpoint)
	check(t, sender.Send(t.Context(), requestOf(t, 4<<20)), queue.Answer{TooLarge: true}, "code = ResourceExhausted desc = grpc: received message larger than max")
	check(t, sender.Send(t.Context(), requestOf(t, 3<<20)), queue.Answer{}, "")
}

// A receiver that comes back gets requests over the same sender.
func TestReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n memnet.Network
		sender := newSenderInTime(t, resolve(t, Config{Endpoint: "http://" + memnet.Address, Protocol: GRPC, Dial: n.Dial}))
		for range 100 {
			check(t, sender.Send(t.Context(), requestOf(t, 1)), queue.Answer{Retry: true}, "connection refused")
			time.Sleep(time.Minute)
		}
		serveGRPC(t, &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
			return &coltracepb.ExportTraceServiceResponse{}, nil
		}}, n.Listen(), nil)
		time.Sleep(longestReconnect + longestReconnect/5) // a fifth is by chance
		check(t, sender.Send(t.Context(), requestOf(t, 1)), queue.Answer{}, "")
	})
}

// asGRPC answers with a message and a status, as a receiver that is no gRPC server of Google's could.
func asGRPC(message []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(append([]byte{0, byte(len(message) >> 24), byte(len(message) >> 16), byte(len(message) >> 8), byte(len(message))}, message...))
		w.Header().Set("Grpc-Status", "0")
	}
}

// packedGRPC answers with a message of which it says how it is packed.
func packedGRPC(how string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Encoding", how)
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write([]byte{1, 0, 0, 0, 1, 'x'})
		w.Header().Set("Grpc-Status", "0")
	}
}

// Answers that are not OTLP's count by their status. Without one that can be read, the receiver may have taken the request.
func TestGarbageGRPC(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   queue.Answer
		says   string
	}{
		{"a message that is none", asGRPC([]byte("\xff\xff\xff")), queue.Answer{Message: unreadable}, ""},
		{"a message that is too long", asGRPC(make([]byte, 4<<20+1)), queue.Answer{Unanswered: true}, "larger than max"},
		{"a message that is too long, with other trailers", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Served-By")
			asGRPC(make([]byte, 4<<20+1))(w, r)
			w.Header().Set("X-Served-By", "a")
		}, queue.Answer{Unanswered: true}, "larger than max"},
		{"a packed message that is not", packedGRPC("gzip"), queue.Answer{Unanswered: true}, "code = Internal"},
		{"a message packed in another way", packedGRPC("zstd"), queue.Answer{Unanswered: true}, "Decompressor is not installed"},
		{"no status", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, queue.Answer{Unanswered: true}, "code = Internal"},
		{"HTTP", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, queue.Answer{Unanswered: true}, "unexpected HTTP status code"},
		{"HTTP that is unavailable", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, queue.Answer{Retry: true, Unanswered: true}, "code = Unavailable"},
		{"HTTP that has no such path", http.NotFound, queue.Answer{Unanswered: true, Unknown: true}, "code = Unimplemented"},
		{"details that are none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "8")
			w.Header().Set("Grpc-Status-Details-Bin", "////")
		}, queue.Answer{TooLarge: true}, "code = ResourceExhausted"},
		{"Rust's words for a request that is too large", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "11")
			w.Header().Set("Grpc-Message", "Error, decoded message length too large: found 5 bytes, the limit is: 4 bytes")
		}, queue.Answer{TooLarge: true}, "code = OutOfRange"},
		{"HTTP that refuses large requests", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }, queue.Answer{TooLarge: true}, "413"},
		{"a long message with control characters", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16")
			w.Header().Set("Grpc-Message", "%1B[31m"+strings.Repeat("x", 4000))
		}, queue.Answer{}, " [31mxxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := senderTo(t, GRPC, serveHTTP(t, c.answer, nil)).Send(t.Context(), requestOf(t, 1))
			check(t, got, c.want, c.says)
			if got.Err != nil && len(got.Err.Error()) > maxText {
				t.Errorf("the error has %d bytes", len(got.Err.Error()))
			}
		})
	}
}
