package service_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// calls is one of each method, with a session that there is.
func calls(id uint32) []proto.Message {
	return []proto.Message{
		&pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_IMMEDIATE},
		&pb.StopProfilerArg{SessionId: id},
		&pb.GetEventsArg{SessionId: id, TimelineId: 1},
		&pb.GetSessionArg{SessionId: id},
		&pb.ListSessionsArg{},
		&pb.ReleaseSessionArg{SessionId: &id},
	}
}

// everyCall makes each call in each protocol, and says what it came to.
func everyCall(t *testing.T, url string, id uint32, check func(t *testing.T, name string, err error)) {
	t.Helper()
	for _, p := range protocols(t, url) {
		t.Run(p.name, func(t *testing.T) {
			for _, in := range calls(id) {
				method, out := methodOf(in)
				check(t, method, p.call(method, in, out))
			}
			if p.stream == nil {
				return
			}
			_, err := p.stream("StreamEvents", &pb.GetEventsArg{SessionId: id, TimelineId: 1})
			check(t, "StreamEvents", err)
			_, err = p.stream("WatchSession", &pb.WatchSessionArg{SessionId: id})
			check(t, "WatchSession", err)
		})
	}
}

// By default the policy refuses all clients outside the program: they may not start, see or release a session.
func TestPolicyRefusesEverything(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	t.Cleanup(tl.Close)
	r := sessions.NewRecorder(sessions.Config{Timeline: tl})
	t.Cleanup(r.Close)
	p := program{r, observer.NewContext(t.Context(), tl)}
	id := uint32(p.recorded(t, manyMarks(1)))
	url := serve(t, r, service.Config{})

	refusedFor := func(why string) func(*testing.T, string, error) {
		return func(t *testing.T, method string, err error) {
			if got := failure(err); !strings.HasPrefix(got, "permission_denied: ") || !strings.Contains(got, why) {
				t.Errorf("%s: got %q, want permission_denied with %q", method, got, why)
			}
		}
	}
	everyCall(t, url, id, refusedFor("set Policy.Remote, or PERFLINE_PROFILING=remote"))
	t.Run("a setting that does not exist", func(t *testing.T) {
		t.Setenv("PERFLINE_PROFILING", "maybe")
		everyCall(t, url, id, refusedFor(`"maybe"`))
	})
	if l := r.Statuses(); len(l) != 1 || l[0].ID != sessions.SessionID(id) {
		t.Errorf("sessions are %v, want the program's own as it was", l)
	}
	t.Run("who runs the program may allow it", func(t *testing.T) {
		t.Setenv("PERFLINE_PROFILING", "remote")
		if _, err := client(t, url).GetSession(t.Context(), &pb.GetSessionArg{SessionId: id}); err != nil {
			t.Error(err)
		}
	})
}

// Whom the guard does not let in is told so in the terms of its protocol.
func TestAuthorize(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, manyMarks(1)))
	url := serve(t, p.Recorder, service.Config{Authorize: func(*http.Request) error { return errors.New("a secret reason") }})
	everyCall(t, url, id, func(t *testing.T, method string, err error) {
		if got := failure(err); got != "permission_denied: not authorized" {
			t.Errorf("%s: got %q, want permission_denied and not why", method, got)
		}
	})
	if l := p.Statuses(); len(l) != 1 {
		t.Errorf("sessions are %v, want one", l)
	}
}

// A page from elsewhere can neither start a session nor come by a name that was made to point here.
func TestPagesOfOthersAreKeptOut(t *testing.T) {
	p := newProgram(t)
	url := serve(t, p.Recorder, service.Config{})
	for name, change := range map[string]func(*http.Request){
		"cross-site":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"rebound":     func(r *http.Request) { r.Host = "evil.example" },
		"by a proxy":  func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") },
		"by its form": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), "POST", url+prefix+"StartProfiler", strings.NewReader(`{"startMode":"START_MODE_IMMEDIATE"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			change(r)
			res, err := httpClient(t, false).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if body := string(drain(res.Body)); res.StatusCode != 403 || !strings.HasPrefix(body, `{"code":"permission_denied","message":`) || len(p.Statuses()) != 0 {
				t.Errorf("got %s %q and sessions %v, want 403 that says why, and none", res.Status, body, p.Statuses())
			}
		})
	}
}

// Clients on this machine are allowed, and so are pages of a trusted origin.
func TestLocalAndTrustedOrigins(t *testing.T) {
	p := newProgram(t)
	url := serve(t, p.Recorder, service.Config{Authorize: guard.Local, TrustedOrigins: []string{"https://tools.example"}})
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"local":               {"Accept", "*/*", 200},
		"by a proxy":          {"X-Forwarded-For", "192.0.2.1", 403},
		"of a trusted origin": {"Origin", "https://tools.example", 200},
		"of another origin":   {"Origin", "https://evil.example", 403},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), "POST", url+prefix+"ListSessions", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(c.header, c.value)
			res, err := httpClient(t, false).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if body := drain(res.Body); res.StatusCode != c.status {
				t.Errorf("got %s %s, want %d", res.Status, body, c.status)
			}
		})
	}
}
