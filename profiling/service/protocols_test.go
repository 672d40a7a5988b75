package service_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
)

const prefix = "/" + profilerv1connect.ProfilerServiceName + "/"

// A protocol is a way to call the service.
type protocol struct {
	name string
	call func(method string, in, out proto.Message) error
	// stream returns all messages of StreamEvents, or of WatchSession; nil for protocols without streams here.
	stream func(method string, in proto.Message) ([]proto.Message, error)
}

func protocols(t *testing.T, url string) []protocol {
	t.Helper()
	withConnect := func(name string, http2 bool, opts ...connect.ClientOption) protocol {
		c := profilerv1connect.NewProfilerServiceClient(httpClient(t, http2), url, opts...)
		return protocol{name, connectCall(t, c), connectStream(t, c)}
	}
	conn, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return []protocol{
		withConnect("Connect", false),
		withConnect("Connect with JSON", false, connect.WithProtoJSON()),
		withConnect("Connect over HTTP/2", true),
		withConnect("gRPC", true, connect.WithGRPC()),
		withConnect("gRPC with gzip", true, connect.WithGRPC(), connect.WithSendGzip()),
		withConnect("gRPC-Web", false, connect.WithGRPCWeb()),
		{"grpc-go", grpcCall(t, conn), grpcStream(t, conn)},
		{"curl", curl(t, url), nil},
	}
}

func connectCall(t *testing.T, c profilerv1connect.ProfilerServiceClient) func(string, proto.Message, proto.Message) error {
	return func(method string, in, out proto.Message) error {
		got := reflect.ValueOf(c).MethodByName(method).Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(in)})
		if err, _ := got[1].Interface().(error); err != nil {
			return err
		}
		proto.Merge(out, got[0].Interface().(proto.Message))
		return nil
	}
}

func connectStream(t *testing.T, c profilerv1connect.ProfilerServiceClient) func(string, proto.Message) ([]proto.Message, error) {
	return func(method string, in proto.Message) ([]proto.Message, error) {
		switch method {
		case "StreamEvents":
			return all(c.StreamEvents(t.Context(), in.(*pb.GetEventsArg)))
		default:
			return all(c.WatchSession(t.Context(), in.(*pb.WatchSessionArg)))
		}
	}
}

func all[T any, P interface {
	*T
	proto.Message
}](s *connect.ServerStreamForClient[T], err error) (list []proto.Message, _ error) {
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for s.Receive() {
		list = append(list, proto.Clone(P(s.Msg())))
	}
	return list, s.Err()
}

func grpcCall(t *testing.T, conn *grpc.ClientConn) func(string, proto.Message, proto.Message) error {
	return func(method string, in, out proto.Message) error {
		return fromGRPC(conn.Invoke(t.Context(), prefix+method, in, out))
	}
}

