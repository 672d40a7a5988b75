package live

import (
	"cmp"
	"embed"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/internal/serve"
	"github.com/perfline/perfline/internal/setup"
	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/service"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// Prefix is the default path of the page.
const Prefix = "/debug/perfline/"

// Config configures [Handler]. With the zero value, Handler serves a page at [Prefix] to clients on
// the same machine.
type Config struct {
	// Prefix is the beginning of the handler's paths. Prefix must begin and end with a slash. Empty
	// means the constant Prefix. Use "/" with http.StripPrefix.
	Prefix string

	// Next serves all other paths. The page's guard does not check these requests. nil means status
	// 404 for other paths. If Prefix is "/", no other path exists, and Handler panics if Next is
	// set.
	Next http.Handler

	// Authorize returns an error to refuse a request. The handler logs the error and does not send
	// the error to the client. nil means [guard.Local], which allows clients on the same machine.
	//
	// AUTHORIZE REPLACES THE CHECK OF THE HOST HEADER, TOO. An Authorize function that checks a
	// token or a cookie need not check the header. An Authorize function that checks the client's
	// address must check the header. Otherwise DNS rebinding is possible. With DNS rebinding, the
	// attacker's host name resolves to this server. The attacker's web page then reads the page in
	// the browser of an allowed user:
	//
	//	if r.Host != "shop.internal:8080" {
	//		return fmt.Errorf("host %q: must be shop.internal:8080", r.Host)
	//	}
	Authorize func(*http.Request) error

	// Data selects the data that the page serves. 0 means [guard.Everything] without Authorize, and
	// [guard.Summary] with Authorize. Set Everything explicitly to show single requests to clients
	// of other machines. Handler panics if Data is invalid.
	Data guard.Data

	// TrustedOrigins lists further origins, such as "https://tools.example". Web pages of these
	// origins may send the same requests as the page. Web pages of other origins may only link to
	// the page. If a proxy changes the Host header, add the page's origin to the list. Handler
	// panics if TrustedOrigins contains an invalid origin.
	TrustedOrigins []string

	Logger *slog.Logger // nil means slog.Default()

	refresh time.Duration // interval of updates to open pages; 0 means 500 ms
}

const onlySummary = "this page serves only a summary, without requests, sessions and profiles: " +
	"the program can serve them with live.Config{Data: guard.Everything}"

//go:embed page
var files embed.FS

type handler struct {
	source        perfline.Source
	data          guard.Data
	page          view.PageState
	history       *runtimestats.History // the runtime's figures; may be nil
	recorder      *sessions.Recorder    // may be nil
	policy        remote.Policy         // policy of recorder
	waitsRecorder waits.Recorder        // may be nil
	waits         *lookup.Waits
	arms          *serve.Rate
	logger        *slog.Logger
	refresh       time.Duration
	streams       chan struct{} // holds an element for each open stream
	work          chan struct{} // holds an element for each call of startWork until done
	listed        *lookup.Cache
	opened        *lookup.Cache
	rows          view.RowCache
	routesCache   routesCache
	faultsCache   faultsCache
	deathsCache   deathsCache
	leakFinder    leakFinder
	servers       serve.Servers
}

// Handler returns the handler of the page and starts to record the history of the runtime's
// figures. Handler panics if c is invalid.
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
		page:   newPageState(source, c.Data),
		// starts now, so that a page shows the last minutes when a user opens the page
		history:       (*runtimestats.History)(source.Runtime()),
		recorder:      source.Sessions(),
		waitsRecorder: source.Waits(),
		arms:          serve.NewRate(maxArms),
		logger:        record.SafeLogger(c.Logger),
		refresh:       cmp.Or(c.refresh, 500*time.Millisecond),
		streams:       make(chan struct{}, maxStreams),
		work:          make(chan struct{}, maxWork),
		listed:        lookup.NewCache(maxListed, maxCacheBytes),
		opened:        lookup.NewCache(maxOpened, maxCacheBytes),
	}
	if h.recorder != nil {
		h.policy = remote.Policy(h.recorder.Config().Policy)
	}
	h.waits = lookup.NewWaits(h.waitsRecorder, h.policy.Shows)
	get := http.NewServeMux()
	get.HandleFunc("GET /{$}", asset)
	get.HandleFunc("GET /page/{file}", asset)
	for _, e := range endpoints {
		if e.summary || c.Data != guard.Summary {
			get.HandleFunc(e.pattern, func(w http.ResponseWriter, r *http.Request) {
				e.serve(h, w, r)
			})
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", limitWrites(get))
	var inside http.Handler = mux
	if c.Data == guard.Summary {
		get.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusNotFound, onlySummary)
		})
	} else {
		get.HandleFunc("/", notFound)
		inside = redirectMoved(mux)
		mux.Handle("POST /waits/arm", limitWrites(http.HandlerFunc(h.arm)))
		mux.Handle("POST /waits/disarm", limitWrites(http.HandlerFunc(h.disarm)))
		if h.recorder != nil {
			// The guard below asks c.Authorize for all paths.
			path, service := service.NewHandler(h.recorder, service.Config{
				Authorize:      func(*http.Request) error { return nil },
				TrustedOrigins: c.TrustedOrigins, Logger: c.Logger,
			})
			mux.Handle("POST /rpc"+path+"{procedure}", http.StripPrefix("/rpc", service))
		}
	}
	g := guard.Guard{Authorize: c.Authorize, TrustedOrigins: c.TrustedOrigins, Logger: c.Logger}
	page := secure(markPage(g.Handler(h.named(stripPrefix(c.Prefix, inside)))))
	if c.Next != nil {
		return prefixHandler{page, c.Prefix, c.Next}
	}
	return page
}

// markPage marks the spans of the page's requests, so that perfline.Check finds a middleware that
// wraps the page.
func markPage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setup.MarkPage(r.Context())
		next.ServeHTTP(w, r)
	})
}

// contentPolicy restricts the browser to the page's own files. Trusted Types forbid to parse any
// text as markup.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// secure sets security headers in all answers, including refusals.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
