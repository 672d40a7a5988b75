package service_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
)

// An invalid call is the Scope Profiler's BAD_REQUEST, and the text names the value and the rule.
func TestBadRequests_SP2_SP6_SP9_SP20_SP21_SP22_SP25(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, manyMarks(3)))
	c := protocols(t, serve(t, p.Recorder, service.Config{}))[0]
	var s pb.Session
	if err := c.call("GetSession", &pb.GetSessionArg{SessionId: id}, &s); err != nil {
		t.Fatal(err)
	}
	tl := theTimeline(&s)

	get := func(change func(*pb.GetEventsArg)) *pb.GetEventsArg {
		a := &pb.GetEventsArg{SessionId: id, TimelineId: tl}
		change(a)
		return a
	}
	between := func(from, to float64) *pb.Interval { return &pb.Interval{Start: &from, End: &to} }
	immediate := pb.StartMode_START_MODE_IMMEDIATE
	notFound := []string{"stopping no session", "stopping an unknown session", "an unknown session", "timelines after an unknown one", "releasing an unknown session",
		"events of an unknown session", "an unknown timeline", "no timeline", "an unknown event"}
	for _, tt := range []struct {
		name string
		in   proto.Message
		want string // part of the error
	}{
		{"no start mode", &pb.StartProfilerArg{}, "startMode START_MODE_UNSPECIFIED: must be START_MODE_IMMEDIATE or START_MODE_URL"},
		{"an unknown start mode", &pb.StartProfilerArg{StartMode: 7}, "startMode 7: must be"},
		{"another window", &pb.StartProfilerArg{StartMode: immediate, WindowId: proto.Uint32(2)}, "windowID 2: must be 1"},
		{"a route for now", &pb.StartProfilerArg{StartMode: immediate, Route: "GET /"}, `route "GET /": is for START_MODE_URL`},
		{"no route to wait for", &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_URL, Route: " "}, "needs a route"},
		{"a negative interval of samples", &pb.StartProfilerArg{StartMode: immediate, SampleInterval: -1}, "sampleInterval -1: must be"},
		{"a negative length", &pb.StartProfilerArg{StartMode: immediate, Length: -1}, "length -1: must be"},
		{"a length that is no number", &pb.StartProfilerArg{StartMode: immediate, Length: math.NaN()}, "length NaN: must be"},
		{"a length over the program's", &pb.StartProfilerArg{StartMode: immediate, Length: 1e9}, "must be from 0 to"},
		{"an interval that is no number", &pb.StartProfilerArg{StartMode: immediate, SampleInterval: math.NaN()}, "sampleInterval NaN: must be"},
		{"an interval for ever", &pb.StartProfilerArg{StartMode: immediate, SampleInterval: math.Inf(1)}, "sampleInterval +Inf: must be"},

		{"stopping no session", &pb.StopProfilerArg{}, "session 0"},
		{"stopping an unknown session", &pb.StopProfilerArg{SessionId: 99}, "session 99"},
		{"an unknown session", &pb.GetSessionArg{SessionId: 99}, "session 99"},
		{"too many timelines", &pb.GetSessionArg{SessionId: id, Limit: 10_001}, "limit 10001: must be at most 10000"},
		{"timelines after an unknown one", &pb.GetSessionArg{SessionId: id, AfterTimelineId: proto.Uint32(999)}, "afterTimelineID 999: not found: session"},
		{"releasing an unknown session", &pb.ReleaseSessionArg{SessionId: proto.Uint32(99)}, "session 99"},

		{"events of an unknown session", get(func(a *pb.GetEventsArg) { a.SessionId = 99 }), "session 99"},
		{"an unknown timeline", get(func(a *pb.GetEventsArg) { a.TimelineId = 99 }), "timeline 99"},
		{"no timeline", get(func(a *pb.GetEventsArg) { a.TimelineId = 0 }), "timeline 0"},
		{"an unknown mode", get(func(a *pb.GetEventsArg) { a.Mode = pb.Mode(9).Enum() }), "mode 9: is not known"},
		{"an unknown event", get(func(a *pb.GetEventsArg) { a.EventId = proto.Uint32(9999) }), "event"},
		{"event 0", get(func(a *pb.GetEventsArg) { a.EventId = proto.Uint32(0) }), "eventID 0: ids are never 0"},
		{"depth 0", get(func(a *pb.GetEventsArg) { a.MaxDepth = proto.Uint32(0) }), "maxDepth 0: must be 1"},
		{"an unknown type", get(func(a *pb.GetEventsArg) { a.EventTypeList = []pb.EventType{pb.EventType_EVENT_TYPE_MARK, 77} }), "type 77 is not known"},
		{"type 0", get(func(a *pb.GetEventsArg) { a.EventTypeList = []pb.EventType{0} }), "type 0 is not known"},
		{"an inverted interval", get(func(a *pb.GetEventsArg) { a.Interval = between(5, 3) }), "interval from 5 to 3: must"},
		{"an interval of no number", get(func(a *pb.GetEventsArg) { a.Interval = between(math.NaN(), 3) }), "interval from NaN to 3: must"},
		{"an interval to no number", get(func(a *pb.GetEventsArg) { a.Interval = between(3, math.NaN()) }), "interval from 3 to NaN: must"},
		{"an interval after all time", get(func(a *pb.GetEventsArg) { a.Interval = between(math.Inf(1), math.Inf(1)) }), "must be numbers"},
		{"an interval before all time", get(func(a *pb.GetEventsArg) { a.Interval = between(math.Inf(-1), math.Inf(-1)) }), "must be numbers"},
		{"too many events", get(func(a *pb.GetEventsArg) { a.Limit = 10_001 }), "limit 10001: must be at most 10000"},
		{"a page after an unknown event", get(func(a *pb.GetEventsArg) { a.AfterEventId = proto.Uint32(9999) }), "9999"},
		{"a page after event 0", get(func(a *pb.GetEventsArg) { a.AfterEventId = proto.Uint32(0) }), "afterEventID 0: ids are never 0"},
		{"a page of virtual events", get(func(a *pb.GetEventsArg) {
			a.Mode, a.AfterEventId = pb.Mode_MODE_REDUCE_ALL.Enum(), proto.Uint32(1)
		}), "afterEventID 1: is for MODE_ALL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			method, out := methodOf(tt.in)
			err := c.call(method, tt.in, out)
			code := "BAD_REQUEST invalid_argument: "
			if slices.Contains(notFound, tt.name) {
				code = "BAD_REQUEST not_found: "
			}
			if got := failure(err); !strings.HasPrefix(got, code) || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q with %q", got, code, tt.want)
			}
			if method != "GetEvents" {
				return
			}
			list, streamed := c.stream("StreamEvents", tt.in)
			if len(list) > 0 || failure(streamed) != failure(err) {
				t.Errorf("streamed: %d messages and %q, want the same error", len(list), failure(streamed))
			}
		})
	}
	if list := p.Statuses(); len(list) != 1 || uint32(list[0].ID) != id {
		t.Errorf("the sessions are %v, want that of before only", list)
	}
}

