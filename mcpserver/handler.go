package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/internal/serve"
	"github.com/perfline/perfline/internal/setup"
	"github.com/perfline/perfline/waits"
)

// Config configures [Handler]. If Config is zero, the handler serves only agents on the same
// machine.
type Config struct {
	// Authorize returns an error to refuse a request. The handler logs the error, and does not send
	// the error to the client. Authorize replaces the check of the Host header: see package guard.
	// nil means [guard.Local], which allows only clients on the same machine.
	Authorize func(*http.Request) error

	// TrustedOrigins lists origins, such as "https://tools.example". Web pages of these origins may
	// use the tools. Handler panics if an origin is invalid.
	TrustedOrigins []string

	// Data selects the tools:
	//   - [guard.Everything] selects all tools.
	//   - [guard.Summary] selects only the tools for routes, counts and the runtime.
	//   - 0 selects Everything if Authorize is nil, and Summary otherwise.
	//
	// To show single requests to clients on other machines, set Everything explicitly. Handler
	// panics if Data is invalid.
	Data guard.Data

	Logger *slog.Logger // nil means slog.Default()
}

const (
	maxCalls   = 8                // at a time
	maxBody    = 64 << 10         // bytes
	readTime   = 10 * time.Second // for the body of a call, and for the answer after callTime
	callTime   = time.Minute      // for a whole call
	maxStarts  = 10               // sessions and arms in a minute
	retryAfter = "2"              // seconds
)

var errTooLong = errors.New("the call took too long")

// A server holds the state of the tools.
type server struct {
	source        perfline.Source
	data          guard.Data
	policy        remote.Policy
	logger        *slog.Logger
	listed        *lookup.Cache
	waitsRecorder waits.Recorder
	waits         *lookup.Waits
	calls         chan struct{} // holds an element for each call in progress
	starts        *serve.Rate
	profile       toolSession
	servers       serve.Servers
}

// Handler returns a handler that serves the tools over streamable HTTP. The program may mount the
// handler at any path. Handler panics if c is invalid.
func Handler(source perfline.Source, c Config) http.Handler {
	s := &server{
		source: source, data: serve.Data("mcpserver", c.Data, c.Authorize),
		logger: record.SafeLogger(c.Logger), waitsRecorder: source.Waits(),
		listed: lookup.NewCache(maxListed, maxListedBytes), calls: make(chan struct{}, maxCalls),
		starts: serve.NewRate(maxStarts),
	}
	if sessions := source.Sessions(); sessions != nil {
		s.policy = remote.Policy(sessions.Config().Policy)
	}
	s.waits = lookup.NewWaits(s.waitsRecorder, s.policy.Shows)
	tools := s.tools()
	inside := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools },
		&mcp.StreamableHTTPOptions{
			Stateless:           true, // a session would cost memory after its client has left
			MaxRequestBodyBytes: maxBody,
			// The guard checks the Host header more strictly. The SDK's check would refuse clients
			// of a proxy on the same machine even if Authorize allows them.
			DisableLocalhostProtection:   true,
			PropagateRequestCancellation: true,
		})
	g := guard.Guard{Authorize: c.Authorize, TrustedOrigins: c.TrustedOrigins, Logger: c.Logger}
	return g.Handler(s.limitCalls(inside))
}

// limitCalls limits the number of calls, and the time of each call. A call ends when its client
// leaves, and when the server shuts down.
func (s *server) limitCalls(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setup.MarkPage(r.Context())
		w.Header().Set("X-Content-Type-Options", "nosniff")
		select {
		case s.calls <- struct{}{}:
			defer func() { <-s.calls }()
		default:
			w.Header().Set("Retry-After", retryAfter)
			http.Error(w, "too many calls at a time: try again in some seconds",
				http.StatusServiceUnavailable)
			return
		}
		// A ResponseWriter without deadlines still has the server's timeouts.
		control, now := http.NewResponseController(w), time.Now()
		_ = control.SetReadDeadline(now.Add(readTime))
		_ = control.SetWriteDeadline(now.Add(callTime + readTime))
		if isBatch(w, r) {
			http.Error(w, "the body is a batch of messages: send each in a request of its own",
				http.StatusBadRequest)
			return
		}
		ctx, end := context.WithTimeoutCause(r.Context(), callTime, errTooLong)
		defer end()
		ctx, done := s.servers.Context(ctx)
		defer done()
		next.ServeHTTP(w, r.WithContext(withCall(ctx)))
	})
}
