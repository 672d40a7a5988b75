package bridgegrpc_test

import (
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/observer"
)

// A client chooses the name of its Unix socket. A receiver refuses a request with text that is not UTF-8, with all spans in it.
func TestAddressesAreUTF8(t *testing.T) {
	tl, spans := observer.NewTimeline(observer.TimelineOptions{}), tracetest.NewSpanRecorder()
	provider := bothproviders.New(t, tl, nil, spans)
	h := bridgegrpc.Server{TracerProvider: provider, Timeline: tl}.Handler()
	local, remote := &net.UnixAddr{Name: "/tmp/\xff", Net: "unix"}, &net.UnixAddr{Name: "/tmp/" + strings.Repeat("\xfe", 200), Net: "unix"}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: remote, LocalAddr: local})
	ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: "/a.B/C"})
	h.HandleRPC(ctx, &stats.Begin{})
	h.HandleRPC(ctx, &stats.End{})
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, kv := range spans.Ended()[0].Attributes() {
		if !utf8.ValidString(kv.Value.String()) {
			t.Errorf("%s is %q", kv.Key, kv.Value.String())
		}
	}
}