// methodOf is the method that a message is the argument of.
func methodOf(in proto.Message) (method string, out proto.Message) {
	switch in.(type) {
	case *pb.StartProfilerArg:
		return "StartProfiler", &pb.SessionID{}
	case *pb.StopProfilerArg:
		return "StopProfiler", &pb.Session{}
	case *pb.GetEventsArg:
		return "GetEvents", &pb.Events{}
	case *pb.ReleaseSessionArg:
		return "ReleaseSession", &pb.Default{}
	case *pb.GetSessionArg:
		return "GetSession", &pb.Session{}
	default:
		return "ListSessions", &pb.SessionList{}
	}
}

// JSON with a typing mistake must not be half understood.
func TestJSONThatIsNotTheSchemas_SP16_SP21(t *testing.T) {
	p := newProgram(t)
	p.recorded(t, manyMarks(3))
	url := serve(t, p.Recorder, service.Config{})
	c := httpClient(t, false)
	for _, tt := range []struct{ name, method, body, want string }{
		{"an unknown type", "GetEvents", `{"sessionID": 1, "timelineID": 1, "eventTypeList": ["EVENT_TYPE_MRAK"]}`, "EVENT_TYPE_MRAK"},
		{"an unknown mode", "GetEvents", `{"sessionID": 1, "timelineID": 1, "mode": "REDUCE_ALL"}`, "REDUCE_ALL"},
		{"an unknown field", "GetEvents", `{"sessionId": 1, "timelineID": 1}`, "sessionId"},
		{"a string for a number", "GetEvents", `{"sessionID": "one"}`, "one"},
		{"a negative id", "GetEvents", `{"sessionID": -1}`, "-1"},
		{"not JSON", "GetEvents", `sessionID=1`, "syntax error"},
		{"nothing", "ListSessions", ``, "must be an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := post(c, url, tt.method, []byte(tt.body))
			if got := failure(err); !strings.HasPrefix(got, "invalid_argument: ") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want invalid_argument with %q", got, tt.want)
			}
		})
	}
	t.Run("with its encoding", func(t *testing.T) {
		res, err := c.Post(url+prefix+"GetEvents", "application/json; charset=utf-8", strings.NewReader(`{"sessionId": 1}`))
		if err != nil {
			t.Fatal(err)
		}
		if body := drain(res.Body); res.StatusCode != http.StatusBadRequest || !slices.Contains(strings.Fields(strings.ReplaceAll(string(body), `\"`, " ")), "sessionId") {
			t.Errorf("got %s %s, want 400 that names sessionId", res.Status, body)
		}
	})
	t.Run("names of the schema's fields are understood as well", func(t *testing.T) {
		if answer, err := post(c, url, "GetSession", []byte(`{"session_id": 1}`)); err != nil || !strings.Contains(string(answer), "timelineList") {
			t.Errorf("got %s, %v, want the session", answer, err)
		}
	})
}
