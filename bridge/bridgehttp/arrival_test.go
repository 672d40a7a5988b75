package bridgehttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/observer"
)

// An answer that does not arrive whole is an error, whatever cut it. An answer of which nothing arrives has no status.
func TestAnswerThatDoesNotArrive(t *testing.T) {
	gone := func(r *http.Request) { <-r.Context().Done() }
	base, stop := context.WithCancelCause(context.Background())
	stopping := errors.New("the program stops")
	for _, c := range []struct {
		name   string
		only   string // the protocol, or both
		server func(*http.Server)
		handle func(t *testing.T, w http.ResponseWriter, r *http.Request, leave func())
		stays  bool   // the client does, and gets the answer
		breaks bool   // the client sends half of its body and closes the connection
		late   bool   // time passes: in a bubble, over a network in memory
		want   string // http.response.status_code error.type
	}{
		{
			name: "the client leaves, and there is no answer",
			handle: func(_ *testing.T, _ http.ResponseWriter, r *http.Request, leave func()) {
				leave()
				gone(r)
			},
			want: " client_closed_request",
		}, {
			name: "the client leaves before an answer",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				leave()
				gone(r)
				http.Error(w, "too late", http.StatusServiceUnavailable)
			},
			want: " client_closed_request",
		}, {
			name: "the client leaves in the middle",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				_, _ = io.WriteString(w, "hello")
				w.(http.Flusher).Flush()
				leave()
				gone(r)
				_, _ = io.WriteString(w, "hello")
			},
			want: "200 client_closed_request",
		}, {
			name: "the client leaves in the middle of what is copied",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				_, _ = io.WriteString(w, strings.Repeat("hello", 1000))
				leave()
				for r.Context().Err() == nil {
					_, _ = io.Copy(w, strings.NewReader("hello"))
				}
			},
			want: "200 client_closed_request",
		}, {
			name: "the client leaves a stream of events",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: 1\n\n")
				w.(http.Flusher).Flush()
				leave()
				gone(r)
				_, _ = io.WriteString(w, "data: 2\n\n")
			},
			want: "200 ",
		}, {
			name: "the client leaves a stream of lines",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
				_, _ = io.WriteString(w, "{}\n")
				w.(http.Flusher).Flush()
				leave()
				gone(r)
				_, _ = io.WriteString(w, "{}\n")
			},
			want: "200 ",
		}, {
			name: "the client leaves a download of lines",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				w.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
				_, _ = io.WriteString(w, "{}\n")
				leave()
				gone(r)
			},
			want: "200 client_closed_request",
		}, {
			name: "the client leaves what the program calls a stream",
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				bridgehttp.SetStream(r.Context())
				_, _ = io.WriteString(w, "line\n")
				w.(http.Flusher).Flush()
				leave()
				gone(r)
				_, _ = io.WriteString(w, "line\n")
			},
			want: "200 ",
		}, {
			name: "the client leaves a long poll",
			handle: func(_ *testing.T, _ http.ResponseWriter, r *http.Request, leave func()) {
				bridgehttp.SetStream(r.Context())
				leave()
				gone(r)
			},
			want: " ",
		}, {
			name: "the server ends a stream", late: true,
			server: func(s *http.Server) { s.WriteTimeout = time.Second },
			handle: func(_ *testing.T, w http.ResponseWriter, r *http.Request, _ func()) {
				bridgehttp.SetStream(r.Context())
				time.Sleep(2 * time.Second)
				w.WriteHeader(http.StatusAccepted)
			},
			want: " timeout",
		}, {
			name: "the client has the whole answer, and leaves",
			handle: func(t *testing.T, w http.ResponseWriter, r *http.Request, leave func()) {
				w.Header().Set("Content-Length", "5")
				_, _ = io.WriteString(w, "hello")
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				leave()
				gone(r)
			},
			want: "200 ",
		}, {
			name: "the upload breaks off", only: "http/1.1", breaks: true,
			handle: func(t *testing.T, w http.ResponseWriter, r *http.Request, _ func()) {
				if _, err := io.ReadAll(r.Body); err == nil {
					t.Error("the body is whole")
				}
				http.Error(w, "half a body", http.StatusBadRequest)
			},
			want: " client_closed_request",
		}, {
			name: "the program ends the context for a cause, and the answer arrives", only: "http/1.1", stays: true,
			server: func(s *http.Server) { s.BaseContext = func(net.Listener) context.Context { return base } },
			handle: func(t *testing.T, w http.ResponseWriter, r *http.Request, _ func()) {
				stop(stopping)
				if err := context.Cause(r.Context()); !errors.Is(err, stopping) {
					t.Errorf("the context ended because of %v", err)
				}
				_, _ = io.WriteString(w, "hello")
			},
			want: "200 ",
		}, {
			name: "the server's time for writing is over", late: true,
			server: func(s *http.Server) { s.WriteTimeout = time.Second },
			handle: func(_ *testing.T, w http.ResponseWriter, _ *http.Request, _ func()) {
				time.Sleep(2 * time.Second)
				w.WriteHeader(http.StatusAccepted)
			},
			want: " timeout",
		}, {
			name: "the handler's time for writing is over", late: true,
			handle: func(t *testing.T, w http.ResponseWriter, _ *http.Request, _ func()) {
				_, _ = io.WriteString(w, "hello")
				if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second)
			},
			want: "200 timeout",
		}, {
			name: "the handler takes all the time that it needs", late: true, stays: true,
			server: func(s *http.Server) { s.WriteTimeout = time.Second },
			handle: func(t *testing.T, w http.ResponseWriter, _ *http.Request, _ func()) {
				if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Second)
				_, _ = io.WriteString(w, "hello")
			},
			want: "200 ",
		},
	} {
		for _, protocol := range protocols {
			if c.only != "" && c.only != protocol {
				continue
			}
			exchange := func(t *testing.T) {
				r := withProcessor(t)
				metrics := sdkmetric.NewManualReader()
				entries := watch(t, r.tl, observer.Navigation)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				served := make(chan struct{})
				h := bridgehttp.Server{
					TracerProvider: r.provider, Timeline: r.tl, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)),
				}.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { c.handle(t, w, req, leave) }))
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					defer close(served)
					h.ServeHTTP(w, req)
				}))
				if c.server != nil {
					c.server(srv.Config)
				}
				var network memnet.Network
				if c.late {
					srv.Listener.Close()
					srv.Listener = network.Listen()
				}
				srv.EnableHTTP2 = protocol == "h2"
				if srv.EnableHTTP2 {
					srv.StartTLS()
				} else {
					srv.Start()
				}
				defer srv.Close()
				if c.late {
					srv.Client().Transport.(*http.Transport).DialContext = network.Dial
				}
				if c.breaks {
					conn, err := net.Dial("tcp", srv.Listener.Addr().String())
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 100\r\n\r\nhalf")
					_ = conn.Close()
				} else {
					resp, err := srv.Client().Do(newRequest(t, http.MethodPost, srv.URL, nil).WithContext(ctx))
					if err == nil {
						var body []byte
						if body, err = io.ReadAll(resp.Body); c.stays && string(body) != "hello" {
							t.Errorf("the client got %q, %v", body, err)
						}
						resp.Body.Close()
					}
					if c.stays && err != nil {
						t.Error(err)
					}
					srv.CloseClientConnections()
				}
				within(t, served, "the handler")
				r.flush(t)
				span := r.got.one(t, "POST")
				failure := tag(span, "error.type")
				if got := tag(span, "http.response.status_code") + " " + failure; got != c.want || (span.Status().Code == codes.Error) != (failure != "") {
					t.Errorf("the span has %q and %v, want %q", got, span.Status(), c.want)
				}
				if got := attr(only(t, entries()), "error"); got != failure && (got != nil || failure != "") {
					t.Errorf("the entry has the error %v, want %q", got, failure)
				}
				var rm metricdata.ResourceMetrics
				if err := metrics.Collect(t.Context(), &rm); err != nil {
					t.Fatal(err)
				}
				point := rm.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0]
				if v, _ := point.Attributes.Value("error.type"); v.AsString() != failure {
					t.Errorf("the metric has error.type %q, want %q", v.AsString(), failure)
				}
			}
			t.Run(c.name+" over "+protocol, func(t *testing.T) {
				if c.late {
					synctest.Test(t, exchange)
				} else {
					exchange(t)
				}
			})
		}
	}
}

