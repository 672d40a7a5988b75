package live

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/perfline/perfline/live/internal/view"
)

const jsonType = "application/json; charset=utf-8"

// A source answers the requests of an endpoint.
type source struct {
	data  reflect.Type // type of the JSON; nil for an answer in another format
	other string       // describes an answer in another format, in Markdown
	serve func(*handler, http.ResponseWriter, *http.Request)
}

// A builder builds an answer. When ctx ends, the client has left.
type builder[T any] func(ctx context.Context) (T, error)

// data is a source of JSON. check checks a request and returns the builder of the answer. A HEAD is
// checked, and nothing is built.
func data[T any](check func(*handler, *http.Request) (builder[T], error)) source {
	return jsonSource(check, false)
}

// slowData is data that takes long to build. At most maxWork answers are built at a time.
func slowData[T any](check func(*handler, *http.Request) (builder[T], error)) source {
	return jsonSource(check, true)
}

func jsonSource[T any](check func(*handler, *http.Request) (builder[T], error), slow bool) source {
	serve := func(h *handler, w http.ResponseWriter, r *http.Request) {
		build, err := check(h, r)
		if err != nil {
			refuseFor(w, err)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		if headOnly(w, r) {
			return
		}
		done := func() {}
		if slow {
			var ok bool
			if done, ok = h.startWork(w, r); !ok {
				return
			}
			defer done()
		}
		data, err := build(r.Context())
		done() // before a slow client reads the answer
		switch {
		case r.Context().Err() != nil: // the client has left
		case err != nil:
			refuseFor(w, err)
		default:
			answer(w, data)
		}
	}
	return source{data: reflect.TypeFor[T](), serve: serve}
}

// other is a source of answers in another format than JSON, which description names in Markdown.
func other(description string, serve func(*handler, http.ResponseWriter, *http.Request)) source {
	return source{other: description, serve: serve}
}

// A refusal is an error with another status than 404.
type refusal struct {
	error
	status int
	field  string // name of the wrong parameter, where the page has a form
}

func badRequest(err error) error { return &refusal{error: err, status: http.StatusBadRequest} }

// refuseFor answers with an error: with the status of a refusal, or else with 404.
func refuseFor(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		fail(w, r.status, view.Failure{Field: r.field, Error: err.Error()})
		return
	}
	refuse(w, http.StatusNotFound, err.Error())
}

func refuse(w http.ResponseWriter, status int, text string) {
	fail(w, status, view.Failure{Error: text})
}

func fail(w http.ResponseWriter, status int, f view.Failure) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	answer(w, f)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

const (
	// maxWork bounds concurrent flame graphs, files and searches: each reads a whole session or all
	// requests in memory.
	maxWork  = 2
	workTime = 3 * time.Second // limit of the wait for one of the maxWork places
)

// startWork takes one of maxWork places, until the first call of done. If no place is free in time,
// startWork answers with status 503 and returns false.
func (h *handler) startWork(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	late := time.NewTimer(workTime)
	defer late.Stop()
	select {
	case h.work <- struct{}{}:
		return sync.OnceFunc(func() { <-h.work }), true
	case <-r.Context().Done():
	case <-late.C:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable,
			"other pages wait for flame graphs, files or searches: try again in some seconds")
	}
	return nil, false
}

// headOnly answers a HEAD with the present headers. It returns false for other methods.
func headOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodHead {
		return false
	}
	w.WriteHeader(http.StatusOK)
	return true
}
