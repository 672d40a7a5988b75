// Profilectl records what a Go service does, from outside, and says what took its time:
//
//	go run ./profilectl -addr http://localhost:8080 -for 10s
//	go run ./profilectl -addr http://localhost:8080 -route 'GET /products/{id}' -for 1s
//
// The service has to serve package profiling/service and to allow it, with
// PERFLINE_PROFILING=remote in its environment for example. Without -for it records until it is
// interrupted. With -route it waits for a request of that name first.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"

	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
)

func main() {
	addr := flag.String("addr", "http://localhost:8080", "where the service is")
	length := flag.Duration("for", 0, "how long to record; 0 records until interrupted")
	route := flag.String("route", "", `request to wait for, as "GET /products/{id}"`)
	depth := flag.Uint("depth", 3, "levels of the tree to print, from 1")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // who interrupts twice does not want to wait for the answer
	c := control{profilerv1connect.NewProfilerServiceClient(http.DefaultClient, *addr)}
	if err := c.run(ctx, *route, *length, uint32(*depth)); err != nil {
		complain(err)
		os.Exit(1)
	}
}

func complain(err error) { fmt.Fprintln(os.Stderr, "profilectl:", printable(err.Error())) }

type control struct {
	profilerv1connect.ProfilerServiceClient
}

// run records a session until length is over or ctx ends, and prints what it found.
func (c control) run(ctx context.Context, route string, length time.Duration, depth uint32) error {
	if length < 0 || depth == 0 {
		return fmt.Errorf("-for %v, -depth %d: must not be negative, and 1 at least", length, depth)
	}
	start := &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_IMMEDIATE}
	if route != "" {
		start.StartMode, start.Route = pb.StartMode_START_MODE_URL, route
	}
	id, err := c.StartProfiler(ctx, start)
	if err != nil {
		return err
	}
	n := id.GetSessionId()

	after := context.WithoutCancel(ctx) // an interrupt ends the recording, not what comes after it
	watching, stopWatching := context.WithCancel(after)
	began, watched := make(chan struct{}), make(chan error, 1)
	go func() { watched <- c.watch(watching, n, began) }()
	ended, early := c.record(ctx, length, began, watched)
	session, err := c.StopProfiler(after, &pb.StopProfilerArg{SessionId: n})
	if err == nil && !ended {
		early = <-watched // the progress of putting events together has come to its end
	}
	stopWatching()
	fmt.Fprintln(os.Stderr)
	if err != nil {
		return errors.Join(err, early)
	}
	err = c.report(after, session, depth)
	// sessions are kept, but not many
	_, released := c.ReleaseSession(after, &pb.ReleaseSessionArg{SessionId: &n})
	return errors.Join(early, err, released)
}

// record waits until the recording is to end. ended says that watching it has, with err.
func (c control) record(ctx context.Context, length time.Duration, began <-chan struct{},
	watched <-chan error) (ended bool, err error) {
	select {
	case <-began:
	case <-ctx.Done():
		return false, nil
	case err := <-watched:
		return true, err
	}
	var over <-chan time.Time
	if length > 0 {
		over = time.After(length)
	}
	select {
	case <-over:
	case <-ctx.Done():
	case err := <-watched: // the service has its own limit of how long
		return true, err
	}
	return false, nil
}

// watch shows how the session is doing until it is ready, and closes began when it records.
func (c control) watch(ctx context.Context, id uint32, began chan<- struct{}) error {
	stream, err := c.WatchSession(ctx, &pb.WatchSessionArg{SessionId: id})
	if err != nil {
		return err
	}
	defer stream.Close()
	for stream.Receive() {
		st := stream.Msg()
		var line string
		switch st.GetState() {
		case pb.State_STATE_WAITING:
			line = "waiting for " + printable(st.GetRoute())
		case pb.State_STATE_RECORDING:
			line = fmt.Sprintf("recording %.1f s: %d entries, %d samples (%s)", st.GetLength()/1000,
				st.GetEntries(), st.GetSamples(), printable(st.GetSampler()))
		case pb.State_STATE_PROCESSING:
			line = fmt.Sprintf("[%-40s] %.0f %%",
				strings.Repeat("#", int(min(1, max(0, st.GetProgress()))*40)), st.GetProgress()*100)
		default:
			line = "ready"
		}
		fmt.Fprintf(os.Stderr, "\r%-78s", line)
		if st.GetState() != pb.State_STATE_WAITING && began != nil {
			close(began)
			began = nil
		}
	}
	return stream.Err()
}

