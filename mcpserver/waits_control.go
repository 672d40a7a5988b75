package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/remote"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// armArguments are the arguments of arm_waits.
type armArguments struct {
	Seconds float64 `json:"seconds,omitempty" jsonschema:"how long the waits recorder is armed, from 1 to 3600; the default is 60"`
}

const shortestArm, usualArm, longestArm = 1, 60, 3600 // seconds

// check returns an error with the remedy unless clients may record.
func (s *server) check() error {
	recorder := s.source.Sessions()
	if recorder == nil {
		return refuse("the program records no sessions: nothing can be started").or(
			toolListRequests, struct{}{}, "what perfline knows without a session")
	}
	if err := remote.Policy(recorder.Config().Policy).Check(); err != nil {
		way := word("set profiling.Policy{Remote: true} as Sessions.Policy of perfline.Config, or start the program with " + permission.Variable + "=remote")
		if v := os.Getenv(permission.Variable); v != "" {
			way = word("the program was started with "+permission.Variable+
				", which forbids it: start it with ") + permission.Variable + "=remote"
		}
		return refuse("clients outside the program may not record. Ask the user to allow it: %s",
			way).
			or(toolListRequests, struct{}{}, "what perfline knows without a session")
	}
	return nil
}

// begin counts a start. It returns an error if check does, and after maxStarts in a minute.
func (s *server) begin() error {
	if err := s.check(); err != nil {
		return err
	}
	if wait := s.starts.Take(time.Now()); wait > 0 {
		return refuse("sessions and the waits recorder may start %d times in a minute: try again in %d s", maxStarts, int(wait/time.Second)+1)
	}
	return nil
}

func (s *server) getWaitsState(context.Context, *mcp.CallToolRequest, struct{}) (*answer, error) {
	a := new(answer)
	if s.waitsRecorder == nil {
		a.line("The program has no waits recorder. It would tell the causes of slow requests: the program sets Waits of perfline.Config to flight.NewRecorder.")
		a.suggest(toolListRoutes, struct{}{}, "routes and how long their requests take")
		return a, nil
	}
	state, stats := s.waitsRecorder.State(), s.waitsRecorder.Stats()
	status := word("unknown")
	if slices.Contains(waiting.Statuses(), state.Status) {
		status = word(state.Status)
	}
	a.line("waits recorder: %s", status)
	if !state.Until.IsZero() {
		a.line("until: %s", moment(state.Until))
	}
	if state.Reason != "" {
		a.line("reason: %s", value(state.Reason))
	}
	a.line("slow requests: %d; analysed: %d; waiting for their analysis: %d; ended while the recorder was not armed: %d",
		stats.Slow, stats.Analysed, stats.Pending, stats.NotArmed)
	a.line("results in memory: %d; evicted for the results of slower requests: %d", stats.Results,
		stats.Evicted)
	switch {
	case state.Status != waits.Armed && s.check() == nil:
		a.suggest(toolArmWaits, armArguments{Seconds: usualArm},
			"causes of requests that end in the next minute and are slow")
	case state.Status != waits.Armed:
		a.line("Clients may not arm the waits recorder: %s tells how the user can allow it.",
			toolArmWaits)
	}
	a.suggest(toolListRequests, listArguments{Sort: slowest}, "the slowest requests in memory")
	return a, nil
}

func (s *server) armWaits(_ context.Context, _ *mcp.CallToolRequest,
	in armArguments) (*answer, error) {
	if s.waitsRecorder == nil {
		return nil, refuse("the program has no waits recorder").or(toolWaitsState, struct{}{},
			"how the program gets one")
	}
	in.Seconds = cmp.Or(in.Seconds, usualArm)
	if in.Seconds < shortestArm || in.Seconds > longestArm {
		return nil, refuse("seconds %g: must be from %d to %d", in.Seconds, shortestArm, longestArm)
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	length := time.Duration(in.Seconds * float64(time.Second))
	a := new(answer)
	a.suggest(toolListRequests, listArguments{Sort: "newest"}, "after the next slow requests")
	if state := s.waitsRecorder.State(); state.Status == waits.Armed {
		// Arm must not shorten the time that the program or its user has chosen.
		switch {
		case state.Until.IsZero():
			a.line("The waits recorder was armed before, until the program disarms it: nothing has changed.")
			return a, nil
		case state.Until.After(time.Now().Add(length)):
			a.line("The waits recorder was armed before, until %s: nothing has changed.",
				moment(state.Until))
			return a, nil
		}
	}
	switch err := s.waitsRecorder.Arm(length); {
	case errors.Is(err, waits.ErrInUse):
		return nil, refuse("other code of the program uses the runtime's only flight recorder: try again later")
	case err != nil:
		return nil, refuse("arming the waits recorder: %s", err)
	}
	s.logger.Info("perfline: an agent armed the waits recorder", "for", length)
	a.line("The waits recorder is armed for %g s. It explains slow requests that end from now on.",
		in.Seconds)
	return a, nil
}
