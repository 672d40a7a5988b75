package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// The functions of a request, from the goroutine's first one to the handler's: those of the judge's
// service with the README's program.
const (
	server   = "net/http.(*conn).serve net/http.serverHandler.ServeHTTP net/http.(*ServeMux).ServeHTTP "
	inside   = server + "net/http.HandlerFunc.ServeHTTP github.com/perfline/perfline/bridge/bridgehttp.(*server).ServeHTTP "
	handler  = inside + "net/http.(*ServeMux).ServeHTTP net/http.HandlerFunc.ServeHTTP main.openWork.func1 "
	marking  = handler + "main.workWithMarks "
	theirs   = "net/http.(*conn).serve net/http.serverHandler.ServeHTTP go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.(*middleware).serveHTTP "
	ordersOf = "github.com/perfline/perfline/lab/internal/orders."
)

func TestTally(t *testing.T) {
	const ours, hers, others = "telemetry", "handler", "rest"
	for _, c := range []struct{ name, stack, want string }{
		{"the server", "net/http.(*conn).serve net/http.(*conn).readRequest", others},
		{"the middleware", inside + "github.com/perfline/perfline/bridge.(*span).End", ours},
		{"the middleware's own", inside, ours},
		{"what the middleware calls", inside + "net/http.Header.Get", ours},
		{"memory for the middleware", inside + "runtime.newobject runtime.mallocgc", ours},
		{"the mux that the middleware wraps", inside + "net/http.(*ServeMux).ServeHTTP net/http.(*ServeMux).findHandler", others},
		{"the handler itself", handler, others},
		{"a mark", marking + "github.com/perfline/perfline/marks.Mark", ours},
		{"the handler's work", marking + ordersOf + "(*Order).Reserve", hers},
		{"what the work calls", marking + ordersOf + "(*Order).Reserve crypto/sha256.Sum256 crypto/internal/fips140/sha256.blockSHANI", hers},
		{"memory for the work", marking + ordersOf + "(*Order).Encode encoding/json.Marshal runtime.mallocgc", hers},
		{"writing, through the middleware's writer", handler + "github.com/perfline/perfline/bridge/bridgehttp.(*writer).Write net/http.(*response).Write bufio.(*Writer).Write", others},
		{"the middleware's writer itself", handler + "github.com/perfline/perfline/bridge/bridgehttp.(*writer).Write", ours},
		{"writing, through otelhttp's writer", theirs + "main.openWork.func1 github.com/felixge/httpsnoop.(*rw).Write", ours},
		{"a span of the SDK", theirs + "main.workWithSpans go.opentelemetry.io/otel/sdk/trace.(*tracer).Start", ours},
		{"the batch processor", "go.opentelemetry.io/otel/sdk/trace.(*batchSpanProcessor).processQueue google.golang.org/protobuf/proto.Marshal", ours},
		{"gRPC's goroutine", "google.golang.org/grpc/internal/transport.(*loopyWriter).run internal/poll.(*FD).Write", ours},
		{"perfline's own package", "github.com/perfline/perfline.(*Pipeline).Flush", ours},
		{"the client", "github.com/perfline/perfline/lab/internal/service.Repeat.func1 net/http.(*Client).Do", others},
		{"the client's connection", "net/http.(*persistConn).readLoop", others},
		{"garbage collection", "runtime.gcBgMarkWorker runtime.gcDrain", others},
		{"another module whose name begins alike", "github.com/perfline/perfliner.Run", others},
		{"no function", "", others},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := tallied(encodedProfile(t, c.stack))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]tally{ours: {telemetry: 3}, hers: {handler: 3}, others: {rest: 3}}[c.want]
			if got != want {
				t.Errorf("3 samples of\n%s\nare %+v, want %+v", strings.ReplaceAll(c.stack, " ", "\n"), got, want)
			}
		})
	}
}

// Of a function that was inlined, the innermost part decides.
func TestTallyOfInlinedFunctions(t *testing.T) {
	inlined := &profile.Location{ID: 1, Line: []profile.Line{
		{Function: &profile.Function{Name: "github.com/perfline/perfline/marks.Mark"}},
		{Function: &profile.Function{Name: "main.workWithMarks"}},
	}}
	var got tally
	*got.of(&profile.Sample{Location: []*profile.Location{inlined}})++
	if got != (tally{telemetry: 1}) {
		t.Errorf("a mark that was inlined into the handler is %+v, want telemetry", got)
	}
}

func TestTallyOfNoProfile(t *testing.T) {
	if _, err := tallied([]byte("no profile")); err == nil {
		t.Error("text is a profile")
	}
}

// encodedProfile is a CPU profile with 3 samples of one stack, whose first function is the outermost.
func encodedProfile(t *testing.T, stack string) []byte {
	t.Helper()
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Value: []int64{3, 3e7}}},
	}
	for _, name := range strings.Fields(stack) {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample[0].Location = append([]*profile.Location{l}, p.Sample[0].Location...)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
