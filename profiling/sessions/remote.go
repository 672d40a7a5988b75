package sessions

import (
	"slices"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/remote"
)

// RemoteSession returns the stopped session with the given id, for a client outside the program.
// The errors are the same as for [Recorder.Session]. Config.Policy may hide functions from such
// clients. The result contains no hidden functions, even if the program started the session:
//
//   - Samples and profiles of the process contain no frames of hidden functions.
//   - For a group of samples of a hidden function, the name is empty.
func (r *Recorder) RemoteSession(id SessionID) (*Session, error) {
	s, err := r.completed(id)
	if err != nil {
		return nil, err
	}
	return s.remote(), nil
}

func (r *Recorder) policy() remote.Policy { return remote.Policy(r.c.Policy) }

// remoteSession computes the result of [recording.remote]. The session is ready.
func (s *recording) remoteSession() *Session {
	if s.o.Remote || s.r.policy().ShowsAll() { // the sampler has applied the policy
		return s.session
	}
	shown := *s.session
	shows := memoize(s.r.policy().Shows)
	if shown.trace != nil {
		shown.trace = s.r.policy().Shown(shown.trace)
	}
	shown.processProfiles = nil
	for _, p := range s.session.processProfiles {
		if data, err := redact(p.data, shows); err == nil { // growthOf has parsed the profile
			shown.processProfiles = append(shown.processProfiles, processProfile{p.name, data})
		}
	}
	shown.timelines = slices.Clone(shown.timelines)
	for i := range shown.timelines {
		t := &shown.timelines[i]
		isHidden := func(n node) bool { return n.typ == Samples && !shows(n.name) }
		if slices.ContainsFunc(t.nodes, isHidden) {
			t.nodes = slices.Clone(t.nodes)
			for k := range t.nodes {
				if isHidden(t.nodes[k]) {
					t.nodes[k].name = ""
				}
			}
		}
	}
	return &shown
}

// redact returns a profile of the process without the functions that shows rejects.
func redact(data []byte, shows func(string) bool) ([]byte, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, err
	}
	hide(p, shows)
	out := limitedBuffer{max: len(data)}
	err = p.Write(&out)
	return out.Bytes(), err
}

// memoize returns a function that calls f once for each name.
func memoize(f func(string) bool) func(string) bool {
	known := map[string]bool{}
	return func(name string) bool {
		answer, ok := known[name]
		if !ok {
			answer = f(name)
			known[name] = answer
		}
		return answer
	}
}