// report prints the requests that took longest, the tree of the first of them, and what
// that spent its time on.
func (c control) report(ctx context.Context, s *pb.Session, depth uint32) error {
	timelines := s.GetTimelineList()
	for more := s.GetMore(); more; {
		next, err := c.GetSession(ctx,
			&pb.GetSessionArg{SessionId: s.GetSessionId(),
				AfterTimelineId: &timelines[len(timelines)-1].TimelineId})
		if err != nil {
			return err
		}
		timelines = append(timelines, next.GetTimelineList()...)
		more = next.GetMore()
	}
	fmt.Printf("session %d: %.1f s, %d timelines, %d events, %d samples; %d entries are missing\n\n", s.GetSessionId(), s.GetLength()/1000,
		len(timelines), s.GetStats().GetEvents(), s.GetStats().GetSamples(),
		s.GetStats().GetDropped()+s.GetStats().GetLost())
	if len(timelines) == 0 {
		return nil
	}
	slices.SortStableFunc(timelines, func(a, b *pb.Timeline) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)),
			cmp.Compare(b.GetAggregatedTime(), a.GetAggregatedTime()))
	})

	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "timeline\tat ms\ttook ms\tevents\tsamples\t  name")
	for _, t := range timelines[:min(10, len(timelines))] {
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%d\t%d\t  %s\n", t.GetTimelineId(),
			t.GetInterval().GetStart(), t.GetAggregatedTime(), t.GetEventCount(),
			t.GetSampleCount(), printable(t.GetTitle()))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	first := &pb.GetEventsArg{SessionId: s.GetSessionId(), TimelineId: timelines[0].GetTimelineId(),
		MaxDepth: &depth}
	if err := c.tree(ctx, first, timelines[0].GetTitle()); err != nil {
		return err
	}
	first.MaxDepth = nil
	return c.hottest(ctx, first)
}

// rank has requests before what they did at the same time, and these before the process's own.
func rank(t *pb.Timeline) int {
	switch {
	case t.GetName() == "process" || t.GetName() == "gc":
		return 2
	case t.GetLane() > 0:
		return 1
	}
	return 0
}

// tree prints events as a tree, each with what it took and what of that in itself.
func (c control) tree(ctx context.Context, q *pb.GetEventsArg, name string) error {
	stream, err := c.StreamEvents(ctx, q)
	if err != nil {
		return err
	}
	defer stream.Close()
	fmt.Printf("\ntimeline %d, %s: took, in itself, what\n", q.GetTimelineId(), printable(name))
	depths, events, most := map[uint32]int{}, 0, 60
	for stream.Receive() {
		for _, e := range stream.Msg().GetEventList() {
			depth := 0
			if e.ParentEventId != nil {
				depth = depths[e.GetParentEventId()] + 1
			}
			depths[e.GetEventId()] = depth
			if events++; events <= most {
				fmt.Printf("%9.2f ms %9.2f ms  %s%s %s%s\n", e.GetAggregatedTime(), e.GetTime(),
					strings.Repeat("  ", depth), typeName(e), printable(e.GetName()), details(e))
			}
		}
	}
	if events > most {
		fmt.Printf("%27s… and %d others\n", "", events-most)
	}
	return stream.Err()
}

// hottest prints what took most time in itself, all events of one type and name together.
func (c control) hottest(ctx context.Context, q *pb.GetEventsArg) error {
	q.Mode, q.Limit = pb.Mode_MODE_REDUCE_UNIQUE_EVENTS.Enum(), 10
	events, err := c.GetEvents(ctx, q)
	if err != nil {
		return err
	}
	fmt.Println("\nits time by type and name: in themselves, how many, what")
	for _, e := range events.GetEventList() {
		fmt.Printf("%9.2f ms %9d ×  %s %s\n", e.GetTime(), e.GetHits(), typeName(e),
			printable(e.GetName()))
	}
	return nil
}

func typeName(e *pb.Event) string {
	return strings.ToLower(strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_"))
}

// details are an event's, as far as they fit on a line.
func details(e *pb.Event) string {
	var b strings.Builder
	for _, d := range e.GetDetail() {
		switch v := d.GetValue().(type) {
		case *pb.Detail_StringValue:
			fmt.Fprintf(&b, " %s=%s", d.GetKey(), v.StringValue)
		case *pb.Detail_IntValue:
			fmt.Fprintf(&b, " %s=%d", d.GetKey(), v.IntValue)
		case *pb.Detail_DoubleValue:
			fmt.Fprintf(&b, " %s=%g", d.GetKey(), v.DoubleValue)
		case *pb.Detail_BoolValue:
			fmt.Fprintf(&b, " %s=%t", d.GetKey(), v.BoolValue)
		}
	}
	line := []rune(printable(b.String()))
	return string(line[:min(60, len(line))])
}

// printable is s without what a terminal would obey. All that comes from the service is printed
// through it: names may come from the service's clients, and the service may be anybody's.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}
