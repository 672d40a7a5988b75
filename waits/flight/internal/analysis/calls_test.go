package analysis_test

import (
	"slices"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

var ofCalls = []fixture{
	{
		"called",
		"a request calls another one of the process over the network, which waits for a mutex",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Mutex)
			in(j, by(j, c, "GET /search"), "(*index).rebuild")
			if c.In == nil || c.In.Request != "GET /inner" || c.SpanID != id(3) {
				j.Errorf("in %+v, in span %v; want GET /inner, called by span 3", c.In, c.SpanID)
			}
			says(j, &got[0], ", in span call: waited for GET /inner, which waited for a mutex that GET /search held in (*index).rebuild")
			interval(j, &got[0], 0, waits.Network)
		},
	},
	{
		"called-twice",
		"a call within the process calls another one, which sleeps",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Timer)
			in(j, c.Function, "analysis_test.rest")
			if c.In == nil || c.In.Request != "GET /innermost" || c.Span != "call" {
				j.Errorf("in %+v, in span %q; want GET /innermost, call", c.In, c.Span)
			}
			says(j, &got[0], ", in span call: waited for GET /innermost, which waited for a timer in analysis_test.rest")
		},
	},
	{
		"grpc",
		"a request waits for the answer to a call of gRPC",
		func(j judge, _ *recording, got []waits.Request) {
			c := largest(j, &got[0], waits.Network)
			in(j, c.Function, "analysis_test.charge")
			if via := text.Qualified(c.Via); via != "grpc.(*ClientConn).Invoke" {
				j.Errorf("via %s, want the client's method", via)
			}
			says(j, &got[0], ", in span shop.Payment/Charge: waited for the network in analysis_test.charge via grpc.(*ClientConn).Invoke")
			if !slices.ContainsFunc(got[0].Goroutines[0].Intervals, func(i waits.Interval) bool {
				return i.Kind == waits.Select && waiting.Function(&i) == c.Function
			}) {
				j.Errorf("no select statement counts for charge")
			}
		},
	},
	{
		"called-before-trace",
		"a call within the process that began before the trace is followed, because its end is in the trace",
		callsInner,
	},
	{
		"called-instrumented-twice",
		"two instrumentations make two roots of a call within the process: the outer one is named",
		callsInner,
	},
	{
		"called-grpc",
		"calls of gRPC within the process are followed, over a connection that the request itself or another one has made",
		func(j judge, _ *recording, got []waits.Request) {
			for i, method := range []string{"Charge", "Refund"} {
				says(j, &got[i], ", in span "+method+": waited for shop.Payment/"+method+", which waited for a timer in analysis_test.rest")
			}
		},
	},
	{
		"connection-of-another",
		"a request waits for an answer over a connection that another request has made: the " +
			"network is the cause, and not the other request",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.Network); c.In != nil {
				j.Errorf("the cause is of %+v, want the network alone", c.In)
			}
			in(j, got[0].Causes[0].Function, "analysis_test.get")
		},
	},
	{
		"equal",
		"waits in spans of the same name are one cause",
		func(j judge, _ *recording, got []waits.Request) {
			if c := largest(j, &got[0], waits.Timer); c.Duration < 3*long || c.Span != "query" {
				j.Errorf("the cause is %+v, want three rests in query", c)
			}
		},
	},
}

// callsInner wants a timer of GET /inner, which a request calls, as the cause.
func callsInner(j judge, _ *recording, got []waits.Request) {
	c := largest(j, &got[0], waits.Timer)
	if c.In == nil || c.In.Request != "GET /inner" || c.Span != "call" {
		j.Errorf("in %+v, in span %q; want GET /inner, call", c.In, c.Span)
	}
}
