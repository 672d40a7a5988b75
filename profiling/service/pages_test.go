package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// ids returns the ids of events, in their order.
func ids(pages ...*pb.Events) (list []uint32) {
	for _, p := range pages {
		for _, e := range p.GetEventList() {
			list = append(list, e.GetEventId())
		}
	}
	return list
}

// Pages and streams together have what the session has, in its order.
func TestPages_SP10_SP16_SP23(t *testing.T) {
	const n = 10_500 // more than a session is asked for at a time
	p := newProgram(t)
	id := p.recorded(t, func(ctx context.Context) {
		around := marks.Time(ctx, "ends last")
		manyMarks(n)(ctx)
		around.End()
	})
	own, err := p.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, serve(t, p.Recorder, service.Config{}))
	s, err := c.GetSession(t.Context(), &pb.GetSessionArg{SessionId: uint32(id)})
	if err != nil {
		t.Fatal(err)
	}
	tl := theTimeline(s)
	events, _, err := own.Events(t.Context(), sessions.Query{Timeline: sessions.TimelineID(tl)})
	if err != nil {
		t.Fatal(err)
	}
	var want []uint32
	for _, e := range events {
		want = append(want, uint32(e.ID))
	}
	if len(want) < n {
		t.Fatalf("the session has %d events, want %d at least", len(want), n)
	}

	for _, limit := range []uint32{0, 10_000} {
		t.Run(fmt.Sprintf("limit %d", limit), func(t *testing.T) {
			size := min(len(want), int(limit))
			if limit == 0 {
				size = 1000
			}
			a := &pb.GetEventsArg{SessionId: uint32(id), TimelineId: tl, Limit: limit}
			var pages []*pb.Events
			for {
				page, err := c.GetEvents(t.Context(), a)
				if err != nil {
					t.Fatal(err)
				}
				pages = append(pages, page)
				checkPage(t, page, size)
				if !page.GetMore() {
					break
				}
				if len(page.GetEventList()) != size {
					t.Fatalf("%d events in a page that has others after it, want %d", len(page.GetEventList()), size)
				}
				a.AfterEventId = page.GetEventList()[size-1].EventId
			}
			if got := ids(pages...); !slices.Equal(got, want) {
				t.Errorf("pages have %d events, want %d in the session's order", len(got), len(want))
			}

			stream, err := c.StreamEvents(t.Context(), &pb.GetEventsArg{SessionId: uint32(id), TimelineId: tl, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			var streamed []*pb.Events
			for stream.Receive() {
				m := proto.CloneOf(stream.Msg())
				checkPage(t, m, size)
				streamed = append(streamed, m)
			}
			if err := stream.Err(); err != nil || !slices.Equal(ids(streamed...), want) {
				t.Errorf("the stream has %d events (error %v), want %d", len(ids(streamed...)), err, len(want))
			}
			for i, m := range streamed {
				if last := i == len(streamed)-1; m.GetMore() == last {
					t.Errorf("message %d of %d: more is %v", i+1, len(streamed), m.GetMore())
				}
			}
		})
	}
	t.Run("a stream goes on where another one ended", func(t *testing.T) {
		list, err := all(c.StreamEvents(t.Context(), &pb.GetEventsArg{SessionId: uint32(id), TimelineId: tl, AfterEventId: &want[9999], Limit: 10_000}))
		if err != nil || len(list) != 1 {
			t.Fatalf("%d messages, error %v, want 1", len(list), err)
		}
		if got := ids(list[0].(*pb.Events)); !slices.Equal(got, want[10_000:]) {
			t.Errorf("%d events, want the %d after it", len(got), len(want)-10_000)
		}
	})
	t.Run("virtual events come in one answer or by stream", func(t *testing.T) {
		a := &pb.GetEventsArg{SessionId: uint32(id), TimelineId: tl, Mode: pb.Mode_MODE_REDUCE_UNIQUE_EVENTS.Enum(), Limit: 100}
		page, err := c.GetEvents(t.Context(), a)
		if err != nil || len(page.GetEventList()) != 100 || !page.GetMore() {
			t.Errorf("%d events, more %v, error %v, want the first 100 and to be told so", len(page.GetEventList()), page.GetMore(), err)
		}
		names := map[string]bool{}
		list, err := all(c.StreamEvents(t.Context(), a))
		for _, m := range list {
			for _, e := range m.(*pb.Events).GetEventList() {
				names[e.GetName()] = true
				if e.EventId != nil || e.ParentEventId != nil || e.ChildCount != nil || e.AggregatedTime != nil {
					t.Fatalf("virtual event %v has what only an event has", e)
				}
			}
		}
		if err != nil || len(names) < n {
			t.Errorf("%d names by stream, error %v, want %d", len(names), err, n)
		}
	})
	t.Run("no events, no interval", func(t *testing.T) {
		far := 1e300
		page, err := c.GetEvents(t.Context(), &pb.GetEventsArg{SessionId: uint32(id), TimelineId: tl, Interval: &pb.Interval{Start: &far}})
		if err != nil || len(page.GetEventList()) != 0 || page.Interval != nil || page.GetMore() {
			t.Errorf("%d events, interval %v, more %v, error %v, want nothing at all", len(page.GetEventList()), page.GetInterval(), page.GetMore(), err)
		}
	})
}

// checkPage checks that a page is not too long, and that its interval is its events' hull.
func checkPage(t *testing.T, page *pb.Events, size int) {
	t.Helper()
	list := page.GetEventList()
	if len(list) > size {
		t.Errorf("%d events in a page, want %d at most", len(list), size)
	}
	if len(list) == 0 {
		return
	}
	start, end := list[0].GetInterval().GetStart(), list[0].GetInterval().GetEnd()
	for _, e := range list {
		start, end = min(start, e.GetInterval().GetStart()), max(end, e.GetInterval().GetEnd())
	}
	if i := page.GetInterval(); i.GetStart() != start || i.GetEnd() != end {
		t.Errorf("the page's interval is %v, want %v to %v", i, start, end)
	}
}

// Whatever the program calls its marks, messages stay small enough for clients of gRPC.
func TestHugeNames(t *testing.T) {
	const n = 2200 // with names and values of a kilobyte, more than a page
	huge := strings.Repeat("é", 50_000)
	p := newProgram(t)
	id := uint32(p.recorded(t, func(ctx context.Context) {
		for i := range n {
			marks.Mark(ctx, huge, slog.Int("i", i), slog.String("v", huge), slog.String(huge, "\xff\xfe"))
			deliver(ctx, i)
		}
	}))
	ps := protocols(t, serve(t, p.Recorder, service.Config{}))
	var s pb.Session
	if err := ps[0].call("GetSession", &pb.GetSessionArg{SessionId: id}, &s); err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		if p.name != "grpc-go" { // that refuses what is over 4 MiB
			continue
		}
		a := &pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(&s), Limit: 10_000}
		var page pb.Events
		if err := p.call("GetEvents", a, &page); err != nil {
			t.Fatal(err)
		}
		checkPage(t, &page, n-1)
		if size := proto.Size(&page); !page.GetMore() || size < 1<<20 || size > 2<<20+100<<10 {
			t.Errorf("a page of %d bytes, more %v, want some 2 MB and more", size, page.GetMore())
		}
		name := page.GetEventList()[0].GetName()
		if len(name) > 1024 || len(name) < 1000 || !utf8.ValidString(name) || !strings.HasSuffix(name, "é…") {
			t.Errorf("a name of %d bytes that ends with %q, want some 1024 and an ellipsis", len(name), name[max(0, len(name)-6):])
		}
		list, err := p.stream("StreamEvents", a)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, m := range list {
			page := m.(*pb.Events)
			if size := proto.Size(page); size > 2<<20+100<<10 {
				t.Errorf("a message of %d bytes", size)
			}
			for _, e := range page.GetEventList() {
				if d := e.GetDetail()[0]; d.GetIntValue() != int64(seen) {
					t.Fatalf("event %d has detail %v: one is missing or twice there", seen, d)
				}
				seen++
			}
		}
		if seen != n {
			t.Errorf("%d events by stream, want %d", seen, n)
		}
	}
}

