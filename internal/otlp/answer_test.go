package otlp

import (
	"context"
	"math"
	"net/http"
	"testing"

	coltracepb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/queue"
)

func TestPartialSuccess(t *testing.T) {
	for _, c := range []struct {
		name    string
		partial *coltracepb.ExportTracePartialSuccess
		want    queue.Answer
	}{
		{"none", nil, queue.Answer{}},
		{"empty", &coltracepb.ExportTracePartialSuccess{}, queue.Answer{}},
		{"some", &coltracepb.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "bad\nspan"}, queue.Answer{Rejected: 3, Message: "bad span"}},
		{"a warning", &coltracepb.ExportTracePartialSuccess{ErrorMessage: "old"}, queue.Answer{Message: "old"}},
		{"without a reason", &coltracepb.ExportTracePartialSuccess{RejectedSpans: math.MaxInt64}, queue.Answer{Rejected: math.MaxInt64}},
		{"fewer than none", &coltracepb.ExportTracePartialSuccess{RejectedSpans: -1, ErrorMessage: "?"}, queue.Answer{Message: unreadable}},
	} {
		response := &coltracepb.ExportTraceServiceResponse{PartialSuccess: c.partial}
		t.Run(c.name+" "+GRPC, func(t *testing.T) {
			endpoint := serveGRPC(t, &grpcReceiver{export: func(context.Context, *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
				return response, nil
			}}, nil, nil)
			check(t, senderTo(t, GRPC, endpoint).Send(t.Context(), requestOf(t, 1)), c.want, "")
		})
		t.Run(c.name+" "+HTTP, func(t *testing.T) {
			endpoint := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				body, err := proto.Marshal(response)
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "application/x-protobuf")
				_, _ = w.Write(body)
			}, nil)
			check(t, senderTo(t, HTTP, endpoint).Send(t.Context(), requestOf(t, 1)), c.want, "")
		})
	}
}

// A response that protobuf's own decoder reads gives the same answer.
func FuzzTaken(f *testing.F) {
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "no")
	f.Add(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial))
	f.Add([]byte("\x0a\x02\x0a\x00"))         // a text where the number is due
	f.Add([]byte("\x0a\x02\x08\x01\x0a\x00")) // two of them are one
	f.Add([]byte("\x0b\x0c\x08\x01"))         // a group
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, response []byte) {
		got := accepted(response)
		_ = acceptedJSON(response)
		_ = statusMessage(response)
		var want coltracepb.ExportTraceServiceResponse
		if err := proto.Unmarshal(response, &want); err != nil || want.GetPartialSuccess().GetRejectedSpans() < 0 {
			return // ours is not stricter, and takes text that is not UTF-8
		}
		if p := want.GetPartialSuccess(); got.Rejected != p.GetRejectedSpans() || got.Message != p.GetErrorMessage() {
			t.Errorf("%x is %+v, want %v", response, got, p)
		}
	})
}
