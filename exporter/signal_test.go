package exporter_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/faulttest"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/queue"
)

// A signal is what a delivery of this package sends.
type signal struct {
	what      string // in log lines and errors
	of        otlp.Signal
	variables string        // the prefix of the queue's
	delay     time.Duration // of an item, for others
	pauses    bool          // after a receiver that does not know the signal

	start func(exporter.Config) (sender, error)
	names func(body []byte) ([]string, error)
}

// A sender is the delivery of a signal.
type sender interface {
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
	Stats() exporter.Stats
	OnRead(f func())

	add(name string)
	accept(names ...string) // encoded together; the bytes are overwritten afterwards
}

var (
	ofSpans = signal{what: "spans", of: otlp.Traces, variables: "OTEL_BSP_", delay: 5 * time.Second,
		start: func(c exporter.Config) (sender, error) {
			d, err := exporter.NewDelivery(c)
			return &spanSender{Delivery: d}, err
		}, names: spanNames}
	ofLogs = signal{what: "log records", of: otlp.Logs, variables: "OTEL_BLRP_", delay: time.Second, pauses: true,
		start: func(c exporter.Config) (sender, error) {
			d, err := exporter.NewLogDelivery(c)
			return &logSender{d, new(otlpenc.Groups).Group(nil, instrumentation.Scope{Name: "logs"})}, err
		}, names: recordNames}
)

// eachSignal runs a test for each signal.
func eachSignal(t *testing.T, test func(*testing.T, signal)) {
	t.Helper()
	for _, s := range []signal{ofSpans, ofLogs} {
		t.Run(s.what, func(t *testing.T) { test(t, s) })
	}
}

// inBubbles runs a test for each signal in a bubble, where Shutdown's 10 seconds do not go by while the test works.
func inBubbles(t *testing.T, test func(*testing.T, signal)) {
	t.Helper()
	eachSignal(t, func(t *testing.T, s signal) {
		synctest.Test(t, func(t *testing.T) { test(t, s) })
	})
}

// faulty describes the signal for the suite of faults.
func (s signal) faulty() faulttest.Signal {
	return faulttest.Signal{What: s.what, Of: s.of, Names: s.names, Delay: s.delay, Timeout: 30 * time.Second, Pauses: s.pauses,
		New: func(c faulttest.Config) (faulttest.Delivery, error) {
			d, err := s.start(exporter.Config{Sender: otlpSender{c.Sender}, QueueSize: c.QueueSize, QueueBytes: c.QueueBytes, Logger: c.Logger})
			return faultySender{d}, err
		}}
}

// An otlpSender is an OTLP sender as an [exporter.Sender].
type otlpSender struct{ *otlp.Sender }

func (s otlpSender) Send(ctx context.Context, body []byte) exporter.Answer {
	a := s.Sender.Send(ctx, body)
	return exporter.Answer{
		Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered, Unknown: a.Unknown, Rejected: a.Rejected, Message: a.Message,
	}
}

// A faultySender is a delivery as the suite of faults knows it.
type faultySender struct{ sender }

func (f faultySender) Add(name string)    { f.add(name) }
func (f faultySender) Stats() queue.Stats { return queue.Stats(f.sender.Stats()) }

type spanSender struct {
	*exporter.Delivery

	groups otlpenc.Groups
}

func (s *spanSender) add(name string) { s.OnEnd(spanOf(name)) }

func (s *spanSender) accept(names ...string) {
	var all otlpenc.Spans
	for _, name := range names {
		one := encode(&s.groups, spanOf(name))
		all = otlpenc.NewSpans(one.Group(), append(all.Bytes, one.Bytes...), all.Count+1)
	}
	s.Accept([]bridge.Spans{bridge.Spans(all)})
	overwrite(all.Bytes)
}

func spanNames(body []byte) (names []string, err error) {
	var request tracepb.TracesData
	err = proto.Unmarshal(body, &request)
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				names = append(names, span.GetName())
			}
		}
	}
	return names, err
}

type logSender struct {
	*exporter.LogDelivery

	group *otlpenc.Group
}

func (l *logSender) add(name string) { l.accept(name) }

func (l *logSender) accept(names ...string) {
	all := recordsOf(l.group, names...)
	l.AcceptLogs(all)
	overwrite(all.Bytes)
}

// recordsOf returns events with these names.
func recordsOf(group *otlpenc.Group, names ...string) bridge.Records {
	all := bridge.Records(otlpenc.NewRecords(group, nil, len(names)))
	for _, name := range names {
		r := otlpenc.LogRecord{EventName: name}
		all.Bytes = r.Append(all.Bytes, nil)
	}
	return all
}

func recordNames(body []byte) (names []string, err error) {
	var request logspb.LogsData
	err = proto.Unmarshal(body, &request)
	for _, resource := range request.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				names = append(names, record.GetEventName())
			}
		}
	}
	return names, err
}