// Timelines come in pages, too.
func TestPagesOfTimelines_SP7(t *testing.T) {
	p := newProgram(t)
	id := p.recorded(t, func(ctx context.Context) {
		for range 4 {
			request := observer.FromContext(ctx).NewChild()
			marks.Mark(observer.NewContext(ctx, request), "in a request")
			request.Close()
		}
	})
	own, err := p.Session(id)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, serve(t, p.Recorder, service.Config{}))
	a := &pb.GetSessionArg{SessionId: uint32(id), Limit: 1}
	var got []string
	for {
		s, err := c.GetSession(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.GetTimelineList()) != 1 {
			t.Fatalf("%d timelines in a page, want 1", len(s.GetTimelineList()))
		}
		tl := s.GetTimelineList()[0]
		got = append(got, fmt.Sprintf("%d of %d %s", tl.GetTimelineId(), tl.GetFrameId(), tl.GetName()))
		if !s.GetMore() {
			break
		}
		a.AfterTimelineId = &tl.TimelineId
	}
	var want []string
	for _, tl := range own.Timelines() {
		want = append(want, fmt.Sprintf("%d of %d %s", tl.ID, tl.FrameID, tl.Name))
	}
	if !slices.Equal(got, want) || len(want) < 4 {
		t.Errorf("timelines %q, want %q, with those of 4 requests", got, want)
	}
}

// The virtual events of a stream are bounded, and the last message has more set if events are missing.
func TestStreamOfVirtualEventsIsCut(t *testing.T) {
	const most = 50_000
	p := newProgram(t)
	id := p.recorded(t, func(ctx context.Context) {
		for i := range most + 1 {
			marks.Mark(ctx, fmt.Sprintf("mark %d", i))
			deliver(ctx, i)
		}
	})
	c := client(t, serve(t, p.Recorder, service.Config{}))
	s, err := c.GetSession(t.Context(), &pb.GetSessionArg{SessionId: uint32(id)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := all(c.StreamEvents(t.Context(), &pb.GetEventsArg{SessionId: uint32(id), TimelineId: theTimeline(s), Limit: 10_000, Mode: pb.Mode_MODE_REDUCE_UNIQUE_EVENTS.Enum()}))
	n := 0
	for _, m := range list {
		n += len(m.(*pb.Events).GetEventList())
	}
	if err != nil || n != most || !list[len(list)-1].(*pb.Events).GetMore() {
		t.Errorf("%d events and error %v, want %d, and to be told that there are more", n, err, most)
	}
}