func grpcStream(t *testing.T, conn *grpc.ClientConn) func(string, proto.Message) ([]proto.Message, error) {
	return func(method string, in proto.Message) (list []proto.Message, _ error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, prefix+method)
		if err == nil {
			err = errors.Join(s.SendMsg(in), s.CloseSend())
		}
		for err == nil {
			var m proto.Message = &pb.Events{}
			if method == "WatchSession" {
				m = &pb.Status{}
			}
			if err = s.RecvMsg(m); err == nil {
				list = append(list, m)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return list, fromGRPC(err)
	}
}

func fromGRPC(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	out := connect.NewError(connect.Code(st.Code()), errors.New(st.Message()))
	for _, d := range st.Details() {
		m, ok := d.(proto.Message)
		if !ok || addDetail(out, m) != nil {
			return fmt.Errorf("detail %v of %w", d, err)
		}
	}
	return out
}

func addDetail(to *connect.Error, m proto.Message) error {
	d, err := connect.NewErrorDetail(m)
	if err == nil {
		to.AddDetail(d)
	}
	return err
}

// curl posts JSON, as curl does.
func curl(t *testing.T, url string) func(string, proto.Message, proto.Message) error {
	c := httpClient(t, false)
	return func(method string, in, out proto.Message) error {
		body, err := protojson.Marshal(in)
		if err != nil {
			return err
		}
		answer, err := post(c, url, method, body)
		if err != nil {
			return err
		}
		return protojson.Unmarshal(answer, out)
	}
}

func post(c *http.Client, url, method string, body []byte) ([]byte, error) {
	res, err := c.Post(url+prefix+method, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer := drain(res.Body)
	if res.StatusCode == http.StatusOK {
		return answer, nil
	}
	var wire struct {
		Code, Message string
		Details       []struct {
			Type  string
			Value string // base64 without padding
		}
	}
	if err := json.Unmarshal(answer, &wire); err != nil {
		return nil, errors.New(res.Status + ": " + string(answer))
	}
	var code connect.Code
	if err := code.UnmarshalText([]byte(wire.Code)); err != nil {
		return nil, err
	}
	out := connect.NewError(code, errors.New(wire.Message))
	for _, d := range wire.Details {
		value, err := base64.RawStdEncoding.DecodeString(d.Value)
		if err != nil {
			return nil, err
		}
		if err := addDetail(out, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type, Value: value}); err != nil {
			return nil, err
		}
	}
	return nil, out
}

// asJSON is a message in the one form in which all are compared.
func asJSON(t *testing.T, m proto.Message) string {
	t.Helper()
	b, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil { // protojson's spaces vary on purpose
		t.Fatal(err)
	}
	return compact.String()
}

// One session, asked the same things in every protocol.
func TestProtocolsAnswerTheSame(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, func(ctx context.Context) {
		m := marks.Time(ctx, "render", slog.String("page", "start"), slog.Bool("cached", true))
		marks.Mark(ctx, "cache.miss", slog.Int("key", 7), slog.Float64("age", 1.5))
		marks.Mark(ctx, "cache.miss")
		marks.Mark(ctx, "broken \xff name", slog.String("long", strings.Repeat("x", 5000)))
		m.End()
	}))
	all := protocols(t, serve(t, p.Recorder, service.Config{}))

	first := &pb.Session{}
	if err := all[0].call("GetSession", &pb.GetSessionArg{SessionId: id}, first); err != nil {
		t.Fatal(err)
	}
	tl := theTimeline(first)
	if tl == 0 {
		t.Fatalf("the session has no timeline with events: %s", asJSON(t, first))
	}

	for _, c := range []struct {
		name, method string
		in           proto.Message
		want         string // part of the answer, or of the error
		fails        bool
	}{
		{"a session", "GetSession", &pb.GetSessionArg{SessionId: id}, `"windowID":1`, false},
		{"events", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl}, `"name":"cache.miss"`, false},
		{"their detail", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl}, `{"key":"key","intValue":"7"},{"key":"age","doubleValue":1.5}`, false},
		{"what is not UTF-8", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl}, "broken \uFFFD name", false},
		{"types", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl, Mode: pb.Mode_MODE_REDUCE_UNIQUE_TYPES.Enum()}, `"EVENT_TYPE_MARK"`, false},
		{"unique events", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl, Mode: pb.Mode_MODE_REDUCE_UNIQUE_EVENTS.Enum()}, `"hits":2`, false},
		{"everything", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl, Mode: pb.Mode_MODE_REDUCE_ALL.Enum()}, `"EVENT_TYPE_GENERIC"`, false},
		{"a page", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl, Limit: 2}, `"more":true`, false},
		{"all sessions", "ListSessions", &pb.ListSessionsArg{}, `"STATE_READY"`, false},
		{"an unknown session", "GetSession", &pb.GetSessionArg{SessionId: 99}, "BAD_REQUEST not_found: ", true},
		{"no such depth", "GetEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl, MaxDepth: proto.Uint32(0)}, "BAD_REQUEST invalid_argument: invalid argument: maxDepth 0: must be 1", true},
		{"a session that was stopped", "StopProfiler", &pb.StopProfilerArg{SessionId: id}, "BAD_REQUEST failed_precondition: ", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want string
			for _, p := range all {
				out := map[string]proto.Message{"GetSession": &pb.Session{}, "GetEvents": &pb.Events{}, "ListSessions": &pb.SessionList{}, "StopProfiler": &pb.Session{}}[c.method]
				err := p.call(c.method, c.in, out)
				got := asJSON(t, out)
				if c.fails {
					got = failure(err)
				} else if err != nil {
					t.Fatalf("%s: %v", p.name, err)
				}
				if want == "" {
					want = got
				}
				if got != want || !strings.Contains(got, c.want) {
					t.Errorf("%s answers\n%s\nwant, as %s,\n%s\nwith %s", p.name, got, all[0].name, want, c.want)
				}
			}
		})
	}
	for _, c := range []struct {
		name, method string
		in           proto.Message
		messages     int
		want         string
	}{
		{"events, streamed", "StreamEvents", &pb.GetEventsArg{SessionId: id, TimelineId: tl, Limit: 2}, 2, `"cache.miss"`},
		{"a session, watched", "WatchSession", &pb.WatchSessionArg{SessionId: id}, 1, `"STATE_READY"`},
		{"an unknown session, watched", "WatchSession", &pb.WatchSessionArg{SessionId: 99}, 0, "BAD_REQUEST not_found: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var want string
			for _, p := range all {
				if p.stream == nil {
					continue
				}
				list, err := p.stream(c.method, c.in)
				said := []string{failure(err)}
				for _, m := range list {
					said = append(said, asJSON(t, m))
				}
				got := strings.Join(said, "\n")
				if want == "" {
					want = got
				}
				if got != want || len(list) != c.messages || !strings.Contains(got, c.want) {
					t.Errorf("%s answers %d messages\n%s\nwant, as %s, %d\n%s\nwith %s", p.name, len(list), got, all[0].name, c.messages, want, c.want)
				}
			}
		})
	}
}

