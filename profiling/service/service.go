package service

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/internal/guard"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// maxRequest is how large a request may be, in bytes and decompressed: the largest one names
// a route and a list of modules.
const maxRequest = 64 << 10

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
	// Authorize decides who may come: nil lets the request in, an error is logged and told to
	// nobody. Without Authorize come only clients on the same machine: from a loopback
	// address, with a Host header that is localhost or such an address, and through no
	// proxy that says so. A proxy on the same machine that does not say so cannot be told from
	// a local client: set Authorize there. Pages of other origins may not call in any case.
	Authorize func(*http.Request) error

	Logger *slog.Logger // of starts and of what Authorize refused; nil means slog.Default()

	StartsPerMinute int           // calls of StartProfiler in any minute; 0 means 10
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
		sendTimeout: orDefault(c.SendTimeout, 30*time.Second),
	}
	path, h = profilerv1connect.NewProfilerServiceHandler(s,
		connect.WithRequestGate(s.allowed),
		connect.WithReadMaxBytes(maxRequest),
		connect.WithCodec(strictJSON{"json"}),
		connect.WithCodec(strictJSON{"json; charset=utf-8"}),
	)
	return path, guard.Guard{Authorize: c.Authorize, Logger: c.Logger, Refuse: refuse}.Handler(withController(h))
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
	sendTimeout time.Duration
}

var _ profilerv1connect.ProfilerServiceHandler = (*server)(nil)

// allowed refuses all calls before they are read when the recorder's policy does.
func (s *server) allowed(ctx context.Context, _ connect.Spec, _ connect.Peer, _ http.Header) (context.Context, error) {
	if err := s.recorder.CheckRemote(); err != nil {
		// One that does not wrap ErrNotAllowed says that the environment's setting makes no sense.
		return nil, connect.NewError(connect.CodePermissionDenied, err)
	}
	return ctx, nil
}
