package frameworks_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/gorilla/mux"
	"github.com/julienschmidt/httprouter"
	echo4 "github.com/labstack/echo/v4"
	echo5 "github.com/labstack/echo/v5"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.uber.org/goleak"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/examples/frameworks"
	"github.com/perfline/perfline/marks"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	gin.DefaultErrorWriter = io.Discard
	goleak.VerifyTestMain(m)
}

// Each framework serves GET /items/{id}, which makes a mark with the framework's own context and answers 200, and GET /fail/{id},
// which fails in the framework's way with 418.
const teapot = http.StatusTeapot

func serveMux() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "item") })
	m.HandleFunc("GET /fail/{id}", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no coffee", teapot) })
	return m
}

// nested has a ServeMux behind StripPrefix and a TimeoutHandler.
func nested() http.Handler {
	outer := http.NewServeMux()
	outer.Handle("/", http.TimeoutHandler(bridgehttp.Mount("", mounted()), time.Minute, "late"))
	return outer
}

func mounted() http.Handler {
	items := http.NewServeMux()
	items.HandleFunc("GET /{id}", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "item") })
	fail := http.NewServeMux()
	fail.HandleFunc("GET /{id}", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no coffee", teapot) })
	m := http.NewServeMux()
	m.Handle("/items/", http.StripPrefix("/items", bridgehttp.Mount("/items", items)))
	m.Handle("/fail/", http.StripPrefix("/fail", bridgehttp.Mount("/fail", fail)))
	return m
}

func chiRouter() http.Handler {
	r := chi.NewRouter()
	r.Use(frameworks.ChiRoute, middleware.RequestID, middleware.Recoverer, middleware.Timeout(time.Minute))
	r.Route("/items", func(r chi.Router) {
		r.Get("/{id}", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "item") })
	})
	r.Get("/fail/{id}", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no coffee", teapot) })
	return r
}

func ginEngine() http.Handler {
	e := gin.New()
	e.ContextWithFallback = true // so that a *gin.Context is the request's context, for marks and for spans
	e.Use(frameworks.GinRoute, gin.Recovery())
	e.GET("/items/:id", func(c *gin.Context) { marks.Mark(c, "item") })
	e.GET("/fail/:id", func(c *gin.Context) { c.AbortWithStatus(teapot) })
	return e
}

func echoV4() http.Handler {
	e := echo4.New()
	e.Use(frameworks.Echo4Route)
	e.GET("/items/:id", func(c echo4.Context) error {
		marks.Mark(c.Request().Context(), "item")
		return nil
	})
	e.GET("/fail/:id", func(echo4.Context) error { return echo4.NewHTTPError(teapot, "no coffee") })
	return e
}

func echoV5() http.Handler {
	e := echo5.New()
	e.Use(frameworks.Echo5Route)
	e.GET("/items/:id", func(c *echo5.Context) error {
		marks.Mark(c.Request().Context(), "item")
		return nil
	})
	e.GET("/fail/:id", func(*echo5.Context) error { return echo5.NewHTTPError(teapot, "no coffee") })
	return e
}

func gorilla() http.Handler {
	r := mux.NewRouter()
	r.Use(frameworks.GorillaRoute)
	r.HandleFunc("/items/{id}", func(_ http.ResponseWriter, r *http.Request) { marks.Mark(r.Context(), "item") }).Methods(http.MethodGet)
	r.HandleFunc("/fail/{id}", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no coffee", teapot) })
	return r
}

func httpRouter() http.Handler {
	r := httprouter.New()
	r.GET(frameworks.HTTPRouterRoute("/items/:id", func(_ http.ResponseWriter, r *http.Request, _ httprouter.Params) { marks.Mark(r.Context(), "item") }))
	r.GET(frameworks.HTTPRouterRoute("/fail/:id", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		http.Error(w, "no coffee", teapot)
	}))
	return r
}

// ownRouter is a router without a library: a list of regular expressions.
func ownRouter() http.Handler {
	itemPath, failPath := regexp.MustCompile(`^/items/[^/]+$`), regexp.MustCompile(`^/fail/[^/]+$`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case itemPath.MatchString(r.URL.Path):
			bridgehttp.SetRoute(r.Context(), "/items/{id}")
			marks.Mark(r.Context(), "item")
		case failPath.MatchString(r.URL.Path):
			bridgehttp.SetRoute(r.Context(), "/fail/{id}")
			http.Error(w, "no coffee", teapot)
		default:
			http.NotFound(w, r)
		}
	})
}

// allFrameworks have a handler each.
var allFrameworks = []struct {
	name    string
	handler func() http.Handler
	item    string // the name of the item's route
	around  bool   // a mux with the pattern "/" is around the router
}{
	{"ServeMux", serveMux, "{id}", false},
	{"nested ServeMux with StripPrefix and TimeoutHandler", nested, "{id}", true},
	{"chi", chiRouter, "{id}", false},
	{"gin", ginEngine, ":id", false},
	{"echo v4", echoV4, ":id", false},
	{"echo v5", echoV5, ":id", false},
	{"gorilla/mux", gorilla, "{id}", false},
	{"httprouter", httpRouter, ":id", false},
	{"a router of one's own", ownRouter, "{id}", false},
}

func TestFrameworks(t *testing.T) {
	for _, f := range allFrameworks {
		for _, c := range []struct {
			what, path string
			status     int
			route      string
			marks      []string
		}{
			{"found", "/items/7", http.StatusOK, "/items/" + f.item, []string{"item"}},
			{"fails", "/fail/7", teapot, "/fail/" + f.item, nil},
			{"not found", "/nothing", http.StatusNotFound, "", nil},
		} {
			t.Run(f.name+"/"+c.what, func(t *testing.T) {
				rec := bridgetest.New(t)
				server := bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline(), ServerTiming: bridgehttp.ServerTiming{Trace: true}}
				root := http.NewServeMux() // beside the page, as in the README
				root.Handle("/", server.Middleware(f.handler()))
				srv := httptest.NewServer(root)
				defer srv.Close()
				resp := get(t, srv, c.path)
				if resp.StatusCode != c.status || !strings.Contains(resp.Header.Get("Server-Timing"), "traceparent") {
					t.Errorf("the client gets %s with Server-Timing %q, want %d and one with a traceparent", resp.Status, resp.Header.Get("Server-Timing"), c.status)
				}
				srv.Close()
				spans := rec.Spans()
				if len(spans) != 1 {
					t.Fatalf("%d spans, want one, of the request:\n%s", len(spans), rec.Tree("*"))
				}
				s := spans[0]
				if got := s.Attr(semconv.HTTPResponseStatusCodeKey).AsInt64(); got != int64(c.status) {
					t.Errorf("the span has the status %d, want %d", got, c.status)
				}
				route := s.Attr(semconv.HTTPRouteKey).AsString()
				if want := strings.TrimSpace("GET " + c.route); route != c.route || s.Name != want {
					t.Errorf("the span is %q with the route %q, want %q and %q", s.Name, route, want, c.route)
				}
				var made []string
				for _, e := range s.Events {
					made = append(made, e.Name)
				}
				if !slices.Equal(made, c.marks) {
					t.Errorf("the span has the marks %q, want %q", made, c.marks)
				}
			})
		}
	}
}

func get(t *testing.T, srv *httptest.Server, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, srv.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp
}
