package waiting_test

import (
	"testing"

	"github.com/perfline/perfline/internal/waiting"
)

func TestStandard(t *testing.T) {
	for function, want := range map[string]bool{
		"runtime.chanrecv1":      true,
		"net/http.(*conn).serve": true,
		"vendor/golang.org/x/net/http2/hpack.(*Decoder).parse": true,
		"internal/poll.(*FD).Read":                             true,
		"golang.org/x/sync/errgroup.(*Group).Wait":             true,
		"slices.SortFunc[go.shape.[]example.com/a.T]":          true,
		"":                                   true,
		"main.main":                          false,
		"example.com/net/http.Get":           false,
		"shop/internal/store.(*Store).flush": false,
		"shop.(*Store).flush":                false,
		"go.opentelemetry.io/otel/sdk/trace.(*tracer).Start":                    true,
		"github.com/perfline/perfline/bridge/bridgehttp.(*transport).RoundTrip": true,
		"github.com/perfline/perfline/marks.Time":                               true,
		"github.com/perfline/perfline/marks_test.render":                        false,
		"github.com/perfline/perfline/examples/shop.(*desk).pay":                false,
		"github.com/perfline/perfline/internal/goruntime.GoroutineProfile":      true,
		"github.com/perfline/perfline.Start":                                    true,
		"github.com/perfline/perfline/lab/slow.work":                            false,
		"github.com/perfline/perflines.New":                                     false,
		"github.com/XSAM/otelsql.(*otConn).ExecContext":                         true,
		"example.com/sqlite._Cfunc_sqlite3_step":                                true,
		"example.com/sqlite._C2func_open":                                       true,
		"example.com/sqlite._Cfunc.step":                                        false,
		"go.opentelemetry.iot/a.f":                                              false,
	} {
		if got := waiting.Standard(function); got != want {
			t.Errorf("Standard(%q) is %v, want %v", function, got, want)
		}
	}
}
