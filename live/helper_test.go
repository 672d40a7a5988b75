package live_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

var _ perfline.Source = (*perfline.Pipeline)(nil)

func TestMain(m *testing.M) {
	if hasLeakProfile() { // TestLeaks leaks goroutines with more than 100 frames: goleak cannot read such stacks
		os.Exit(m.Run())
	}
	leaktest.Main(m)
}

// A program serves requests, and the page about them.
type program struct {
	t    *testing.T
	pl   *perfline.Pipeline
	tl   *observer.Timeline
	page http.Handler
}

// allowed lets sessions be started from outside.
var allowed = perfline.Config{Service: "shop", Sessions: sessions.Config{Policy: profiling.Policy{Remote: true}}}

func start(t *testing.T, pc perfline.Config, c live.Config) *program {
	t.Helper()
	p := &program{t: t, tl: observer.NewTimeline(observer.TimelineOptions{})}
	pc.Timeline, pc.Logger = p.tl, slog.New(slog.DiscardHandler)
	var err error
	if p.pl, err = perfline.Start(t.Context(), pc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.pl.Shutdown(context.Background()) // what is lost at the end is not what is tested
		p.tl.Close()
	})
	if c.Logger == nil {
		c.Logger = pc.Logger
	}
	p.page = live.Handler(p.pl, c)
	return p
}

// serve has the program serve a request by the route with a handler, and waits until the request is kept.
func (p *program) serve(route, path string, h http.HandlerFunc) {
	p.t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(route, h)
	method, _, _ := strings.Cut(route, " ")
	r := httptest.NewRequest(method, path, http.NoBody)
	bridgehttp.Server{Timeline: p.tl, TracerProvider: p.pl.TracerProvider()}.Middleware(mux).ServeHTTP(httptest.NewRecorder(), r)
	if err := p.pl.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// ask makes a request of a client on the same machine.
func ask(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, live.Prefix+path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (p *program) do(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	p.page.ServeHTTP(rec, r)
	return rec
}

// get decodes the answer to a GET into v, if that is not nil.
func (p *program) get(path string, status int, v any) {
	p.t.Helper()
	p.decode(p.do(ask(http.MethodGet, path, "")), path, status, v)
}

// call is a procedure of the service, as the page calls it.
func (p *program) call(procedure, argument string, v any) {
	p.t.Helper()
	path := "rpc/perfline.profiler.v1.ProfilerService/" + procedure
	p.decode(p.do(ask(http.MethodPost, path, argument)), path, http.StatusOK, v)
}

func (p *program) decode(rec *httptest.ResponseRecorder, path string, status int, v any) {
	p.t.Helper()
	if rec.Code != status {
		p.t.Fatalf("%s: status %d, want %d: %s", path, rec.Code, status, rec.Body)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(rec.Body.Bytes(), v); err != nil {
		p.t.Fatalf("%s: %v: %s", path, err, rec.Body)
	}
}

// The parts of the page's data that tests look at.
type (
	row struct {
		Trace, Span, Name, Status string
		Failed                    bool
		Took                      float64
	}
	overview struct {
		Requests struct {
			Service           string
			Requests, Slowest []row

			Streams, Background, Housekeeping []row
		}
		Routes   routesData
		Sessions struct {
			Refused  string
			Sessions []struct {
				ID    uint32
				State string
			}
		}
		Waits  waitsState
		Counts []struct {
			Group, Kind, Name, What string
			N                       uint64
			Lost                    bool
		}
	}
	routesData struct {
		Window string
		All    *routeRow
		Routes []routeRow
		Health struct {
			Sentence string
			Concerns []struct{ Title, Text, Href string }
		}
		Strays *struct {
			Sentence string
			Places   []struct {
				What, Function string
				Count          int
			}
		}
	}
	routeRow struct {
		Route, Class                  string
		Others                        bool
		Count, Failed                 int
		PerSecond, P50, P95, P99, Max float64
		Strip, FailedIn               []int
		SlowFrom                      *float64
		Slow                          string
	}
	attribute struct{ Key, Value string }
	segment   struct {
		Kind, Class       string
		Start, Took, Wait float64
		In, By            *int
	}
	party struct {
		Goroutine                      uint64
		Function, Request, Trace, Span string
		Own                            bool
		Stack                          *int
	}
	waitsState struct {
		Status, Reason, Refused string
		Until, Armed            float64
	}
	detail struct {
		row
		Rows []struct {
			ID, Name, Kind, Error string
			Depth                 int
			Failed                bool
			Start, Took           float64
			Attributes            []attribute
			Marks                 []struct {
				Name       string
				At         float64
				Attributes []attribute
			}
			Hot      []struct{ Name string }
			Segments []segment
			Waits    []struct {
				Kind, In string
				Took     float64
				Count    int
				By       *party
			}
			WaitsCut int `json:"waits_cut"`
		}
		Groups []struct {
			Rows                 []int
			Count, Below, Failed int
			Took, Longest        float64
			Slowest              string
		}
		Path []struct {
			Row         int
			Start, Took float64
		}
		Shares []struct {
			Name, Row string
			Spans     int
			Took      float64
		}
		Waits *struct {
			Functions []string
			Parties   []party
			Sentence  string
			Dropped   string
			Causes    []struct {
				Kind, Function, Via string
				By, Request         *struct{ Request string }
			}
			Goroutines []struct {
				ID        uint64
				Function  string
				Intervals []struct {
					segment
					Span, In string
					Stack    *int
					By       *party
				}
				Cut int
			}
			Frames         []struct{ Function, File string }
			Stacks         [][]int
			Contradictions int
		}
		NoWaits  string `json:"no_waits"`
		Inside   string
		Missing  int
		Cut      struct{ Rows, Marks, Attributes, Waits, Path int }
		Resource []attribute
		Session  uint32
		Files    []struct{ Format, Name, Use string }
	}
	failure struct{ Error string }
)

func (p *program) overview() (o overview) {
	p.t.Helper()
	p.get("data/v1/overview", http.StatusOK, &o)
	return o
}

// detail returns the detail of the last request.
func (p *program) detail() (d detail) {
	p.t.Helper()
	r := p.overview().Requests.Requests[0]
	p.get("data/v1/requests/"+r.Trace+"/"+r.Span, http.StatusOK, &d)
	return d
}
