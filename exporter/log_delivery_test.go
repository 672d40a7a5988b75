package exporter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
)

// TestLogDeliveryAcceptChecksRecords gives the delivery records that no request can have. They are dropped and counted.
func TestLogDeliveryAcceptChecksRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
		good := recordsOf(group, "e")
		d, r, _ := logsTo(t, fine, 0)
		for _, c := range []struct {
			name    string
			records otlpenc.Records
			dropped uint64
		}{
			{"nothing", otlpenc.Records{}, 1},
			{"no group", otlpenc.NewRecords(nil, good.Bytes, 1), 1},
			{"no count", otlpenc.NewRecords(group, good.Bytes, 0), 1},
			{"a negative count", otlpenc.NewRecords(group, good.Bytes, -5), 1},
			{"no bytes", otlpenc.NewRecords(group, nil, 3), 3},
		} {
			before := d.Stats()
			d.AcceptLogs(bridge.Records(c.records))
			if s := d.Stats(); s.Accepted-before.Accepted != c.dropped || s.Dropped-before.Dropped != c.dropped {
				t.Errorf("%s: stats %+v, before %+v, want %d more dropped", c.name, s, before, c.dropped)
			}
		}
		d.AcceptLogs(good)
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if s := d.Stats(); counts(s) != [5]uint64{8, 1, 0, 7} || r.taken() != 1 {
			t.Errorf("stats %+v, want 1 of 8 delivered and 7 dropped", s)
		}
	})
}

func logsTo(t *testing.T, answer func(context.Context) exporter.Answer, size int) (*exporter.LogDelivery, *receiver, *bytes.Buffer) {
	t.Helper()
	d, r, log := ofLogs.to(t, answer, size)
	return d.(*logSender).LogDelivery, r, log
}

// TestLogDeliveryPause has a receiver that learns about logs later. Records that wait fail at once, and records of the next 10 minutes
// are dropped. No request is sent in that time.
func TestLogDeliveryPause(t *testing.T) {
	t.Setenv("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "100")
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		proceed := make(chan struct{})
		know := false
		d, r, log := ofLogs.to(t, func(context.Context) exporter.Answer {
			requests++
			if know {
				return exporter.Answer{}
			}
			<-proceed
			return exporter.Answer{Err: errors.New("404"), Unknown: true}
		}, 0)
		wants := func(when string, sent int, want exporter.Stats) {
			t.Helper()
			synctest.Wait()
			if s := d.Stats(); s != want || requests != sent {
				t.Errorf("%s: %d requests, want %d; stats are %+v, want %+v", when, requests, sent, s, want)
			}
		}
		addSome(d, 1000) // the first request has 100 of them
		synctest.Wait()
		close(proceed)
		wants("after the first answer", 1, exporter.Stats{Accepted: 1000, Failed: 1000})

		addSome(d, 1000)
		if err := d.ForceFlush(t.Context()); err != nil {
			t.Errorf("nothing waits, and ForceFlush returned %v", err)
		}
		time.Sleep(10*time.Minute - time.Second)
		addSome(d, 1)
		wants("in the pause", 1, exporter.Stats{Accepted: 2001, Failed: 1000, Dropped: 1001})

		time.Sleep(time.Second)
		d.add("first after the pause")
		time.Sleep(2 * time.Second)
		d.add("dropped again")
		wants("after the pause", 2, exporter.Stats{Accepted: 2003, Failed: 1001, Dropped: 1002})
		if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "the receiver does not know log records") || !strings.Contains(s, "pause=10m0s error=404") {
			t.Errorf("the log must have one line with the reason:\n%s", s)
		}

		know = true
		time.Sleep(10 * time.Minute)
		d.add("taken")
		if err := d.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		wants("when the receiver knows logs", 3, exporter.Stats{Accepted: 2004, Delivered: 1, Failed: 1001, Dropped: 1002})
		if s := log.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "log records are delivered again") || !strings.Contains(s, "lost=2003") {
			t.Errorf("a second line must say that log records are delivered again:\n%s", s)
		}
		if err := d.Shutdown(t.Context()); err != nil || r.taken() != 1 {
			t.Errorf("Shutdown returned %v, %d records arrived", err, r.taken())
		}
	})
}

// TestShutdownInThePause ends a program whose receiver does not know logs. Shutdown has nothing to wait for.
func TestShutdownInThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, _ := logsTo(t, func(context.Context) exporter.Answer { return exporter.Answer{Err: errors.New("404"), Unknown: true} }, 0)
		group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
		d.AcceptLogs(recordsOf(group, "e"))
		if err := d.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "1 log records not delivered to the backend: 404") {
			t.Errorf("ForceFlush returned %v", err)
		}
		began := time.Now()
		for range 10 {
			d.AcceptLogs(recordsOf(group, "e", "f"))
		}
		if err := d.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown returned %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Shutdown took %v of the bubble's time, want 0", took)
		}
		if s := d.Stats(); s != (exporter.Stats{Accepted: 21, Failed: 1, Dropped: 20}) {
			t.Errorf("stats are %+v", s)
		}
	})
}

// TestUnknownSpans has a receiver that does not know spans. Each batch is tried, as with any other error.
func TestUnknownSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		d, _, log := ofSpans.to(t, func(context.Context) exporter.Answer {
			requests++
			return exporter.Answer{Err: errors.New("404"), Unknown: true}
		}, 0)
		for range 5 {
			addSome(d, 3)
			if err := d.ForceFlush(t.Context()); err == nil {
				t.Error("ForceFlush returned no error")
			}
		}
		if s := d.Stats(); s != (exporter.Stats{Accepted: 15, Failed: 15}) || requests != 5 {
			t.Errorf("%d requests, stats %+v", requests, s)
		}
		if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "spans are refused and dropped") {
			t.Errorf("the log has:\n%s", s)
		}
		if err := d.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Both deliveries of a program have their own counts, senders and log lines.
func TestDeliveriesAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		open := func(s signal, answer func(context.Context) exporter.Answer) (sender, *receiver) {
			r := &receiver{decode: s.names, answer: answer}
			d, err := s.start(exporter.Config{Sender: r, Logger: logger})
			if err != nil {
				t.Fatal(err)
			}
			return d, r
		}
		spans, taken := open(ofSpans, fine)
		logs, _ := open(ofLogs, refuse)
		for i := range 10 {
			spans.add(fmt.Sprint("span ", i))
			logs.add(fmt.Sprint("event ", i))
		}
		if err := logs.ForceFlush(t.Context()); err == nil {
			t.Error("ForceFlush of refused logs returned no error")
		}
		if err := spans.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if s, l := spans.Stats(), logs.Stats(); counts(s) != [5]uint64{10, 10} || counts(l) != [5]uint64{10, 0, 10} || taken.taken() != 10 {
			t.Errorf("stats of spans are %+v, of logs %+v", s, l)
		}
		for _, d := range []sender{logs, spans} {
			if err := d.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "log records are refused") {
			t.Errorf("the log has:\n%s", s)
		}
	})
}
