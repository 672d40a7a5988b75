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

// codeNames are the specified names of gRPC's status codes (grpc/doc/statuscodes.md), which
// codes.Code does not print.
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

// codeName is the name of a code, "CODE(n)" for one that is not specified.
func codeName(c codes.Code) string {
	if c < codes.Code(len(codeNames)) {
		return codeNames[c]
	}
	return "CODE(" + strconv.FormatUint(uint64(c), 10) + ")"
}

// isServerError reports whether a status says that the server failed, by the semantic conventions
// for gRPC.
func isServerError(c codes.Code) bool {
	switch c {
	case codes.Unknown, codes.DeadlineExceeded, codes.Unimplemented, codes.Internal,
		codes.Unavailable, codes.DataLoss:
		return true
	default:
		return false
	}
}

// endSpan ends the span of the call.
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

// statusOf returns the status of an error. The methods of the error may panic.
func statusOf(err error) (st *status.Status) {
	if !record.ProcessTimeline().Try(ofError, func() { st = status.Convert(err) }) {
		st = status.New(codes.Unknown, record.ErrorText(err))
	}
	return st
}
