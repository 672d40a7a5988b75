package bridgegrpc

import (
	"strconv"

	otelcodes "go.opentelemetry.io/otel/codes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
)

// codeNames lists the specified names of gRPC's status codes (grpc/doc/statuscodes.md). codes.Code
// prints other names.
var codeNames = [...]string{
	codes.OK:                 "OK",
	codes.Canceled:           "CANCELLED",
	codes.Unknown:            "UNKNOWN",
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.DeadlineExceeded:   "DEADLINE_EXCEEDED",
	codes.NotFound:           "NOT_FOUND",
	codes.AlreadyExists:      "ALREADY_EXISTS",
	codes.PermissionDenied:   "PERMISSION_DENIED",
	codes.ResourceExhausted:  "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted:            "ABORTED",
	codes.OutOfRange:         "OUT_OF_RANGE",
	codes.Unimplemented:      "UNIMPLEMENTED",
	codes.Internal:           "INTERNAL",
	codes.Unavailable:        "UNAVAILABLE",
	codes.DataLoss:           "DATA_LOSS",
	codes.Unauthenticated:    "UNAUTHENTICATED",
}

// codeName returns the name of a code, or "CODE(n)" for an unspecified code.
func codeName(c codes.Code) string {
	if c < codes.Code(len(codeNames)) {
		return codeNames[c]
	}
	return "CODE(" + strconv.FormatUint(uint64(c), 10) + ")"
}

// isServerError reports whether a status is a failure of the server by the semantic conventions for
// gRPC.
func isServerError(c codes.Code) bool {
	switch c {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal,
		codes.Unavailable, codes.DataLoss:
		return true
	default:
		return false
	}
}

func (c *call) endSpan(st *status.Status, failed bool) {
	defer c.span.End()
	if !serving.Takes(c.span) {
		return
	}
	c.code = codeName(st.Code())
	if failed {
		c.failure = c.code
		c.span.SetStatus(otelcodes.Error, received.Text(st.Message())) // see methodOf
	}
	serving.Answer(c.span, c)
}

// statusOf returns the status of an error, even if methods of the error panic.
func statusOf(err error) (st *status.Status) {
	if !record.ProcessTimeline().Try(ofError, func() { st = status.Convert(err) }) {
		st = status.New(codes.Unknown, record.ErrorText(err))
	}
	return st
}
