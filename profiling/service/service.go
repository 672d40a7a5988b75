package service

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/internal/guard"
	"github.com/perfline/perfline/internal/shutdown"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// maxRequest is how large a request may be, in bytes and decompressed: the largest one names
// a route and a list of modules.
const maxRequest = 64 << 10

// maxWork is how many queries at a time go through whole timelines: what they are put together
// in is theirs alone, and may be of the timeline's size.
const maxWork = 2

// A Recorder has the sessions: *sessions.Recorder.
type Recorder interface {
	CheckRemote() error
	Start(context.Context, sessions.StartOptions) (sessions.SessionID, error)
	Stop(context.Context, sessions.SessionID) (*sessions.Session, error)
	Session(sessions.SessionID) (*sessions.Session, error)
	Release(sessions.SessionID) error
	ReleaseAll() int
	Statuses() []sessions.Status
	Watch(context.Context, sessions.SessionID) iter.Seq2[sessions.Status, error]
}

var _ Recorder = (*sessions.Recorder)(nil)

// Config says who may come, and how much they may ask for. Zero fields mean what their
// comments say; what is negative allows none.
type Config struct {
	// Authorize decides alone who may come: nil lets the request in, an error is logged and told to
	// nobody. nil means [Local]: who is on the same machine. A proxy on the same machine that
	// does not say that it is one cannot be told from a local client: set Authorize there.
	//
	// IT REPLACES THE RULE ABOUT THE HOST HEADER, TOO. One that goes by a token or a cookie of
	// yours needs none. One that goes by where a request comes from lets in whatever page
	// the browser of who may has open, once that page's name is made to resolve to this server
	// (DNS rebinding), unless it asks for the Host:
	//
	//	if r.Host != "shop.internal:8080" {
	//		return fmt.Errorf("host %q: must be shop.internal:8080", r.Host)
	//	}
	Authorize func(*http.Request) error

	// TrustedOrigins are origins whose pages may call, as "https://tools.example"; without them
	// those may that the service's own host serves, and clients that are no browsers. One behind a
	// proxy that changes the Host header has to be among them. NewHandler panics if one is no origin.
	TrustedOrigins []string

	Logger *slog.Logger // of starts, and of refusals, a line of those a minute; nil means slog.Default()

	StartsPerMinute int           // sessions that begin in any minute by this handler; 0 means 10
	MaxStreams      int           // StreamEvents and WatchSession at a time; 0 means 16
	SendTimeout     time.Duration // after which a stream that its client takes nothing of ends; 0 means 30 s
}

// NewHandler makes the service's handler, and says at which path to mount it, as the
// constructors that connect generates do.
func NewHandler(r Recorder, c Config) (path string, h http.Handler) {
	return newHandler(r, c, time.Now)
}

func newHandler(r Recorder, c Config, now func() time.Time) (path string, h http.Handler) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	s := &server{
		recorder:    r,
		logger:      c.Logger,
		starts:      newRate(orDefault(c.StartsPerMinute, 10), now),
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
	return path, guard.Guard{Authorize: c.Authorize, TrustedOrigins: c.TrustedOrigins, Logger: c.Logger, Refuse: refuse}.Handler(withController(h))
}

// orDefault is what a zero field of Config means.
func orDefault[T int | time.Duration](v, zero T) T {
	if v == 0 {
		return zero
	}
	return v
}

// server answers calls; see the schema for what each does.
type server struct {
	recorder    Recorder
	logger      *slog.Logger
	starts      *rate
	streams     chan struct{} // has one for each stream
	work        chan struct{} // has one for each query that goes through a whole timeline
	sendTimeout time.Duration
	servers     shutdown.Servers
}

var _ profilerv1connect.ProfilerServiceHandler = (*server)(nil)

// allowed refuses all calls before they are read when the recorder's policy does.
func (s *server) allowed(ctx context.Context, _ connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
	if err := s.recorder.CheckRemote(); err != nil {
		return nil, connect.NewError(connect.CodePermissionDenied, err)
	}
	return ctx, nil
}
