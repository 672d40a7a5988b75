package live

import (
	"cmp"
	"crypto/rand"
	"embed"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/internal/serve"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/service"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// Prefix is where the page is at home.
const Prefix = "/debug/perfline/"

// Config configures [Handler]. The zero value is for a page at [Prefix] for those on the
// same machine.
type Config struct {
	// Prefix is the beginning of the handler's paths, with a slash at its end. Empty means the
	// constant Prefix. "/" is for use with http.StripPrefix.
	Prefix string

	// Next, when set, serves the requests for all other paths. The page's guard does not apply to
	// Next. Without Next, other paths answer 404. Handler panics if Prefix is "/" and leaves no
	// path to Next.
	Next http.Handler

	// Authorize allows a request, or returns an error. The error is logged, and the client does not
	// see it. Without Authorize, [guard.Local] allows clients on the same machine.
	//
	// AUTHORIZE REPLACES THE CHECK OF THE HOST HEADER, TOO. It need not check the header if it
	// checks a token or a cookie of yours. If it checks the address of the client, it must check
	// the header. Otherwise any page in the browser of an allowed user can read the page, once its
	// name resolves to this server (DNS rebinding):
	//
	//	if r.Host != "shop.internal:8080" {
	//		return fmt.Errorf("host %q: must be shop.internal:8080", r.Host)
	//	}
	Authorize func(*http.Request) error

	// Data selects the data that the page serves. 0 means [guard.Everything] without Authorize, and
	// [guard.Summary] with it: a client of another machine sees single requests only if the program
	// asks for that. Handler panics if it is another value.
	Data guard.Data

	// TrustedOrigins are origins, such as "https://tools.example", whose pages may use the
	// handler like the page itself. Set the page's own origin when a proxy changes the Host
	// header. Pages of other origins may only link here. Handler panics if one is no origin.
	TrustedOrigins []string

	Refresh time.Duration // how often open pages learn of changes; 0 means 500 ms
	Logger  *slog.Logger  // nil means slog.Default()
}

//go:embed page
var files embed.FS

type handler struct {
	source        perfline.Source
	data          guard.Data
	page          pageState
	history       *runtimestats.History // of the runtime; nil without one
	recorder      *sessions.Recorder
	policy        profiling.Policy // the recorder's
	waitsRecorder waits.Recorder   // nil without one
	waits         *lookup.Waits
	arms          *serve.Rate
	logger        *slog.Logger
	refresh       time.Duration
	streams       chan struct{} // has an element for each open stream
	work          chan struct{} // has an element for each flame graph or file in the making
	listed        *lookup.Cache
	opened        *lookup.Cache
	rows          rowCache

	routesCache routesCache

	leakLooker leakLooker
	servers    serve.Servers
}

// Handler serves the page. It panics if c.Prefix does not begin and end with a slash. It begins the
// history of the runtime's figures.
func Handler(source perfline.Source, c Config) http.Handler {
	c.Prefix = cmp.Or(c.Prefix, Prefix)
	if !strings.HasPrefix(c.Prefix, "/") || !strings.HasSuffix(c.Prefix, "/") {
		panic("live: Config.Prefix " + c.Prefix + ": must begin and end with a slash")
	}
	if c.Next != nil && c.Prefix == "/" {
		panic("live: Config.Next: Prefix must not be /, which leaves no path to Next")
	}
	c.Data = serve.Data("live", c.Data, c.Authorize)
	h := &handler{
		source: source,
		data:   c.Data,
		page: pageState{Instance: rand.Text(), Started: sinceEpoch(time.Now()),
			Data: dataNames[c.Data]},
		// from now on, so that the page has the last minutes when it is opened
		history:       (*runtimestats.History)(source.Runtime()),
		recorder:      source.Sessions(),
		waitsRecorder: source.Waits(),
		arms:          serve.NewRate(maxArms),
		logger:        record.SafeLogger(c.Logger),
		refresh:       cmp.Or(max(0, c.Refresh), 500*time.Millisecond),
		streams:       make(chan struct{}, maxStreams),
		work:          make(chan struct{}, maxWork),
		listed:        lookup.NewCache(maxListed, maxHeld),
		opened:        lookup.NewCache(maxOpened, maxHeld),
	}
	if h.recorder != nil {
		h.policy = h.recorder.Config().Policy
	}
	h.waits = lookup.NewWaits(h.waitsRecorder, h.policy.Shows)
	get := http.NewServeMux()
	get.Handle("GET /{$}", asset("index.html"))
	get.HandleFunc("GET /page/{file}",
		func(w http.ResponseWriter, r *http.Request) { asset(r.PathValue("file")).ServeHTTP(w, r) })
	get.HandleFunc("GET /data/v1/overview", h.all)
	get.HandleFunc("GET /data/v1/stream", h.stream)
	get.HandleFunc("GET /data/v1/routes", h.routes)
	get.HandleFunc("GET /data/v1/routes/heat", h.heat)
	get.HandleFunc("GET /data/v1/requests", h.search)
	get.HandleFunc("GET /data/v1/runtime", h.runtime)
	get.HandleFunc("GET /data/v1/requests/{trace}/{span}", h.request)
	get.HandleFunc("GET /data/v1/requests/{trace}/{span}/samples", h.requestSamples)
	get.HandleFunc("GET /data/v1/requests/{trace}/{span}/states", h.requestWaits)
	get.HandleFunc("GET /data/v1/requests/{trace}/{span}/{format}", h.requestFile)
	get.HandleFunc("GET /data/v1/compare", h.compare)
	get.Handle("GET /data/v1/profile/flame", h.profile(flame))
	get.Handle("GET /data/v1/profile/functions", h.profile(top))
	get.Handle("GET /data/v1/profile/sandwich", h.profile(newSandwich))
	get.Handle("GET /data/v1/profile/difference", h.profile(newDifference))
	get.HandleFunc("GET /data/v1/sessions/{id}", h.contents)
	get.HandleFunc("GET /data/v1/sessions/{id}/{format}", h.sessionFile)
	get.HandleFunc("POST /data/v1/leaks", h.leaks)
	get.HandleFunc("/", nothing)
	mux := http.NewServeMux()
	mux.Handle("/", paced(get))
	mux.Handle("POST /flight/arm", paced(http.HandlerFunc(h.arm)))
	mux.Handle("POST /flight/disarm", paced(http.HandlerFunc(h.disarm)))
	if h.recorder != nil {
		// The page's guard below has asked c.Authorize.
		path, service := service.NewHandler(h.recorder, service.Config{
			Authorize: func(*http.Request) error { return nil }, TrustedOrigins: c.TrustedOrigins,
			Logger: c.Logger,
		})
		mux.Handle("POST /rpc"+path+"{procedure}", http.StripPrefix("/rpc", service))
	}
	var served http.Handler = mux
	if c.Data == guard.Summary {
		served = summarized(mux)
	}
	inside := beneath(c.Prefix, served)
	page := secure(guard.Guard{Authorize: c.Authorize, TrustedOrigins: c.TrustedOrigins,
		Logger: c.Logger}.Handler(inside))
	if c.Next != nil {
		return beside{page, c.Prefix, c.Next}
	}
	return page
}

// policy lets the browser run and load what comes from here, and nothing else. Nothing is
// ever parsed as markup (Trusted Types).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// secure sets what every answer has, a refusal too.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

const jsonType = "application/json; charset=utf-8"

// answer writes data.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// refuse answers with an error, as data.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	answer(w, map[string]string{"error": text})
}
