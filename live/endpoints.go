package live

import (
	"reflect"
	"time"

	"github.com/perfline/perfline/live/internal/view"
)

// An endpoint is a path of the page's data. The tests of this package generate docs/page-json.md,
// the schema and the types of the page's scripts from the endpoints and from package view.
type endpoint struct {
	pattern string // for http.ServeMux
	source
	summary    bool   // is part of a summary
	parameters string // in Markdown
	content    string // content of the answer, in Markdown
}

// endpoints lists the endpoints in the order of docs/page-json.md.
var endpoints = []endpoint{
	{"GET /data/v1/overview", data((*handler).latest), true,
		"`after`: see `runtime`", "all that the stream sends, at once"},
	{"GET /data/v1/stream", other("[server-sent events](#events)", (*handler).stream), true,
		"", "each kind of data at once, and again after each change, at most twice a second"},
	{"GET /data/v1/runtime", data((*handler).runtime), true,
		"`after`: only samples after this time, the `at` of a sample",
		"figures of the Go runtime, one sample every 5 s, and one a minute while the program " +
			"sleeps"},
	{"GET /data/v1/routes", data((*handler).routes), true,
		"`window`: `minutes` (the default: the last 5) or `start`",
		"routes with their figures, whether the process is well, and work without a request"},
	{"GET /data/v1/routes/heat", data((*handler).heat), true,
		"`window`: as above. `route`: its name; missing, all routes of the class. " +
			"`class`: `requests` (the default), `streams`, `inner`, `background` or `housekeeping`",
		"requests by time and duration"},
	{"GET /data/v1/requests", slowData((*handler).search), false,
		"`route`, `class`, `status`, `min` and `max` (durations with units; `max` excluded), " +
			"`from` and `to` (of the end, in milliseconds since the epoch of Unix; `to` " +
			"excluded), `attribute` (`key` or `key=value`), `text`: all of them optional. " +
			"Without `class`, the answer has requests, streams and inner requests. " +
			"A value that is wrong is status 400 with `field` and `error`",
		"the requests in memory that meet all parameters, at most 200"},
	{"GET /data/v1/requests/{trace}/{span}", data((*handler).request), false,
		"the ids of a request's trace and root span, in hex",
		"a request with its spans, marks, functions and waits"},
	{"GET /data/v1/requests/{trace}/{span}/samples", slowData((*handler).samples), false,
		"the same", "the samples of a request by time, for its flame chart"},
	{"GET /data/v1/requests/{trace}/{span}/waits", data((*handler).windowWaits), false,
		"the same. `from` and `to`: milliseconds since the request's start. " +
			"`columns`: the most parts of a bar, 1 to 1000",
		"the segments of a part of a request, in finer parts"},
	{"GET /data/v1/requests/{trace}/{span}/{format}",
		other("a file", (*handler).requestFile), false,
		"the same, and a `format` of its `files`", "a request for another tool"},
	{"GET /data/v1/compare", slowData((*handler).compare), false,
		"`a`: the ids of a request's trace and root span, with a slash between them. " +
			"`b`: the same of another request; without it, a usual request of the route",
		"the difference of two requests"},
	{"GET /data/v1/profile/flame", slowData(profileView(flame)), false,
		"`last=minute`: of the last minute, and `name`: only its requests of this name. " +
			"`session`: the id of a session. `route`: all requests of this timeline's route. " +
			"`timeline`: its request. `trace` and `span`: this request. " +
			"`running`: without waiting goroutines",
		"a flame graph of a profile"},
	{"GET /data/v1/profile/functions", slowData(profileView(functions)), false,
		"the same", "the functions of a profile, with file and line"},
	{"GET /data/v1/profile/sandwich", slowData(profileView(sandwich)), false,
		"the same. `function`: the name of a function",
		"the callers and the callees of a function"},
	{"GET /data/v1/profile/difference", slowData((*handler).difference), false,
		"the same, for the side A. `with`: the same for the side B, encoded as a query",
		"the difference of two profiles"},
	{"GET /data/v1/sessions/{id}", data((*handler).contents), false,
		"the id of a session", "the routes and the files of a session"},
	{"GET /data/v1/sessions/{id}/{format}", other("a file", (*handler).sessionFile), false,
		"the id of a session, and a `format` of its `files`", "a session for another tool"},
	{"GET /data/v1/deaths", data((*handler).deathReports), false,
		"", "the reports of the [black box](blackbox.md) about earlier processes; the path of a " +
			"request also finds their requests"},
	{"POST /data/v1/leaks", slowData((*handler).leaks), false,
		"", "the goroutines that leaked; the program makes a garbage collection"},
}

// An eventKind is a kind of event in the stream.
type eventKind struct {
	name                string
	everything, summary eventData // the zero value: no such event
}

// An eventData builds the data of an event, or nil for no event. after is the time of the last
// runtime sample that the client knows.
type eventData struct {
	data  reflect.Type
	build func(h *handler, after time.Time) any
}

// eventKinds lists the kinds in the order of the stream.
var eventKinds = []eventKind{
	anyData("page", newEventData(func(h *handler) view.PageState { return h.page })),
	{"requests", newEventData((*handler).overview), newEventData((*handler).serviceOnly)},
	anyData("routes", eventData{
		reflect.TypeFor[view.RoutesData](),
		func(h *handler, _ time.Time) any { return h.streamedRoutes() },
	}),
	{"sessions", newEventData((*handler).sessions), eventData{}},
	{"waits", newEventData((*handler).waitsState), eventData{}},
	anyData("counts", newEventData(func(h *handler) []view.CountRow {
		return view.NewCountRows(h.source.Counts())
	})),
	anyData("deaths", newEventData((*handler).deathRows)),
	anyData("runtime", eventData{
		reflect.TypeFor[view.RuntimeHistory](),
		func(h *handler, after time.Time) any {
			if history := h.runtimeAfter(after); len(history.Samples) > 0 {
				return history
			}
			return nil
		},
	}),
}

// anyData is a kind of event with the same data in a summary.
func anyData(name string, d eventData) eventKind { return eventKind{name, d, d} }

func newEventData[T any](build func(*handler) T) eventData {
	return eventData{reflect.TypeFor[T](), func(h *handler, _ time.Time) any { return build(h) }}
}