// A session's life, as a client of each protocol sees it.
func TestSessionFromOutside_SP1_SP2_SP3_SP4_SP5_SP6(t *testing.T) {
	p := newProgram(t)
	for _, proto := range protocols(t, serve(t, p.Recorder, service.Config{})) {
		t.Run(proto.name, func(t *testing.T) {
			start := &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_IMMEDIATE, NoSamples: true}
			var id pb.SessionID
			if err := proto.call("StartProfiler", start, &id); err != nil {
				t.Fatal(err)
			}
			n := id.GetSessionId()
			refused(t, "a second start", proto.call("StartProfiler", start, &pb.SessionID{}), "BAD_REQUEST failed_precondition: ")
			refused(t, "release while under way", proto.call("ReleaseSession", &pb.ReleaseSessionArg{SessionId: &n}, &pb.Default{}), "BAD_REQUEST failed_precondition: ")
			refused(t, "reading while under way", proto.call("GetSession", &pb.GetSessionArg{SessionId: n}, &pb.Session{}), "BAD_REQUEST failed_precondition: ")

			marks.Mark(p.ctx, "before the stop")
			var s, again pb.Session
			if err := proto.call("StopProfiler", &pb.StopProfilerArg{SessionId: n}, &s); err != nil {
				t.Fatal(err)
			}
			marks.Mark(p.ctx, "after the stop")
			if s.GetSessionId() != n || s.GetWindowId() != 1 || s.GetLength() <= 0 {
				t.Errorf("stopped: %s, want session %d of window 1 with a length", asJSON(t, &s), n)
			}
			refused(t, "a second stop", proto.call("StopProfiler", &pb.StopProfilerArg{SessionId: n}, &pb.Session{}), "BAD_REQUEST failed_precondition: ")
			if err := proto.call("GetSession", &pb.GetSessionArg{SessionId: n}, &again); err != nil || asJSON(t, &again) != asJSON(t, &s) {
				t.Errorf("GetSession: %v, %s, want what StopProfiler gave: %s", err, asJSON(t, &again), asJSON(t, &s))
			}
			var events pb.Events
			if err := proto.call("GetEvents", &pb.GetEventsArg{SessionId: n, TimelineId: theTimeline(&s)}, &events); err != nil {
				t.Fatal(err)
			}
			if got := asJSON(t, &events); !strings.Contains(got, "before the stop") || strings.Contains(got, "after the stop") {
				t.Errorf("events are %s, want what was before the stop and nothing after", got)
			}

			if err := proto.call("ReleaseSession", &pb.ReleaseSessionArg{SessionId: &n}, &pb.Default{}); err != nil {
				t.Fatal(err)
			}
			refused(t, "reading what was released", proto.call("GetSession", &pb.GetSessionArg{SessionId: n}, &pb.Session{}), "BAD_REQUEST not_found: ")
			refused(t, "events of what was released", proto.call("GetEvents", &pb.GetEventsArg{SessionId: n, TimelineId: theTimeline(&s)}, &pb.Events{}), "BAD_REQUEST not_found: ")
			refused(t, "releasing it again", proto.call("ReleaseSession", &pb.ReleaseSessionArg{SessionId: &n}, &pb.Default{}), "BAD_REQUEST not_found: ")
		})
	}
}

func refused(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := failure(err); !strings.HasPrefix(got, want) || got == strings.TrimSpace(want) {
		t.Errorf("%s: got %q, want %q and a reason", what, got, want)
	}
}

// Left out, the id means all sessions that were stopped (Scope Profiler, ReleaseSessionArg).
func TestReleaseAll_SP5(t *testing.T) {
	p := newProgram(t)
	c := client(t, serve(t, p.Recorder, service.Config{}))
	p.recorded(t, manyMarks(1))
	p.recorded(t, manyMarks(1))
	id, err := c.StartProfiler(t.Context(), &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_IMMEDIATE, NoSamples: true, Length: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.ReleaseSession(t.Context(), &pb.ReleaseSessionArg{SessionId: proto.Uint32(0)})
	refused(t, "0 in so many words", err, "BAD_REQUEST invalid_argument: ")
	if list, err := c.ListSessions(t.Context(), &pb.ListSessionsArg{}); err != nil || len(list.GetStatusList()) != 3 {
		t.Fatalf("%v, %v, want 3 sessions before the release", list, err)
	}
	if _, err := c.ReleaseSession(t.Context(), &pb.ReleaseSessionArg{}); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListSessions(t.Context(), &pb.ListSessionsArg{})
	if err != nil {
		t.Fatal(err)
	}
	if l := list.GetStatusList(); len(l) != 1 || l[0].GetSessionId() != id.GetSessionId() ||
		l[0].GetState() != pb.State_STATE_RECORDING || !l[0].GetRemote() || l[0].GetMaxLength() != 60_000 {
		t.Errorf("left are %v, want the one under way only, that was started from outside", l)
	}
}
