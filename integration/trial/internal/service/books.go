package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// CheckBalance returns an error unless every span and every profile that was accepted was
// delivered, was lost for a cause that is counted, or is pending. This must be so at any time,
// without tolerance, because the counts of spans are of one moment, and the counts of profiles are.
// The sums wrap around. So what is pending must also fit the queue, which has the default's
// size, and no more may be counted than the requests that have begun can make.
func (a Account) CheckBalance() error {
	var wrong []error
	if d := a.Stats.Delivery; d.Accepted != d.Delivered+d.Failed+d.Dropped+d.Pending {
		wrong = append(wrong, fmt.Errorf("spans: %d accepted are not %d delivered, %d failed, %d dropped and %d pending",
			d.Accepted, d.Delivered, d.Failed, d.Dropped, d.Pending))
	}
	if p := a.Stats.Profiles; p.Accepted != p.Delivered+p.Refused+p.Unanswered+p.Dropped+p.Pending {
		wrong = append(wrong, fmt.Errorf("profiles: %d accepted are not %d sent, %d refused, %d unanswered, %d of overflow and %d pending",
			p.Accepted, p.Delivered, p.Refused, p.Unanswered, p.Dropped, p.Pending))
	}
	if d := a.Stats.Delivery; d.Pending > exporter.DefaultQueueSize {
		wrong = append(wrong, fmt.Errorf("spans: %d are pending, the queue holds %d", d.Pending, exporter.DefaultQueueSize))
	}
	if p := a.Stats.Profiles; p.Pending > p.Accepted || p.PendingBytes < 0 || p.PendingBytes > pyroscope.DefaultQueueSize {
		wrong = append(wrong, fmt.Errorf("profiles: %d of %d accepted are pending with %d bytes, the queue holds %d bytes",
			p.Pending, p.Accepted, p.PendingBytes, pyroscope.DefaultQueueSize))
	}
	// Read one after the other: what is counted later may be of more requests, not of fewer.
	if most := a.Begun * SpansOfRequest; a.Stats.Delivery.Accepted > most {
		wrong = append(wrong, fmt.Errorf("spans: %d were accepted, the %d requests that began make %d at most", a.Stats.Delivery.Accepted, a.Begun, most))
	}
	if a.Answered > a.Begun {
		wrong = append(wrong, fmt.Errorf("%d requests were answered of %d begun", a.Answered, a.Begun))
	}
	return errors.Join(wrong...)
}

// CheckComplete returns an error unless every span of the requests that were answered has come
// to the delivery. The measures on the timeline, the bridge's spans and the accepted spans are
// then as many. This is so a moment after the last request. Without a backend for spans
// nothing is accepted.
func (a Account) CheckComplete(delivers bool) error {
	s := a.Stats
	made, handed := a.SpansRecorded(), s.Bridge.MeasureSpans+s.Bridge.OtherSpans
	accepted := s.Delivery.Accepted
	if !delivers {
		accepted = handed
	}
	entries := s.Timeline.Total()
	want := a.Answered * (Measures + Marks)
	if a.Begun != a.Answered || handed != made || accepted != made || s.Bridge.Lost() != 0 ||
		entries.Recorded != want || entries.Overflow != 0 || s.Bridge.MarkEvents != a.Answered*Marks {
		return fmt.Errorf("of %d requests, %d of them answered, %d entries were recorded (want %d), %d were handed over as spans (want %d) and %d as events (want %d), and %d spans accepted; %d entries were lost on the timeline and %d at the bridge",
			a.Begun, a.Answered, entries.Recorded, want, handed, made, s.Bridge.MarkEvents, a.Answered*Marks, accepted, entries.Overflow, s.Bridge.Lost())
	}
	return nil
}

// CheckLosses returns an error if Shutdown reported a loss that is not counted, or did not
// report one that is.
func (f Final) CheckLosses() error {
	lost := f.Stats.Delivery.Lost() + f.Stats.Profiles.Lost()
	if (lost > 0) != (f.Err != "") {
		return fmt.Errorf("%d spans and profiles were lost, and the end says %q", lost, f.Err)
	}
	return nil
}

// A Book counts what is delivered to one backend: spans or profiles.
type Book struct {
	Accepted, Delivered, Pending uint64
	Lost                         []Loss // by cause; all causes, also with 0
	Unanswered                   uint64 // of those lost, how many the backend may have
	Retries                      uint64 // attempts that were repeated; the backend may have each
}

// A Loss counts what was lost for a cause.
type Loss struct {
	Cause string
	N     uint64
}

// Spans is the book of spans. Of lost spans, only unanswered ones may have arrived: Shutdown counts a request that it cancels
// as unanswered.
func Spans(s perfline.Stats) Book {
	d := s.Delivery
	return Book{
		Accepted: d.Accepted, Delivered: d.Delivered, Pending: d.Pending, Unanswered: d.Unanswered,
		Lost: []Loss{{"failed", d.Failed}, {"dropped", d.Dropped}},
	}
}

// Profiles is the book of profiles.
func Profiles(s perfline.Stats) Book {
	p := s.Profiles
	return Book{
		Accepted: p.Accepted, Delivered: p.Delivered, Pending: p.Pending, Unanswered: p.Unanswered, Retries: p.Retries,
		Lost: []Loss{{"refused", p.Refused}, {"unanswered", p.Unanswered}, {"overflow", p.Dropped}},
	}
}

// Settled counts what is delivered or lost.
func (b Book) Settled() uint64 { return b.Accepted - b.Pending }

// Causes lists what was lost, by cause. It is "0" if nothing was.
func (b Book) Causes() string {
	var causes []string
	for _, l := range b.Lost {
		if l.N > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", l.N, l.Cause))
		}
	}
	if len(causes) == 0 {
		return "0"
	}
	return strings.Join(causes, ", ")
}
