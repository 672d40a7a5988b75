package view

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A Profile is samples: of a request, a route, a timeline, a session or the last minute.
type Profile struct {
	trace    *profile.Trace
	samples  iter.Seq[profile.Sample]
	title    string
	requests int    // that the samples are of; 0 if that is unknown
	session  uint32 // that has the samples; 0 of the last minute
}

// OfSession returns the profile of all of a session.
func OfSession(s *sessions.Session) *Profile {
	all := func(sessions.Timeline) bool { return true }
	p := ofTimelines(s, fmt.Sprintf("session %d", s.ID()), all)
	p.samples = slices.Values(s.Trace().Samples) // also those of no timeline
	return p
}

// OfRoute returns the profile of all requests in a session that have the name of a timeline.
func OfRoute(s *sessions.Session, of sessions.Timeline) *Profile {
	title := Shown(of.Name)
	if of.FrameID >= lookup.FirstRequest {
		title = "all requests " + title
	}
	return ofTimelines(s, title, func(t sessions.Timeline) bool { return t.Name == of.Name })
}

// OfTimeline returns the profile of the request of a timeline in a session.
func OfTimeline(s *sessions.Session, of sessions.Timeline) *Profile {
	return ofTimelines(s, Shown(of.Name), func(t sessions.Timeline) bool {
		return t.FrameID == of.FrameID
	})
}

func ofTimelines(s *sessions.Session, title string, in func(sessions.Timeline) bool) *Profile {
	return &Profile{s.Trace(), lookup.Samples(s, in), title, lookup.CountRequests(s, in), uint32(s.ID())}
}

// OfRequest returns the profile of a request by the samples of a session.
func OfRequest(q requests.Request, s *sessions.Session) *Profile {
	samples := func(yield func(profile.Sample) bool) {
		for _, sample := range requests.Samples(q, s.Trace()) {
			if !yield(sample) {
				return
			}
		}
	}
	return &Profile{s.Trace(), samples, Shown(q.Root.Name), 1, uint32(s.ID())}
}

// OfLastMinute returns the profile of the last minute, by the profiler that runs all the time.
func OfLastMinute(t *profile.Trace) *Profile {
	return &Profile{trace: t, samples: slices.Values(t.Samples), title: "the last minute"}
}

// Narrow leaves only the requests of the last minute that the page shows by a name.
func (p *Profile) Narrow(name string) {
	p.title = "all requests " + Shown(name) + " of the last minute"
	of := make([]bool, len(p.trace.Contexts))
	for i, c := range p.trace.Contexts {
		of[i] = Shown(c.SpanName) == name
	}
	p.only(func(s *profile.Sample) bool { return s.ContextID != profile.None && of[s.ContextID] })
}

// LeaveOutWaits leaves out the samples of waiting goroutines.
func (p *Profile) LeaveOutWaits() {
	p.only(func(s *profile.Sample) bool { return s.Marker != profile.Idle })
}

func (p *Profile) only(is func(*profile.Sample) bool) {
	samples := p.samples
	p.samples = func(yield func(profile.Sample) bool) {
		for s := range samples {
			if is(&s) && !yield(s) {
				return
			}
		}
	}
}

// lookEvery is the number of samples after which the making of data checks that its client still
// waits.
const lookEvery = 4096

// Until ends the samples when ctx ends: what is made of them then is wrong.
func (p *Profile) Until(ctx context.Context) {
	samples := p.samples
	p.samples = func(yield func(profile.Sample) bool) {
		n := 0
		for s := range samples {
			if n++; n%lookEvery == 1 && ctx.Err() != nil || !yield(s) {
				return
			}
		}
	}
}

// A profileHead describes a profile.
type profileHead struct {
	Title string `json:"title"` // what the samples are of
	// the session that has them; none of the last minute
	Session  uint32  `json:"session,omitempty"`
	Engine   string  `json:"engine"`             // engine of the sampler: cpu, window or wall
	Interval float64 `json:"interval"`           // between two samples of a goroutine or a thread
	Start    float64 `json:"start"`              // of the time in which samples were taken
	Length   float64 `json:"length"`             // of that time
	Samples  int     `json:"samples"`            // samples of the profiler
	Total    float64 `json:"total"`              // the time that they stand for
	Requests int     `json:"requests,omitempty"` // that the samples are of; none if that is unknown
	NoStack  float64 `json:"noStack,omitempty"`  // the part of Total that has no stack
	Hidden   string  `json:"hidden,omitempty"`   // a note about functions that are hidden
}

// head reads the samples once.
func (p *Profile) head() profileHead {
	head := profileHead{
		Title: p.title, Session: p.session, Engine: Shown(string(p.trace.Engine)),
		Interval: observer.Milliseconds(p.trace.Interval), Requests: p.requests,
		Length: observer.Milliseconds(p.trace.Stopped - p.trace.Started),
		Hidden: block(profiles.HiddenNote(p.trace)),
	}
	if !p.trace.Origin.IsZero() {
		head.Start = SinceEpoch(p.trace.Origin.Add(p.trace.Started))
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