// What a write returns says why the answer did not arrive, whoever made the writer and the error.
func TestWriteErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string // error.type
	}{
		{"the connection is closed", fmt.Errorf("writing: %w", net.ErrClosed), "client_closed_request"},
		{"the connection is reset", &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}, "client_closed_request"},
		{"the deadline is over", os.ErrDeadlineExceeded, "timeout"},
		{"the time of http.TimeoutHandler is over", http.ErrHandlerTimeout, "timeout"},
		{"too much is written", http.ErrContentLength, "content_length_mismatch"},
		{"the answer has no body", http.ErrBodyNotAllowed, ""},
		{"another error", errFake, "*errors.errorString"},
		{"an error whose method panics", panickingError{}, "github.com/perfline/perfline/bridge/bridgehttp_test.panickingError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hasErrorType(t, failingWriter{httptest.NewRecorder(), c.err}, nil, c.want, func(w http.ResponseWriter, _ *http.Request) {
				if _, err := w.Write([]byte("hello")); err != c.err { //nolint:errorlint // itself
					t.Errorf("the handler gets another error than the writer's")
				}
			})
		})
	}
}

// What a copy returns says why the answer did not arrive, unless the error may be of the source.
func TestCopyErrors(t *testing.T) {
	const first = 512 // bytes are written and not copied
	for _, c := range []struct {
		name string
		err  error
		want string // error.type
	}{
		{"the connection is closed", &net.OpError{Op: "readfrom", Err: &net.OpError{Op: "write", Err: syscall.EPIPE}}, "client_closed_request"},
		{"the deadline is over", &net.OpError{Op: "write", Err: os.ErrDeadlineExceeded}, "timeout"},
		{"too much is written", http.ErrContentLength, "content_length_mismatch"},
		{"the source is a connection that was reset", &net.OpError{Op: "readfrom", Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}, ""},
		{"the source has an error of its own", errFake, ""},
		{"an error whose method panics", panickingError{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hasErrorType(t, failingCopier{httptest.NewRecorder(), c.err}, nil, c.want, func(w http.ResponseWriter, _ *http.Request) {
				if _, err := io.Copy(w, struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 2*first))}); err != c.err { //nolint:errorlint // itself
					t.Errorf("the handler gets another error than the writer's")
				}
			})
		})
	}
}

