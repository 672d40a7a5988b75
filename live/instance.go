package live

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live/internal/view"
)

// dataNames are the values of PageState.Data.
var dataNames = map[guard.Data]string{guard.Everything: "everything", guard.Summary: "summary"}

func newPageState(source perfline.Source, data guard.Data) view.PageState {
	recent := (*requests.Recent)(source.Recent())
	process := lookup.InstanceOf(recent)
	return view.PageState{
		Instance: rand.Text(), Started: view.SinceEpoch(time.Now()), Data: dataNames[data],
		ID: view.Shown(process.ID), Host: view.Shown(process.Host),
		ProcessStarted: view.SinceEpoch(process.Started), SampledOnly: recent.SampledOnly(),
	}
}

// instanceHeader is the header that names the process in each answer to an allowed client. The
// value is a query with fields of PageState.
const instanceHeader = "Perfline-Instance"

// named sets instanceHeader in all answers of next.
func (h *handler) named(next http.Handler) http.Handler {
	value := url.Values{
		"instance": {h.page.Instance}, "id": {h.page.ID}, "host": {h.page.Host},
		"processStarted": {strconv.FormatFloat(h.page.ProcessStarted, 'f', -1, 64)},
	}.Encode()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(instanceHeader, value)
		next.ServeHTTP(w, r)
	})
}
