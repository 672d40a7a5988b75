package live

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/perfline/perfline/live/internal/view"
)

const jsonType = "application/json; charset=utf-8"

// A source serves what an endpoint answers.
type source struct {
	data  reflect.Type // of the answer in JSON; nil of another answer
	other string       // says in Markdown what that is
	serve func(*handler, http.ResponseWriter, *http.Request)
}

// A maker makes an answer. When ctx ends, nobody gets the answer.
type maker[T any] func(ctx context.Context) (T, error)

// data is a source of JSON. The function ask checks a request, and returns the maker of the answer.
// A HEAD is checked, and nothing is made.
func data[T any](ask func(*handler, *http.Request) (maker[T], error)) source {
	return jsonSource(ask, func(*handler, http.ResponseWriter, *http.Request) (func(), bool) {
		return func() {}, true
	})
}

// work is data that takes long to make: maxWork of them are made at a time.
func work[T any](ask func(*handler, *http.Request) (maker[T], error)) source {
	return jsonSource(ask, (*handler).working)
}

func jsonSource[T any](
	ask func(*handler, *http.Request) (maker[T], error),
	take func(*handler, http.ResponseWriter, *http.Request) (done func(), ok bool),
) source {
	serve := func(h *handler, w http.ResponseWriter, r *http.Request) {
		build, err := ask(h, r)
		if err != nil {
			refuseFor(w, err)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		if headOnly(w, r) {
			return
		}
		done, ok := take(h, w, r)
		if !ok {
			return
		}
		made, err := func() (T, error) {
			defer done()
			return build(r.Context())
		}()
		switch {
		case r.Context().Err() != nil: // the client waits no more
		case err != nil:
			refuseFor(w, err)
		default:
			answer(w, made)
		}
	}
	return source{data: reflect.TypeFor[T](), serve: serve}
}

// other is a source of another answer than JSON.
func other(what string, serve func(*handler, http.ResponseWriter, *http.Request)) source {
	return source{other: what, serve: serve}
}

// A refusal is an error that is not status 404.
type refusal struct {
	error
	status int
	field  string // the parameter that is wrong, where the page has a form
}

func badRequest(err error) error { return &refusal{error: err, status: http.StatusBadRequest} }

// refuseFor answers with an error. Without a refusal, what the client asks for is not there.
func refuseFor(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		fail(w, r.status, view.Failure{Field: r.field, Error: err.Error()})
		return
	}
	refuse(w, http.StatusNotFound, err.Error())
}

// refuse answers with an error, as data.
func refuse(w http.ResponseWriter, status int, text string) {
	fail(w, status, view.Failure{Error: text})
}

func fail(w http.ResponseWriter, status int, f view.Failure) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	answer(w, f)
}

// answer writes data.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

const (
	// flame graphs, files and searches at a time: each goes through all of a session or of the requests in memory
	maxWork  = 2
	workTime = 3 * time.Second // to wait for one's turn
)

// working takes a place among those that work until done is called. It answers if there
// is none in time; then ok is false.
func (h *handler) working(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	late := time.NewTimer(workTime)
	defer late.Stop()
	select {
	case h.work <- struct{}{}:
		return func() { <-h.work }, true
	case <-r.Context().Done():
	case <-late.C:
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable,
			"other pages wait for flame graphs, files or searches: try again in some seconds")
	}
	return nil, false
}

// headOnly answers HEAD, for which no work is done, with the headers that are set.
func headOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodHead {
		return false
	}
	w.WriteHeader(http.StatusOK)
	return true
}