// A request's body that breaks off says that its client has left. Other errors of a body do not.
func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string // error.type
	}{
		{"the body is whole", io.EOF, ""},
		{"the body breaks off", io.ErrUnexpectedEOF, "client_closed_request"},
		{"the connection is reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, "client_closed_request"},
		{"the body is too large", &http.MaxBytesError{Limit: 1}, ""},
		{"another error", errFake, ""},
		{"an error whose method panics", panickingError{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hasErrorType(t, httptest.NewRecorder(), iotest.ErrReader(c.err), c.want, func(_ http.ResponseWriter, req *http.Request) {
				if _, err := req.Body.Read(make([]byte, 1)); err != c.err { //nolint:errorlint // itself
					t.Errorf("the handler gets another error than the body's")
				}
			})
		})
	}
}

// hasErrorType serves a request with that body, and fails unless error.type of its span is want.
func hasErrorType(t *testing.T, w http.ResponseWriter, body io.Reader, want string, handle http.HandlerFunc) {
	t.Helper()
	r := withProcessor(t)
	h := bridgehttp.Server{TracerProvider: r.provider, Timeline: r.tl}.Middleware(handle)
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", body))
	r.flush(t)
	if got := tag(r.got.one(t, "POST"), "error.type"); got != want {
		t.Errorf("error.type is %q, want %q", got, want)
	}
}

type failingCopier struct {
	http.ResponseWriter
	err error
}

func (w failingCopier) ReadFrom(io.Reader) (int64, error) { return 0, w.err }

type failingWriter struct {
	http.ResponseWriter
	err error
}

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

type panickingError struct{}

func (panickingError) Error() string { panic("the error's own panic") }
func (panickingError) Is(error) bool { panic("the error's own panic") }
