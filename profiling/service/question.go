package service

import (
	"fmt"
	"math"
	"strings"
	"time"

	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// The limits of the events or timelines of an answer.
const (
	defaultLimit = 1000
	maxLimit     = 10_000
)

// programWindow is the id of the only window.
const programWindow = 1

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{sessions.ErrInvalid}, args...)...)
}

func startOptions(a *pb.StartProfilerArg) (sessions.StartOptions, error) {
	o := sessions.StartOptions{
		Modules: a.GetModules(), Wall: a.GetWall(), NoSamples: a.GetNoSamples(),
		Process: a.GetProcess(), Remote: true,
	}
	if w := a.GetWindowId(); w > programWindow {
		return o, invalid("windowID %d: must be %d, which is the program, or left out",
			w, programWindow)
	}
	route := strings.TrimSpace(a.GetRoute())
	switch mode := a.GetStartMode(); mode {
	case pb.StartMode_START_MODE_IMMEDIATE:
		if route != "" {
			return o, invalid("route %q: is for %s, not for %s",
				route, pb.StartMode_START_MODE_URL, mode)
		}
	case pb.StartMode_START_MODE_URL:
		if route == "" {
			return o, invalid(
				`startMode %s: needs a route to wait for, as "GET /products/{id}"`, mode)
		}
		o.Route = route
	default:
		return o, invalid("startMode %s: must be %s or %s", mode,
			pb.StartMode_START_MODE_IMMEDIATE, pb.StartMode_START_MODE_URL)
	}
	interval := a.GetSampleInterval()
	if math.IsNaN(interval) || interval < 0 || interval > float64(time.Hour/time.Millisecond) {
		return o, invalid("sampleInterval %v: must be from 0 to an hour, in milliseconds", interval)
	}
	o.SampleInterval = duration(interval)
	length := a.GetLength()
	if math.IsNaN(length) || length < 0 {
		return o, invalid("length %v: must be 0 or more, in milliseconds", length)
	}
	o.Length = duration(length)
	return o, nil
}

// query decodes a query, and the most events of a message.
func query(a *pb.GetEventsArg) (q sessions.Query, length int, err error) {
	q = sessions.Query{
		Timeline: sessions.TimelineID(a.GetTimelineId()),
		Mode:     sessions.Mode(a.GetMode()),
		Event:    sessions.EventID(a.GetEventId()),
		MaxDepth: a.GetMaxDepth(),
		After:    sessions.EventID(a.GetAfterEventId()),
	}
	switch a.GetMode() {
	case pb.Mode_MODE_UNSPECIFIED, pb.Mode_MODE_ALL:
		q.Mode = sessions.All
	case pb.Mode_MODE_REDUCE_UNIQUE_TYPES, pb.Mode_MODE_REDUCE_UNIQUE_EVENTS,
		pb.Mode_MODE_REDUCE_ALL:
		if a.AfterEventId != nil {
			return q, 0, invalid(
				"afterEventID %d: is for %s; virtual events have no id: StreamEvents gives all of them", q.After, pb.Mode_MODE_ALL)
		}
	default:
		return q, 0, invalid("mode %d: is not known", a.GetMode())
	}
	for _, id := range []struct {
		name string
		v    *uint32
	}{{"eventID", a.EventId}, {"afterEventID", a.AfterEventId}} {
		if id.v != nil && *id.v == 0 {
			return q, 0, invalid("%s 0: ids are never 0: leave it out", id.name)
		}
	}
	if a.MaxDepth != nil && a.GetMaxDepth() == 0 {
		return q, 0, invalid(
			"maxDepth 0: must be 1, for the children of the root, or more; left out means all")
	}
	for _, t := range a.GetEventTypeList() {
		if _, known := pb.EventType_name[int32(t)]; !known ||
			t == pb.EventType_EVENT_TYPE_UNSPECIFIED {
			return q, 0, invalid("eventTypeList: type %d is not known", t)
		}
		q.Types = append(q.Types, sessions.EventType(t))
	}
	if q.From, q.To, err = bounds(a.GetInterval()); err != nil {
		return q, 0, err
	}
	length, err = limit(a.GetLimit())
	return q, length, err
}

// bounds decodes the interval of a query. An open bound is nil.
func bounds(i *pb.Interval) (from, to *time.Duration, err error) {
	start, end := math.Inf(-1), math.Inf(1)
	if i != nil && i.Start != nil {
		start = i.GetStart()
	}
	if i != nil && i.End != nil {
		end = i.GetEnd()
	}
	if !(start <= end) || math.IsInf(start, 1) || math.IsInf(end, -1) { // NaN fails, too
		return nil, nil, invalid(
			"interval from %v to %v: must be numbers of milliseconds, and not end before it starts",
			start, end)
	}
	if !math.IsInf(start, -1) {
		from = new(duration(start))
	}
	if !math.IsInf(end, 1) {
		to = new(duration(end))
	}
	return from, to, nil
}

func limit(n uint32) (int, error) {
	if n > maxLimit {
		return 0, invalid("limit %d: must be at most %d", n, maxLimit)
	}
	if n == 0 {
		return defaultLimit, nil
	}
	return int(n), nil
}

// duration returns the duration that is nearest to ms milliseconds. ms must not be NaN.
func duration(ms float64) time.Duration {
	ns := ms * float64(time.Millisecond)
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	default:
		return time.Duration(math.Round(ns))
	}
}
