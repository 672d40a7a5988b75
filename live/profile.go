package live

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
)

// A profiled is what a profile is made of: the samples of a request, a route, a timeline, a session
// or the last minute.
type profiled struct {
	trace    *profile.Trace
	samples  iter.Seq[profile.Sample]
	title    string
	requests int    // that the samples are of; 0 if that is unknown
	session  uint32 // that has the samples; 0 of the last minute
}

// A profileHead describes a profile.
type profileHead struct {
	Title string `json:"title"` // what the samples are of
	// the recording that has them; none of the last minute
	Session  uint32  `json:"session,omitempty"`
	Engine   string  `json:"engine"`
	Interval float64 `json:"interval"` // between two samples of a goroutine or a thread
	Start    float64 `json:"start"`    // of the time in which samples were taken
	Length   float64 `json:"length"`   // of that time
	Samples  int     `json:"samples"`
	Total    float64 `json:"total"`              // the time that they stand for
	Requests int     `json:"requests,omitempty"` // that the samples are of; none if that is unknown
	NoStack  float64 `json:"noStack,omitempty"`  // the part of Total that has no stack
	Hidden   string  `json:"hidden,omitempty"`   // a note about functions that are hidden
}

// head reads the samples once.
func (p *profiled) head() profileHead {
	head := profileHead{
		Title: p.title, Session: p.session, Engine: shown(string(p.trace.Engine)),
		Interval: observer.Milliseconds(p.trace.Interval), Requests: p.requests,
		Length: observer.Milliseconds(p.trace.Stopped - p.trace.Started),
		Hidden: block(profiles.HiddenNote(p.trace)),
	}
	if !p.trace.Origin.IsZero() {
		head.Start = sinceEpoch(p.trace.Origin.Add(p.trace.Started))
	}
	for s := range p.samples {
		head.Samples++
		head.Total += observer.Milliseconds(s.Weight)
		if s.StackID == profile.None {
			head.NoStack += observer.Milliseconds(s.Weight)
		}
	}
	return head
}

// A profileView makes a view of a profile, with the parameters of the client.
type profileView func(ctx context.Context, h *handler, p *profiled, query url.Values) (any, error)

// profile answers with a view of the profile that the parameters name, see [handler.profileOf].
// With running, it leaves out waiting goroutines.
func (h *handler) profile(view profileView) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		load, err := h.profileOf(query)
		if err != nil {
			refuseProfile(w, err)
			return
		}
		w.Header().Set("Content-Type", jsonType)
		if headOnly(w, r) {
			return
		}
		done, ok := h.working(w, r)
		if !ok {
			return
		}
		data, err := view(r.Context(), h, load(r.Context()), query)
		done()
		switch {
		case r.Context().Err() != nil: // the client waits no more
		case err != nil:
			refuseProfile(w, err)
		default:
			answer(w, data)
		}
	}
}

// refuseProfile answers that there is no such profile, or that the client may see none.
func refuseProfile(w http.ResponseWriter, err error) {
	status := http.StatusNotFound
	if _, ok := errors.AsType[*refusal](err); ok {
		status = http.StatusForbidden
	}
	refuse(w, status, err.Error())
}

// A refusal is the reason why remote clients may not see sessions.
type refusal struct{ error }

// lookEvery is the number of samples after which the making of a profile checks that its client
// still waits.
const lookEvery = 4096

// until ends the samples when ctx does.
func until(ctx context.Context, samples iter.Seq[profile.Sample]) iter.Seq[profile.Sample] {
	return func(yield func(profile.Sample) bool) {
		n := 0
		for s := range samples {
			if n++; n%lookEvery == 1 && ctx.Err() != nil || !yield(s) {
				return
			}
		}
	}
}

// withoutWaits leaves out the samples of waiting goroutines.
func withoutWaits(samples iter.Seq[profile.Sample]) iter.Seq[profile.Sample] {
	return func(yield func(profile.Sample) bool) {
		for s := range samples {
			if s.Marker != profile.Idle && !yield(s) {
				return
			}
		}
	}
}
