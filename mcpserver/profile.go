package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/profiling/sessions"
)

// profileArguments are the arguments of profile_route.
type profileArguments struct {
	Route   string  `json:"route,omitempty" jsonschema:"id of a route from list_routes, or its exact name; the whole program without it"`
	Seconds float64 `json:"seconds,omitempty" jsonschema:"length of the session, from 1 to 30; 5 without it"`
	Waiting bool    `json:"waiting,omitempty" jsonschema:"samples of all goroutines by the clock, waiting ones too; without it only code that uses the CPU"`
	Limit   int     `json:"limit,omitempty" jsonschema:"functions in the answer, from 1 to 100; 20 without it"`
}

const (
	usualFunctions, mostFunctions = 20, 100
	usualLength, longestLength    = 5, 30 // seconds
	stopTime                      = 10 * time.Second
)

// A toolSession refers to the last session that a tool recorded. The recorder keeps the session, so
// that the page and other tools can use the samples. The next session of a tool replaces the last
// session: an agent must not fill the recorder.
type toolSession struct {
	recording sync.Mutex // locked for seconds, while a tool records: use only TryLock

	mu   sync.Mutex // guards last
	last sessions.SessionID
}

// replace sets the last session, 0 for none, and returns the session before.
func (p *toolSession) replace(last sessions.SessionID) (before sessions.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.last = p.last, last
	return before
}

// id returns the last session, or 0 for none.
func (p *toolSession) id() sessions.SessionID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (s *server) profileRoute(ctx context.Context, r *mcp.CallToolRequest,
	in profileArguments) (*answer, error) {
	limit, err := pageOf(0, in.Limit, usualFunctions, mostFunctions)
	if err != nil {
		return nil, err
	}
	if in.Seconds == 0 {
		in.Seconds = usualLength
	}
	if in.Seconds < 1 || in.Seconds > longestLength {
		return nil, refuse("seconds %g: must be from 1 to %d", in.Seconds, longestLength)
	}
	if !s.profile.recording.TryLock() {
		return nil, refuse("another call records a profile: try again in some seconds")
	}
	defer s.profile.recording.Unlock()
	if err := s.begin(); err != nil {
		return nil, err
	}
	length := time.Duration(in.Seconds * float64(time.Second))
	recorded, err := s.record(ctx, r, length, in.Waiting)
	if err != nil {
		return nil, err
	}
	name := ""
	if in.Route != "" {
		name = s.route(in.Route)
	}
	return s.profileAnswer(recorded, name, in, limit), nil
}

// record records a session. s.profile.recording must be locked.
func (s *server) record(
	ctx context.Context, r *mcp.CallToolRequest, length time.Duration, waiting bool,
) (*sessions.Session, error) {
	recorder := s.source.Sessions()
	if before := s.profile.replace(0); before != 0 {
		_ = recorder.Release(before) // fails if the session has expired
	}
	id, err := recorder.Start(ctx, sessions.StartOptions{Wall: waiting, Remote: true})
	switch {
	case errors.Is(err, sessions.ErrInProgress):
		return nil, refuse("another session is in progress: try again when it has ended")
	case errors.Is(err, sessions.ErrFull):
		return nil, refuse("there is no room for another session: ask the user to release one on perfline's page")
	case err != nil:
		return nil, refuse("starting a session: %s", err)
	}
	s.profile.replace(id)
	s.logger.Info("perfline: an agent records a profile", "for", length)
	waited := wait(ctx, r, length)
	// The session must end even if the client has left.
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	recorded, err := recorder.Stop(stopping, id)
	if errors.Is(err, sessions.ErrState) { // a user of the page has stopped the session
		recorded, err = recorder.RemoteSession(id)
	}
	if waited != nil {
		_ = recorder.Release(id) // the caller asked for a whole session
		s.profile.replace(0)
		return nil, refuse("the session was cut short: %s", waited)
	}
	if err != nil {
		return nil, refuse("stopping the session: %s: call %s again", err, toolProfile)
	}
	return recorded, nil
}

// wait waits for the length of a session. It reports the progress each second if the client asked
// for progress.
func wait(ctx context.Context, r *mcp.CallToolRequest, length time.Duration) error {
	end := time.NewTimer(length)
	defer end.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-end.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if token := r.Params.GetProgressToken(); token != nil {
				// If the client has left, the context ends.
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: token, Message: "recording",
					Progress: time.Since(began).Seconds(), Total: length.Seconds(),
				})
			}
		}
	}
}

// profileAnswer answers with the functions of a session, for the route with a name or for the whole
// program.
func (s *server) profileAnswer(
	recorded *sessions.Session, name string, in profileArguments, limit int,
) *answer {
	a := new(answer)
	t := recorded.Trace()
	ofRoute := func(t sessions.Timeline) bool { return t.Name == name }
	count, of := 0, word("the whole program")
	if name != "" {
		count = lookup.CountRequests(recorded, ofRoute)
		of = word(quotef("%s of %s", number(count, "request"), name))
	}
	a.line("session of %.1f s, %s", recorded.Length().Seconds(), of)
	if t == nil {
		a.line("It has no samples: the sampler did not run.")
		return a
	}
	samples := slices.Values(t.Samples)
	if name != "" {
		samples = lookup.Samples(recorded, ofRoute)
	}
	n, total := 0, time.Duration(0)
	for sample := range samples {
		n++
		total += sample.Weight
	}
	if in.Waiting {
		a.line("%d samples by the clock, for %s of all goroutines together", n, took(total))
	} else {
		a.line("%d samples of the CPU, for %s", n, took(total))
	}
	unknown := writeGaps(a, t)
	route := s.safeRoute(in.Route)
	again := profileArguments{Route: route, Seconds: in.Seconds, Waiting: true}
	switch {
	case n > 0:
		writeFunctions(a, profiles.Functions(t, samples), total, limit)
		if !in.Waiting {
			a.suggest(toolProfile, again, "with the time that goroutines wait")
		}
	case name != "" && count == 0:
		a.line("No request of the route ended in this time.")
	case !in.Waiting:
		if !unknown {
			a.line("Nothing of it used the CPU for long.")
		}
		a.suggest(toolProfile, again, "what its goroutines wait for")
	}
	a.suggest(toolListRequests, listArguments{Route: route, Sort: slowest},
		"the slowest requests in memory")
	return a
}

func writeFunctions(a *answer, all []profiles.Function, total time.Duration, limit int) {
	a.line("functions by the time in themselves: ms, share, ms with what they call, samples, name, file and line, line that ran longest")
	for i, f := range all {
		at := place(f.File, f.Line)
		if f.HotLine > 0 {
			at += word(fmt.Sprintf(", most in line %d", f.HotLine))
		}
		share := 100 * float64(f.Self) / float64(max(1, total))
		if i == limit || !a.row(quotef("%s %.0f%% %s %d %s %s", ms(f.Self), share, ms(f.Total),
			f.Samples, f.Name, at)) {
			a.line("%d more functions", len(all)-i)
			return
		}
	}
}

// place returns the last folder and the name of a file, and a line. The other folders belong to the
// machine that built the program.
func place(name string, line int) word {
	if name == "" {
		return "no file"
	}
	dir, file := path.Split(name)
	return word(quotef("%s line %d", path.Join(path.Base(dir), file), line))
}
