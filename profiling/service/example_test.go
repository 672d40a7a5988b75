package service_test

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/service"
	"github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// A server of its own for diagnosis, which speaks HTTP/2 without TLS for clients of gRPC, and
// a client of it.
func ExampleNewHandler() {
	recorder := sessions.NewRecorder(sessions.Config{Policy: profiling.Policy{Remote: true}})
	defer recorder.Close()

	mux := http.NewServeMux()
	mux.Handle(service.NewHandler(recorder, service.Config{}))
	server := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "localhost:0") // a port of your choice
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	// In another program:
	ctx := context.Background()
	client := profilerv1connect.NewProfilerServiceClient(http.DefaultClient, "http://"+listener.Addr().String())
	defer http.DefaultClient.CloseIdleConnections()
	id, err := client.StartProfiler(ctx, &profilerv1.StartProfilerArg{StartMode: profilerv1.StartMode_START_MODE_IMMEDIATE})
	if err != nil {
		fmt.Println(err)
		return
	}
	marks.Mark(ctx, "cache.miss") // what the first program does meanwhile
	session, err := client.StopProfiler(ctx, &profilerv1.StopProfilerArg{SessionId: id.GetSessionId()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, timeline := range session.GetTimelineList() {
		events, err := client.GetEvents(ctx, &profilerv1.GetEventsArg{
			SessionId:     session.GetSessionId(),
			TimelineId:    timeline.GetTimelineId(),
			EventTypeList: []profilerv1.EventType{profilerv1.EventType_EVENT_TYPE_MARK},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, event := range events.GetEventList() {
			fmt.Println(timeline.GetName(), event.GetType(), event.GetName())
		}
	}
	// Output:
	// process EVENT_TYPE_MARK cache.miss
}
