package service

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/serve"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// maxRequest is the most bytes of a request, decompressed. The largest requests have a route and a
// list of modules.
const maxRequest = 64 << 10

// maxWork is how many queries at a time read whole timelines. Each may need memory of the
// timeline's size.
const maxWork = 2

// A recorder runs and keeps sessions: *sessions.Recorder, or a recorder of a test.
type recorder interface {
	Config() sessions.Config
	Start(context.Context, sessions.StartOptions) (sessions.SessionID, error)
	Stop(context.Context, sessions.SessionID) (*sessions.Session, error)
	RemoteSession(sessions.SessionID) (*sessions.Session, error)
	Release(sessions.SessionID) error
	ReleaseAll() int
	Statuses() []sessions.Status
	Watch(context.Context, sessions.SessionID) iter.Seq2[sessions.Status, error]
}

var _ recorder = (*sessions.Recorder)(nil)

// Config sets which clients are allowed, and their limits. Comments say what zero fields mean. A
// negative limit allows nothing.
type Config struct {
	// Authorize allows a request, or returns an error. The error is logged, and the client does not
	// see it. Without Authorize [guard.Local] allows clients on the same machine. A proxy on the
	// same machine that sets no header of a proxy looks like a local client: set Authorize there.
	//
	// AUTHORIZE REPLACES THE CHECK OF THE HOST HEADER, TOO. It need not check the header if it
	// checks a token or a cookie of yours. If it checks the address of the client, it must check
	// the header. Otherwise any page in the browser of an allowed user can call, once the page's
	// name resolves to this server (DNS rebinding):
	//
	//	if r.Host != "shop.internal:8080" {
	//		return fmt.Errorf("host %q: must be shop.internal:8080", r.Host)
	//	}
	Authorize func(*http.Request) error

	// TrustedOrigins are origins whose pages may call, as "https://tools.example". Pages of the
	// service's own host and clients that are no browsers always may. Behind a proxy that changes
	// the Host header, list the origin of the service itself. NewHandler panics if an element is no
	// origin.
	TrustedOrigins []string

	Logger *slog.Logger // of starts, and of refusals, one line a minute; nil means slog.Default()

	StartsPerMinute int // sessions that this handler starts in any minute; 0 means 10
	MaxStreams      int // StreamEvents and WatchSession at a time; 0 means 16
	// after which a stream ends if its client reads nothing; 0 means 30 s
	SendTimeout time.Duration
}

// NewHandler returns the service's handler and the path to mount it at, as the constructors that
// connect generates do. Several handlers may have the same recorder. NewHandler panics if an
// element of c.TrustedOrigins is no origin.
func NewHandler(r *sessions.Recorder, c Config) (path string, h http.Handler) {
	return newHandler(r, c)
}

func newHandler(r recorder, c Config) (path string, h http.Handler) {
	c.Logger = record.SafeLogger(c.Logger)
	s := &server{
		recorder:    r,
		logger:      c.Logger,
		starts:      serve.NewRate(orDefault(c.StartsPerMinute, 10)),
		streams:     make(chan struct{}, max(0, orDefault(c.MaxStreams, 16))),
		work:        make(chan struct{}, maxWork),
		sendTimeout: orDefault(c.SendTimeout, 30*time.Second),
	}
	path, h = profilerv1connect.NewProfilerServiceHandler(s,
		connect.WithRequestGate(s.allowed),
		connect.WithReadMaxBytes(maxRequest),
		connect.WithCodec(strictJSON{"json"}),
		connect.WithCodec(strictJSON{"json; charset=utf-8"}),
	)
	return path, guard.Guard{Authorize: c.Authorize, TrustedOrigins: c.TrustedOrigins,
		Logger: c.Logger, Refuse: refuse}.Handler(withController(h))
}

// orDefault returns v, or the default of a zero field of Config.
func orDefault[T int | time.Duration](v, zero T) T {
	if v == 0 {
		return zero
	}
	return v
}

// A server answers calls. The schema documents each of them.
type server struct {
	recorder    recorder
	logger      *slog.Logger
	starts      *serve.Rate
	streams     chan struct{} // holds one element for each stream
	work        chan struct{} // holds one element for each query that reads a whole timeline
	sendTimeout time.Duration
	servers     serve.Servers
}

var _ profilerv1connect.ProfilerServiceHandler = (*server)(nil)

// allowed refuses a call before it is read if the recorder's policy does.
func (s *server) allowed(ctx context.Context, _ connect.Spec, _ connect.Peer,
	_ http.Header) (context.Context, error) {
	if err := s.recorder.Config().Policy.CheckRemote(); err != nil {
		return nil, connect.NewError(connect.CodePermissionDenied, err)
	}
	return ctx, nil
}
