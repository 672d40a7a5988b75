package bridgegrpc_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/internal/bothproviders"
)

// Calls that are open at once have their own facts each, also if their spans were started by a wrapper.
func TestWrappedTracers(t *testing.T) {
	r := newRig(t)
	r.server.TracerProvider = bothproviders.Wrapped(r.provider)
	h := r.server.Handler()
	failed := h.TagRPC(r.ctx, &stats.RPCTagInfo{FullMethodName: "/" + buy})
	fine := h.TagRPC(r.ctx, &stats.RPCTagInfo{FullMethodName: "/" + list})
	h.HandleRPC(failed, &stats.Begin{BeginTime: time.Now()})
	h.HandleRPC(fine, &stats.Begin{BeginTime: time.Now()})
	h.HandleRPC(failed, &stats.OutTrailer{})
	h.HandleRPC(fine, &stats.OutTrailer{})
	h.HandleRPC(failed, &stats.End{Error: status.Error(codes.Internal, "because")})
	h.HandleRPC(fine, &stats.End{})
	if err := r.provider.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{buy: "INTERNAL INTERNAL", list: "OK "}
	for _, s := range r.spans.Ended() {
		got := tags(s)
		if is := got["rpc.response.status_code"] + " " + got["error.type"]; is != want[s.Name()] || got["rpc.method"] != s.Name() {
			t.Errorf("%s has the code and the error %q, want %q: %v", s.Name(), is, want[s.Name()], got)
		}
		delete(want, s.Name())
	}
	if len(want) > 0 {
		t.Errorf("there are no spans of %v", want)
	}
}
