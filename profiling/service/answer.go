package service

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

const (
	maxMessage = 2 << 20 // bytes of a message's list; clients of gRPC accept 4 MiB by default
	maxString  = 1 << 10 // bytes of a string
)

// pageOf encodes the first events of list, as many as fit into one message, and returns their
// number. more is true if further events follow the list.
func pageOf(list []sessions.Event, more bool) (events *pb.Events, n int) {
	events = &pb.Events{}
	var hull sessions.Interval
	size := 0
	for i := range list {
		e := event(&list[i])
		if size += proto.Size(e); size > maxMessage && i > 0 {
			more = true
			break
		}
		if at := list[i].Interval; i == 0 {
			hull = at
		} else {
			hull = sessions.Interval{Start: min(hull.Start, at.Start), End: max(hull.End, at.End)}
		}
		events.EventList = append(events.EventList, e)
	}
	if n = len(events.EventList); n > 0 {
		events.Interval = interval(hull)
	}
	events.More = more
	return events, n
}

func event(e *sessions.Event) *pb.Event {
	out := &pb.Event{
		Type:     pb.EventType(e.Type),
		Time:     record.Milliseconds(e.Time),
		Overhead: record.Milliseconds(e.Overhead),
		Hits:     e.Hits,
		Interval: interval(e.Interval),
		Name:     cut(e.Name),
		Detail:   appendDetails(nil, "", e.Detail),
	}
	if e.ID != 0 {
		out.EventId = new(uint32(e.ID))
		out.ChildCount = new(e.ChildCount)
		out.AggregatedTime = new(record.Milliseconds(e.AggregatedTime))
		out.AggregatedOverhead = new(record.Milliseconds(e.AggregatedOverhead))
	}
	if e.ParentID != 0 {
		out.ParentEventId = new(uint32(e.ParentID))
	}
	return out
}

// session encodes a session with the timelines after an id: limit timelines, or as many as fit.
func session(s *sessions.Session, after sessions.TimelineID, limit int) *pb.Session {
	stats := s.Stats()
	out := &pb.Session{
		SessionId: uint32(s.ID()),
		WindowId:  new(uint32(programWindow)),
		Started:   timestamppb.New(s.Started()),
		Length:    record.Milliseconds(s.Length()),
		Stats: &pb.SessionStats{
			Events: stats.Events, Entries: stats.Entries, Dropped: stats.Dropped, Lost: stats.Lost,
			Samples: stats.Samples, SamplesFull: stats.SamplesFull,
		},
	}
	size := 0
	for {
		after++
		tl, ok := s.Timeline(after)
		if !ok {
			return out
		}
		t, n := timeline(tl), len(out.TimelineList)
		if size += proto.Size(t); n == limit || size > maxMessage && n > 0 {
			out.More = true
			return out
		}
		out.TimelineList = append(out.TimelineList, t)
	}
}

func timeline(t sessions.Timeline) *pb.Timeline {
	out := &pb.Timeline{
		TimelineId:         uint32(t.ID),
		FrameId:            new(t.FrameID),
		Name:               cut(t.Name),
		Title:              cut(t.Title()),
		BetweenMarks:       t.BetweenMarks,
		Lane:               uint32(t.Lane),
		Interval:           interval(t.Interval),
		EventCount:         uint32(t.Events),
		SampleCount:        uint32(t.Samples),
		ChildCount:         t.ChildCount,
		AggregatedTime:     record.Milliseconds(t.AggregatedTime),
		AggregatedOverhead: record.Milliseconds(t.AggregatedOverhead),
	}
	if t.TraceID.IsValid() {
		out.TraceId, out.SpanId = t.TraceID.String(), t.SpanID.String()
	}
	return out
}

// states are the states on the wire.
var states = map[sessions.State]pb.State{
	sessions.Waiting:    pb.State_STATE_WAITING,
	sessions.InProgress: pb.State_STATE_RECORDING,
	sessions.Processing: pb.State_STATE_PROCESSING,
	sessions.Ready:      pb.State_STATE_READY,
}

func statusOf(s sessions.Status) *pb.Status {
	return &pb.Status{
		SessionId: uint32(s.ID),
		State:     states[s.State],
		Route:     cut(s.Route),
		Remote:    s.Remote,
		Started:   timestamppb.New(s.Started),
		Length:    record.Milliseconds(s.Length),
		Progress:  s.Progress,
		Sampler:   cut(s.Sampler),
		Entries:   s.Entries,
		Samples:   s.Samples,
		Dropped:   s.Dropped,
		Wall:      s.Wall,
		MaxLength: record.Milliseconds(s.MaxLength),
		Cost:      record.Milliseconds(s.Cost),
	}
}

func interval(i sessions.Interval) *pb.Interval {
	return &pb.Interval{
		Start: new(record.Milliseconds(i.Start)), End: new(record.Milliseconds(i.End)),
	}
}

// cut returns s as the schema allows strings: valid UTF-8 of at most maxString bytes.
func cut(s string) string { return text.Valid(text.Cut(s, maxString)) }
