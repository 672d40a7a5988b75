package bridgelog_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/exporter"
)

// A refusing sender gives the same answer to each request.
type refusing struct {
	answer   exporter.Answer
	requests atomic.Int32
}

func (s *refusing) Send(context.Context, []byte) exporter.Answer {
	s.requests.Add(1)
	return s.answer
}

// An emitter is a slog handler whose lines are log records, as otelslog's are.
type emitter struct {
	slog.Handler

	emit  func(context.Context, log.Record)
	lines *atomic.Int32
}

func (e emitter) Enabled(context.Context, slog.Level) bool { return true }

func (e emitter) Handle(ctx context.Context, r slog.Record) error {
	e.lines.Add(1)
	var record log.Record
	record.SetBody(attribute.StringValue(r.Message))
	e.emit(ctx, record)
	return nil
}

// The delivery's own lines may become log records. When a receiver refuses them, the line about that is one more record, and then
// it is quiet.
func TestLinesAboutTheDelivery(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   exporter.Answer
		requests int32
		books    exporter.Stats
	}{
		{"refused", exporter.Answer{Err: errors.New("no")}, 2, exporter.Stats{Accepted: 2, Failed: 2}},
		{"not known", exporter.Answer{Err: errors.New("no"), Unknown: true}, 1, exporter.Stats{Accepted: 2, Failed: 1, Dropped: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l log.Logger
				var lines atomic.Int32
				to := &refusing{answer: c.answer}
				d, err := exporter.NewLogDelivery(exporter.Config{Sender: to, Logger: slog.New(emitter{slog.DiscardHandler, func(ctx context.Context, r log.Record) { l.Emit(ctx, r) }, &lines})})
				if err != nil {
					t.Fatal(err)
				}
				l = bridgelog.NewLoggerProvider(pipeline{d}, nil).Logger("test")
				l.Emit(t.Context(), event("e"))
				time.Sleep(time.Hour)
				if got := to.requests.Load(); got != c.requests || lines.Load() != 1 {
					t.Errorf("%d requests and %d lines in an hour, want %d and 1", got, lines.Load(), c.requests)
				}
				if got := d.Stats(); got != c.books {
					t.Errorf("books are %+v, want %+v", got, c.books)
				}
				if err := d.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
