package view

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A Profile contains the samples of a request, a route, a timeline, a session or the last minute.
type Profile struct {
	trace    *profile.Trace
	samples  iter.Seq[profile.Sample]
	title    string
	requests int    // sampled requests; 0 if unknown
	session  uint32 // id of the session; 0 for the last minute
}

// OfSession returns the profile of a whole session.
func OfSession(s *sessions.Session) *Profile {
	all := func(sessions.Timeline) bool { return true }
	p := ofTimelines(s, fmt.Sprintf("session %d", s.ID()), all)
	p.samples = slices.Values(s.Trace().Samples) // including samples outside all timelines
	return p
}

// OfRoute returns the profile of a route in a session. The profile contains the samples of all
// timelines with the name of.Name.
func OfRoute(s *sessions.Session, of sessions.Timeline) *Profile {
	title := Shown(of.Name)
	if of.FrameID >= lookup.FirstRequest {
		title = "all requests " + title
	}
	return ofTimelines(s, title, func(t sessions.Timeline) bool { return t.Name == of.Name })
}

// OfTimeline returns the profile of one request in a session. The profile contains the samples of
// all timelines with the id of.FrameID.
func OfTimeline(s *sessions.Session, of sessions.Timeline) *Profile {
	return ofTimelines(s, Shown(of.Name),
		func(t sessions.Timeline) bool { return t.FrameID == of.FrameID })
}

func ofTimelines(s *sessions.Session, title string, in func(sessions.Timeline) bool) *Profile {
	count := lookup.CountRequests(s, in)
	return &Profile{s.Trace(), lookup.Samples(s, in), title, count, uint32(s.ID())}
}

// OfRequest returns the profile of the request q. The profile contains the samples that session s
// took.
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

// OfLastMinute returns the profile of the last minute. t is the trace of the continuous profiler.
func OfLastMinute(t *profile.Trace) *Profile {
	return &Profile{trace: t, samples: slices.Values(t.Samples), title: "the last minute"}
}

// Narrow limits a profile of the last minute to the requests with a name. The parameter name is the
// name in the form that [Shown] returns.
func (p *Profile) Narrow(name string) {
	p.title = "all requests " + Shown(name) + " of the last minute"
	named := make([]bool, len(p.trace.Contexts))
	for i, c := range p.trace.Contexts {
		named[i] = Shown(c.SpanName) == name
	}
	p.filter(func(s *profile.Sample) bool {
		return s.ContextID != profile.None && named[s.ContextID]
	})
}

// RemoveWaits removes the samples of waiting goroutines.
func (p *Profile) RemoveWaits() {
	p.filter(func(s *profile.Sample) bool { return s.Marker != profile.Idle })
}

func (p *Profile) filter(wanted func(*profile.Sample) bool) {
	samples := p.samples
	p.samples = func(yield func(profile.Sample) bool) {
		for s := range samples {
			if wanted(&s) && !yield(s) {
				return
			}
		}
	}
}

// checkEvery is the number of samples between two checks that the client still waits.
const checkEvery = 4096

// Until limits p to the life of ctx. After the end of ctx, p omits all further samples, so data
// from p is incomplete.
func (p *Profile) Until(ctx context.Context) {
	samples := p.samples
	p.samples = func(yield func(profile.Sample) bool) {
		n := 0
		for s := range samples {
			if n++; n%checkEvery == 1 && ctx.Err() != nil || !yield(s) {
				return
			}
		}
	}
}

// A profileHead describes a profile.
type profileHead struct {
	Title    string  `json:"title"`              // origin of the samples
	Session  uint32  `json:"session,omitempty"`  // id of the session; missing for the last minute
	Engine   string  `json:"engine"`             // engine of the sampler: cpu, window or wall
	Interval float64 `json:"interval"`           // between samples of a goroutine or thread
	Start    float64 `json:"start"`              // start of the sampling, since the epoch of Unix
	Length   float64 `json:"length"`             // length of the sampling
	Samples  int     `json:"samples"`            // samples of the profiler
	Total    float64 `json:"total"`              // sum of the samples' weights
	Requests int     `json:"requests,omitempty"` // sampled requests; missing if unknown
	NoStack  float64 `json:"noStack,omitempty"`  // part of Total without a stack
	Hidden   string  `json:"hidden,omitempty"`   // note about hidden functions
}

// head describes the profile. Each call reads all samples.
func (p *Profile) head() profileHead {
	head := profileHead{
		Title: p.title, Session: p.session, Engine: Shown(string(p.trace.Engine)),
		Interval: ms(p.trace.Interval), Requests: p.requests,
		Length: ms(p.trace.Stopped - p.trace.Started),
		Hidden: block(profiles.HiddenNote(p.trace)),
	}
	if !p.trace.Origin.IsZero() {
		head.Start = SinceEpoch(p.trace.Origin.Add(p.trace.Started))
	}
	for s := range p.samples {
		head.Samples++
		head.Total += ms(s.Weight)
		if s.StackID == profile.None {
			head.NoStack += ms(s.Weight)
		}
	}
	return head
}
