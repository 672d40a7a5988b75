package bridge

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/felixge/httpsnoop"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// Server wraps HTTP handlers. The zero value uses OpenTelemetry's global tracer
// provider and propagators, and the default timeline.
type Server struct {
	TracerProvider trace.TracerProvider          // nil: otel.GetTracerProvider()
	Propagators    propagation.TextMapPropagator // nil: otel.GetTextMapPropagator()
	Timeline       *observer.Timeline            // nil: observer.Default()
}

// Middleware gives every request a timeline of its own, found again with
// observer.FromContext, and a server span by OpenTelemetry's semantic
// conventions for HTTP: named "METHOD route", with the route of the
// http.ServeMux pattern that matched, the status code, the protocol and the
// addresses. The parent comes from the request's headers by the propagators. The
// timeline knows [observer.RequestStart], [observer.ResponseStart], when the
// first byte is written, and [observer.ResponseEnd].
//
// The query is left out, because it often holds secrets. A handler that panics
// leaves a span with error status; the panic goes on. Wrap the mux itself, so
// that its pattern can be seen: a handler in between that copies the request
// (as http.TimeoutHandler does) hides it.
func Middleware(next http.Handler) http.Handler { return Server{}.Middleware(next) }

// Middleware is the package's Middleware with s's settings.
func (s Server) Middleware(next http.Handler) http.Handler {
	provider, propagators := s.TracerProvider, s.Propagators
	if provider == nil {
		provider = otel.GetTracerProvider() // forwards to what is set later
	}
	if propagators == nil {
		propagators = otel.GetTextMapPropagator()
	}
	parent := s.Timeline
	if parent == nil {
		parent = observer.Default()
	}
	tracer := provider.Tracer(ScopeName)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagators.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		method, original := knownMethod(r.Method)
		ctx, span := tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(requestAttributes(r, method, original)...))
		tl := parent.NewChildAt(startOf(span))
		defer tl.Close()
		r = r.WithContext(observer.NewContext(ctx, tl)) // on top, where it is found soonest
		res := &response{tl: tl, status: http.StatusOK}
		_ = tl.SetTiming(observer.RequestStart, 0) // a name of a request's timeline and a time of it
		panicked := true
		defer func() {
			_ = tl.SetTiming(observer.ResponseEnd, tl.Now())
			if !span.IsRecording() {
				span.End()
				return
			}
			if panicked {
				// Not recovered, so that its stack stays whole.
				span.SetStatus(codes.Error, "handler panicked")
				span.SetAttributes(semconv.ErrorTypeKey.String("panic"))
			}
			endServerSpan(span, r, method, res.status, panicked)
		}()
		next.ServeHTTP(res.watch(w), r)
		panicked = false
	})
}

// startOf is when the span started, so that one reading of the clock serves it and
// the request's timeline: the timeline's entries and the span's children then
// agree to the nanosecond. Of a span that does not tell it is now.
func startOf(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}

// endServerSpan sets what is known only at the end. r is the request the mux has seen.
func endServerSpan(span trace.Span, r *http.Request, method string, status int, panicked bool) {
	if route := routeOf(r.Pattern); route != "" {
		span.SetName(method + " " + route)
		span.SetAttributes(semconv.HTTPRoute(route))
	}
	if !panicked {
		span.SetAttributes(semconv.HTTPResponseStatusCode(status))
		if status >= 500 {
			span.SetStatus(codes.Error, "")
			span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		}
	}
	span.End()
}

// A response is what is noted of a response while the handler writes it.
type response struct {
	tl     *observer.Timeline
	status int // the first final one
	begun  bool
}

// begin is called before the first byte is written.
func (res *response) begin(status int) {
	if !res.begun {
		res.begun = true
		res.status = status
		_ = res.tl.SetTiming(observer.ResponseStart, res.tl.Now())
	}
}

// watch wraps w; every optional interface that w has keeps working.
func (res *response) watch(w http.ResponseWriter) http.ResponseWriter {
	return httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(writeHeader httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				// 1xx responses precede the one that counts, but for 101, which is final.
				if code >= 200 || code == http.StatusSwitchingProtocols {
					res.begin(code)
				}
				writeHeader(code)
			}
		},
		Write: func(write httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) {
				res.begin(http.StatusOK)
				return write(b)
			}
		},
		WriteString: func(write httpsnoop.WriteStringFunc) httpsnoop.WriteStringFunc {
			return func(s string) (int, error) {
				res.begin(http.StatusOK)
				return write(s)
			}
		},
		ReadFrom: func(readFrom httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) {
				res.begin(http.StatusOK)
				return readFrom(src)
			}
		},
		Flush: func(flush httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() {
				res.begin(http.StatusOK)
				flush()
			}
		},
	})
}

// routeOf is the path part of a ServeMux pattern "METHOD host/path".
func routeOf(pattern string) string {
	for i := range len(pattern) {
		if pattern[i] == '/' {
			return pattern[i:]
		}
	}
	return ""
}

// knownMethod is the method as the conventions want it: one of the standard
// ones or _OTHER, so that clients cannot make up span names.
func knownMethod(m string) (method, original string) {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return m, ""
	case "":
		return http.MethodGet, ""
	}
	return "HTTP", m
}

func requestAttributes(r *http.Request, method, original string) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 12)
	if original != "" {
		attrs = append(attrs, semconv.HTTPRequestMethodOther, semconv.HTTPRequestMethodOriginal(original))
	} else {
		attrs = append(attrs, semconv.HTTPRequestMethodKey.String(method))
	}
	scheme, port := "http", 80
	if r.TLS != nil {
		scheme, port = "https", 443
	}
	attrs = append(attrs, semconv.URLScheme(scheme), semconv.URLPath(r.URL.Path))
	if host, p := splitHostPort(r.Host); host != "" {
		attrs = append(attrs, semconv.ServerAddress(host))
		if p > 0 && p != port {
			attrs = append(attrs, semconv.ServerPort(p))
		}
	}
	if host, p := splitHostPort(r.RemoteAddr); host != "" {
		attrs = append(attrs, semconv.NetworkPeerAddress(host), semconv.ClientAddress(host))
		if p > 0 {
			attrs = append(attrs, semconv.NetworkPeerPort(p))
		}
	}
	if ua := r.UserAgent(); ua != "" {
		attrs = append(attrs, semconv.UserAgentOriginal(ua))
	}
	return append(attrs, semconv.NetworkProtocolVersion(protocolVersion(r)))
}

func protocolVersion(r *http.Request) string {
	if r.ProtoMajor >= 2 {
		return strconv.Itoa(r.ProtoMajor)
	}
	return strconv.Itoa(r.ProtoMajor) + "." + strconv.Itoa(r.ProtoMinor)
}

// splitHostPort is net.SplitHostPort for values that may lack a port: 0 then.
func splitHostPort(hostport string) (host string, port int) {
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport, 0
	}
	port, _ = strconv.Atoi(p) // a named or broken port is left out
	return host, port
}
