package service

import (
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// ten is the account of ten requests, all delivered.
func ten() Account {
	return Account{Begun: 10, Answered: 10, Stats: perfline.Stats{
		Timeline: observer.Stats{
			observer.Mark:    {Recorded: 10 * Marks},
			observer.Measure: {Recorded: 10 * Measures},
		},
		Bridge:       bridge.Stats{MarkEvents: 10 * Marks, MeasureSpans: 10 * Measures, OtherSpans: 10},
		Delivery:     exporter.Stats{Accepted: 30, Delivered: 30},
		Logs:         exporter.Stats{Accepted: 10 * Marks, Delivered: 10 * Marks},
		Profiles:     profiling.ExporterStats{Accepted: 4, Delivered: 4},
		OTLPProfiles: profiling.ExporterStats{Accepted: 5, Delivered: 5},
	}}
}

func TestCheckBalance(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Account)
		want   string // in the error; "" means none
	}{
		{"all delivered", func(*Account) {}, ""},
		{"each cause", func(a *Account) {
			a.Stats.Delivery = exporter.Stats{Accepted: 10, Delivered: 4, Failed: 3, Dropped: 2, Pending: 1}
			a.Stats.Logs = a.Stats.Delivery
			a.Stats.Profiles = profiling.ExporterStats{Accepted: 15, Delivered: 5, Refused: 4, Unanswered: 3, Dropped: 2, Pending: 1}
			a.Stats.OTLPProfiles = a.Stats.Profiles
		}, ""},
		{"a span too few", func(a *Account) { a.Stats.Delivery.Delivered-- }, "spans: 30 accepted"},
		{"a span too many", func(a *Account) { a.Stats.Delivery.Pending++ }, "spans: 30 accepted"},
		{"a log record too few", func(a *Account) { a.Stats.Logs.Delivered-- }, "log records: 30 accepted"},
		{"a profile too few", func(a *Account) { a.Stats.Profiles.Delivered-- }, "profiles: 4 accepted"},
		{"a profile over OTLP too few", func(a *Account) { a.Stats.OTLPProfiles.Dropped++ }, "profiles over OTLP: 5 accepted"},
		{"less than nothing pending", func(a *Account) { a.Stats.Delivery.Delivered++; a.Stats.Delivery.Pending-- }, "spans: 18446744073709551615 are pending, the queue holds 8192"},
		{"a full queue", func(a *Account) {
			a.Begun, a.Stats.Delivery = 3000, exporter.Stats{Accepted: 8192, Pending: 8192}
		}, ""},
		{"more than the queue holds", func(a *Account) {
			a.Begun, a.Stats.Delivery = 3000, exporter.Stats{Accepted: 8193, Pending: 8193}
		}, "8193 are pending, the queue holds 8192"},
		{"more log records than the queue holds", func(a *Account) {
			a.Begun, a.Stats.Logs = 3000, exporter.Stats{Accepted: 8193, Pending: 8193}
		}, "log records: 8193 are pending, the queue holds 8192"},
		{"less than no profile pending", func(a *Account) { a.Stats.Profiles.Delivered++; a.Stats.Profiles.Pending-- }, "profiles: 18446744073709551615 of 4 accepted are pending"},
		{"profiles larger than the queue", func(a *Account) { a.Stats.Profiles.PendingBytes = profileBytes + 1 }, "with 16777217 bytes"},
		{"profiles over OTLP larger than the queue", func(a *Account) { a.Stats.OTLPProfiles.PendingBytes = profileBytes + 1 }, "over OTLP: 0 of 5 accepted are pending with 16777217 bytes"},
		{"less than no bytes of profiles", func(a *Account) { a.Stats.Profiles.PendingBytes = -1 }, "with -1 bytes"},
		{"more spans than requests make", func(a *Account) { a.Stats.Delivery.Accepted, a.Stats.Delivery.Delivered = 31, 31 }, "the 10 requests that began make 30 at most"},
		{"more log records than requests make", func(a *Account) { a.Stats.Logs.Accepted, a.Stats.Logs.Delivered = 31, 31 }, "log records: 31 were accepted, the 10 requests that began make 30 at most"},
		{"more answers than requests", func(a *Account) { a.Begun-- }, "10 requests were answered of 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ten()
			c.change(&a)
			wants(t, a.CheckBalance(), c.want)
		})
	}
}

