package service_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
)

// A request that is large when decompressed is refused, also if its bytes are few.
func TestHugeRequests(t *testing.T) {
	p := newProgram(t)
	url := serve(t, p.Recorder, service.Config{})
	a := &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_URL, Route: strings.Repeat("x", 1<<20)}
	for name, opts := range map[string][]connect.ClientOption{
		"as it is":       nil,
		"compressed":     {connect.WithSendGzip()},
		"JSON":           {connect.WithProtoJSON()},
		"gRPC-Web, gzip": {connect.WithGRPCWeb(), connect.WithSendGzip()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := profilerv1connect.NewProfilerServiceClient(httpClient(t, false), url, opts...).StartProfiler(t.Context(), a)
			if got := failure(err); !strings.HasPrefix(got, "resource_exhausted: ") || !strings.Contains(got, "65536") {
				t.Errorf("got %q, want resource_exhausted and how much is allowed", got)
			}
		})
	}
	if l := p.Statuses(); len(l) != 0 {
		t.Errorf("sessions are %v, want none", l)
	}
}

// A negative limit allows nothing.
func TestNoneAllowed(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, manyMarks(1)))
	c := client(t, serve(t, p.Recorder, service.Config{}.With(service.Limits{StartsPerMinute: -1, MaxStreams: -1})))
	_, err := c.StartProfiler(t.Context(), &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_IMMEDIATE})
	refused(t, "a start", err, "resource_exhausted: starts: ")
	_, err = all(c.WatchSession(t.Context(), &pb.WatchSessionArg{SessionId: id}))
	refused(t, "a stream", err, "resource_exhausted: streams: ")
}
