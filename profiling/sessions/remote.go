package sessions

import (
	"slices"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
)

// RemoteSession is [Recorder.Session] for clients outside the program. They see no functions that
// Config.Policy hides, also if the program has started the session: frames of such functions are
// left out of its samples and profiles, and groups of samples of such functions have no name.
func (r *Recorder) RemoteSession(id SessionID) (*Session, error) {
	if _, err := r.Session(id); err != nil {
		return nil, err
	}
	s, err := r.recording(id)
	if err != nil {
		return nil, err
	}
	return s.remote(), nil
}

// remoteSession returns what [recording.remote] returns: the session as remote clients may see it.
// The session is ready.
func (s *recording) remoteSession() *Session {
	// its sampler has applied the policy
	if s.o.Remote || slices.Contains(s.r.c.Policy.Visible(), profiling.ModuleAny) {
		return s.session
	}
	shown := *s.session
	shows := remembering(s.r.c.Policy.Shows)
	if shown.trace != nil {
		shown.trace = s.r.c.Policy.Shown(shown.trace)
	}
	shown.processProfiles = nil
	for _, p := range s.session.processProfiles {
		if data, err := hidden(p.data, shows); err == nil { // it has parsed before
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

// hidden returns a profile of the process without the functions that shows rejects.
func hidden(data []byte, shows func(string) bool) ([]byte, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, err
	}
	hide(p, shows)
	out := bounded{max: len(data)}
	err = p.Write(&out)
	return out.Bytes(), err
}

// remembering returns a function that asks f once about each name.
func remembering(f func(string) bool) func(string) bool {
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
