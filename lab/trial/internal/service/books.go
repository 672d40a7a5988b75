package service

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling"
)

// The bounds of the queues, which are the defaults of their packages.
const (
	queueSize    = 8192     // spans or log records
	profileBytes = 16 << 20 // of profiles
)

// CheckBalance returns an error unless each accepted span, log record and profile was delivered,
// was lost for a cause that is counted, or is pending. This must be so at any time, without
// tolerance: the counts of a signal are of one moment. The sums wrap around. So pending items must
// also fit the queue, which has the default's size, and no more may be counted than the requests
// that have begun can make.
func (a Account) CheckBalance() error {
	d, l, o, p := a.Stats.Delivery, a.Stats.Logs, a.Stats.OTLPProfiles, a.Stats.Profiles
	var wrong []error
	for _, of := range []struct {
		what string
		exporter.Stats
	}{{"spans", d}, {"log records", l}} {
		if of.Accepted != of.Delivered+of.Failed+of.Dropped+of.Pending {
			wrong = append(wrong,
				fmt.Errorf("%s: %d accepted are not %d delivered, %d failed, %d dropped and %d pending",
					of.what, of.Accepted, of.Delivered, of.Failed, of.Dropped, of.Pending))
		}
	}
	for _, of := range []struct {
		what string
		profiling.ExporterStats
	}{{"profiles", p}, {"profiles over OTLP", o}} {
		if of.Accepted != of.Delivered+of.Refused+of.Unanswered+of.Dropped+of.Pending {
			wrong = append(wrong,
				fmt.Errorf("%s: %d accepted are not %d sent, %d refused, %d unanswered, %d of overflow and %d pending",
					of.what, of.Accepted, of.Delivered, of.Refused, of.Unanswered, of.Dropped,
					of.Pending))
		}
	}
	for _, of := range []struct {
		what              string
		accepted, pending uint64
		each              uint64 // of a request
	}{{"spans", d.Accepted, d.Pending, SpansOfRequest},
		{"log records", l.Accepted, l.Pending, Marks}} {
		if of.pending > queueSize {
			wrong = append(wrong,
				fmt.Errorf("%s: %d are pending, the queue holds %d", of.what, of.pending,
					queueSize))
		}
		// Read one after the other: what is counted later may be of more requests, not of fewer.
		if most := a.Begun * of.each; of.accepted > most {
			wrong = append(wrong,
				fmt.Errorf("%s: %d were accepted, the %d requests that began make %d at most",
					of.what, of.accepted, a.Begun, most))
		}
	}
	for _, of := range []struct {
		what              string
		accepted, pending uint64
		bytes, most       int
	}{
		{"profiles", p.Accepted, p.Pending, p.PendingBytes, profileBytes},
		{"profiles over OTLP", o.Accepted, o.Pending, o.PendingBytes, profileBytes},
	} {
		if of.pending > of.accepted || of.bytes < 0 || of.bytes > of.most {
			wrong = append(wrong,
				fmt.Errorf("%s: %d of %d accepted are pending with %d bytes, the queue holds %d bytes", of.what, of.pending, of.accepted, of.bytes, of.most))
		}
	}
	if a.Answered > a.Begun {
		wrong = append(wrong,
			fmt.Errorf("%d requests were answered of %d begun", a.Answered, a.Begun))
	}
	return errors.Join(wrong...)
}

// CheckComplete returns an error unless every span of the requests that were answered has come to
// the delivery, and every mark to the delivery of log records. The measures on the timeline, the
// bridge's spans and the accepted spans are then as many. This is so a moment after the last
// request. A signal that the service does not send is left out.
func (a Account) CheckComplete(spans, logs bool) error {
	s := a.Stats
	made, handed := a.SpansRecorded(), s.Bridge.MeasureSpans+s.Bridge.OtherSpans
	accepted, records := s.Delivery.Accepted, s.Logs.Accepted
	if !spans {
		accepted = handed
	}
	marks := a.Answered * Marks
	if !logs {
		records = marks
	}
	entries := s.Timeline.Total()
	want := a.Answered*Measures + marks
	if a.Begun != a.Answered || handed != made || accepted != made || s.Bridge.Lost() != 0 ||
		entries.Recorded != want || entries.Overflow != 0 || s.Bridge.MarkEvents != marks ||
		records != marks {
		return fmt.Errorf("of %d requests, %d of them answered, %d entries were recorded (want %d), %d were handed over as spans (want %d) and %d as events (want %d), %d spans and %d log records were accepted (want %d); %d entries were lost on the timeline and %d at the bridge",
			a.Begun, a.Answered, entries.Recorded, want, handed, made, s.Bridge.MarkEvents, marks,
			accepted, records, marks, entries.Overflow, s.Bridge.Lost())
	}
	return nil
}

// CheckLosses returns an error if Shutdown reported a loss that is not counted, or did not
// report one that is.
func (f Final) CheckLosses() error {
	s := f.Stats
	lost := s.Delivery.Lost() + s.Logs.Lost() + s.OTLPProfiles.Lost() + s.Profiles.Lost()
	if (lost > 0) != (f.Err != "") {
		return fmt.Errorf("%d spans, log records and profiles were lost, and the end says %q", lost,
			f.Err)
	}
	return nil
}

// Pending counts what waits for delivery, of all signals.
func (a Account) Pending() uint64 {
	s := a.Stats
	return s.Delivery.Pending + s.Logs.Pending + s.OTLPProfiles.Pending + s.Profiles.Pending
}

// A Book counts what is delivered of one signal: spans, log records or profiles.
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

// Spans is the book of spans.
func Spans(s perfline.Stats) Book { return overOTLP(s.Delivery) }

// LogRecords is the book of log records.
func LogRecords(s perfline.Stats) Book { return overOTLP(s.Logs) }

// OTLPProfiles is the book of profiles over OTLP.
func OTLPProfiles(s perfline.Stats) Book {
	o := s.OTLPProfiles
	return overOTLP(exporter.Stats{
		Accepted: o.Accepted, Delivered: o.Delivered, Failed: o.Refused + o.Unanswered,
		Dropped: o.Dropped,
		Pending: o.Pending, Unanswered: o.Unanswered,
	})
}

// overOTLP is a book whose backend tells apart what it gets twice. Of lost items, only unanswered
// ones may have arrived: Shutdown counts a request that it cancels as unanswered.
func overOTLP(d exporter.Stats) Book {
	return Book{
		Accepted: d.Accepted, Delivered: d.Delivered, Pending: d.Pending, Unanswered: d.Unanswered,
		Lost: []Loss{{"failed", d.Failed}, {"dropped", d.Dropped}},
	}
}

// Profiles is the book of profiles for Pyroscope.
func Profiles(s perfline.Stats) Book {
	p := s.Profiles
	return Book{
		Accepted: p.Accepted, Delivered: p.Delivered, Pending: p.Pending, Unanswered: p.Unanswered,
		Retries: p.Retries,
		Lost: []Loss{{"refused", p.Refused}, {"unanswered", p.Unanswered},
			{"overflow", p.Dropped}},
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
