package service

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/internal/serve"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// maxRequest is the most bytes of a decompressed request: a route and a list of modules.
const maxRequest = 64 << 10

// maxWork is the most queries at a time that may need memory of a timeline's size.
const maxWork = 2

// A recorder runs and stores sessions: *sessions.Recorder, or a test's.
type recorder interface {
	Config() sessions.Config
	Start(context.Context, sessions.StartOptions) (sessions.SessionID, error)
	Stop(context.Context, sessions.SessionID) (*sessions.Session, error)
	RemoteSession(sessions.SessionID) (*sessions.Session, error)
	Release(sessions.SessionID) error
	Statuses() []sessions.Status
	Watch(context.Context, sessions.SessionID) iter.Seq2[sessions.Status, error]
}

var _ recorder = (*sessions.Recorder)(nil)

// Config configures the handler of [NewHandler]: the clients that may call the handler, and the
// logger.
type Config struct {
	// Authorize returns nil for an allowed request. The handler logs an error of Authorize, and
	// does not send the error to the client. Nil means [guard.Local], which allows clients on the
	// same machine. Set Authorize if a proxy on the same machine forwards requests without proxy
	// headers. Requests of such a proxy look local.
	//
	// AUTHORIZE ALSO REPLACES THE CHECK OF THE HOST HEADER. A function that checks a token or a
	// cookie need not check the header. A function that checks the address of the client must also
	// check the Host header. Otherwise any page in the browser of an allowed user can call the
	// handler by DNS rebinding. In this attack, the host name of the page resolves to this server.
	//
	//	if r.Host != "shop.internal:8080" {
	//		return fmt.Errorf("host %q: must be shop.internal:8080", r.Host)
	//	}
	Authorize func(*http.Request) error

	// TrustedOrigins lists the origins of web pages that may call the handler, such as
	// "https://tools.example". Pages of the service's host need no entry. Clients other than
	// browsers need no entry. Behind a proxy that changes the Host header, add the origin of the
	// service.
	TrustedOrigins []string

	Logger *slog.Logger // for starts, and refusals once a minute; nil means slog.Default()

	limits limits
}

// limits bound what clients may use of a handler.
type limits struct {
	StartsPerMinute int           // starts of sessions in any minute; 0 means 10
	MaxStreams      int           // StreamEvents and WatchSession calls at a time; 0 means 16
	SendTimeout     time.Duration // for the client to read a message of a stream; 0 means 30 s
}

// NewHandler returns an HTTP handler that serves the sessions of the recorder r. Mount the handler
// at the returned path. The order of the results is the same as for constructors that connect
// generates. Several handlers may share a recorder. NewHandler panics if an element of
// c.TrustedOrigins is not a valid origin.
func NewHandler(r *sessions.Recorder, c Config) (path string, h http.Handler) {
	return newHandler(r, c)
}

func newHandler(r recorder, c Config) (path string, h http.Handler) {
	c.Logger = record.SafeLogger(c.Logger)
	s := &server{
		recorder:    r,
		logger:      c.Logger,
		starts:      serve.NewRate(cmp.Or(c.limits.StartsPerMinute, 10)),
		streams:     make(chan struct{}, max(0, cmp.Or(c.limits.MaxStreams, 16))),
		work:        make(chan struct{}, maxWork),
		sendTimeout: cmp.Or(c.limits.SendTimeout, 30*time.Second),
	}
	path, h = profilerv1connect.NewProfilerServiceHandler(s,
		connect.WithRequestGate(s.allowed),
		connect.WithReadMaxBytes(maxRequest),
		connect.WithCodec(strictJSON{"json"}),
		connect.WithCodec(strictJSON{"json; charset=utf-8"}),
	)
	g := guard.Guard{
		Authorize: c.Authorize, TrustedOrigins: c.TrustedOrigins, Logger: c.Logger, Refuse: refuse,
	}
	return path, g.Handler(withController(h))
}

// A server implements the schema, which documents the methods.
type server struct {
	recorder    recorder
	logger      *slog.Logger
	starts      *serve.Rate
	streams     chan struct{} // one element for each stream
	work        chan struct{} // one element for each query that reads a whole timeline
	sendTimeout time.Duration
	servers     serve.Servers
}

var _ profilerv1connect.ProfilerServiceHandler = (*server)(nil)

// allowed checks the recorder's policy before connect reads the request.
func (s *server) allowed(
	ctx context.Context, _ connect.Spec, _ connect.Peer, _ http.Header,
) (context.Context, error) {
	if err := remote.Policy(s.recorder.Config().Policy).Check(); err != nil {
		return nil, connect.NewError(connect.CodePermissionDenied, err)
	}
	return ctx, nil
}