func TestCheckComplete(t *testing.T) {
	for _, c := range []struct {
		name   string
		spans  bool // are sent
		change func(*Account)
		want   string // in the error; "" means none
	}{
		{"all delivered", true, func(*Account) {}, ""},
		{"all lost", true, func(a *Account) { a.Stats.Delivery = exporter.Stats{Accepted: 30, Dropped: 30} }, ""},
		{"no backend for spans", false, func(a *Account) { a.Stats.Delivery = exporter.Stats{} }, ""},
		{"a request under way", true, func(a *Account) { a.Begun++ }, "of 11 requests, 10 of them"},
		{"a mark not recorded", true, func(a *Account) {
			a.Stats.Timeline[observer.Mark] = observer.TypeStats{Recorded: 10*Marks - 1}
		}, "49 entries were recorded (want 50)"},
		{"an entry lost on the timeline", true, func(a *Account) {
			a.Stats.Timeline[observer.Mark] = observer.TypeStats{Recorded: 10 * Marks, Overflow: 1}
		}, "1 entries were lost on the timeline"},
		{"an event not handed over", true, func(a *Account) { a.Stats.Bridge.MarkEvents-- }, "29 as events (want 30)"},
		{"a measure not handed over", true, func(a *Account) { a.Stats.Bridge.MeasureSpans-- }, "29 were handed over as spans (want 30)"},
		{"a mark lost at the bridge", true, func(a *Account) { a.Stats.Bridge.MarksAfterEnd++ }, "1 at the bridge"},
		{"a span not accepted", true, func(a *Account) { a.Stats.Delivery.Accepted-- }, "29 spans and 30 log records were accepted"},
		{"a log record not accepted", true, func(a *Account) { a.Stats.Logs.Accepted-- }, "30 spans and 29 log records were accepted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ten()
			c.change(&a)
			wants(t, a.CheckComplete(c.spans, true), c.want)
		})
	}
	a := ten()
	a.Stats.Logs = exporter.Stats{}
	if err := a.CheckComplete(true, false); err != nil {
		t.Errorf("a service that sends no log records: %v", err)
	}
}

func TestCheckLosses(t *testing.T) {
	for _, c := range []struct {
		name       string
		lose       func(*perfline.Stats)
		says, want string
	}{
		{"nothing lost", func(*perfline.Stats) {}, "", ""},
		{"spans, told", func(s *perfline.Stats) { s.Delivery.Delivered -= 2 }, "lost 2 spans", ""},
		{"spans, not told", func(s *perfline.Stats) { s.Delivery.Delivered -= 2 }, "", "2 spans, log records and profiles were lost"},
		{"a log record, not told", func(s *perfline.Stats) { s.Logs.Delivered-- }, "", "1 spans, log records and profiles were lost"},
		{"a profile, not told", func(s *perfline.Stats) { s.Profiles.Delivered-- }, "", "1 spans, log records and profiles were lost"},
		{"a profile over OTLP, not told", func(s *perfline.Stats) { s.OTLPProfiles.Delivered-- }, "", "1 spans, log records and profiles were lost"},
		{"told, not counted", func(*perfline.Stats) {}, "deadline exceeded", `0 spans, log records and profiles were lost, and the end says "deadline exceeded"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Final{Account: ten(), Err: c.says}
			c.lose(&f.Stats)
			wants(t, f.CheckLosses(), c.want)
		})
	}
}

func wants(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestBook(t *testing.T) {
	s := perfline.Stats{
		Delivery: exporter.Stats{Accepted: 10, Delivered: 4, Failed: 3, Dropped: 2, Pending: 1, Unanswered: 2},
		Profiles: profiling.ExporterStats{Accepted: 15, Delivered: 5, Refused: 4, Unanswered: 3, Dropped: 2, Pending: 1, Retries: 7},

		Logs: exporter.Stats{Accepted: 7, Delivered: 7}, OTLPProfiles: profiling.ExporterStats{Accepted: 8, Pending: 8},
	}
	for _, c := range []struct {
		name                                              string
		book                                              Book
		accepted, delivered, pending, settled, unanswered uint64
		causes                                            string
	}{
		{"spans", Spans(s), 10, 4, 1, 9, 2, "3 failed, 2 dropped"},
		{"log records", LogRecords(s), 7, 7, 0, 7, 0, "0"},
		{"profiles over OTLP", OTLPProfiles(s), 8, 0, 8, 0, 0, "0"},
		{"profiles", Profiles(s), 15, 5, 1, 14, 3, "4 refused, 3 unanswered, 2 overflow"},
		{"nothing", Spans(perfline.Stats{}), 0, 0, 0, 0, 0, "0"},
	} {
		b := c.book
		if b.Accepted != c.accepted || b.Delivered != c.delivered || b.Pending != c.pending || b.Settled() != c.settled || b.Unanswered != c.unanswered || b.Causes() != c.causes {
			t.Errorf("%s: the book is %+v, %d settled, causes %q", c.name, b, b.Settled(), b.Causes())
		}
	}
}
