package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/lab/trial/internal/service"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

func wants(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

// TestCompare has a backend with more and with less than was counted.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name    string
		book    service.Book
		arrived int
		durable bool
		want    string // in the error; "" means none
		noted   bool
	}{
		{"as many", service.Book{Delivered: 10}, 10, true, "", false},
		{"what was not answered has arrived", service.Book{Delivered: 10, Unanswered: 2, Retries: 1}, 13, true, "", false},
		{"less", service.Book{Delivered: 10}, 9, true, "9 are at the backend, of 10", false},
		{"more than can be", service.Book{Delivered: 10, Unanswered: 2, Retries: 1}, 14, true, "14 are at the backend, of 10", false},
		{"less, of a backend that may lose", service.Book{Delivered: 10}, 9, false, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A backend that has less is asked until the time is over.
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			b := newFake(t, &fakeProcess{arrived: c.arrived})
			r := &trial{result: &result{}, bench: b}
			f := b.flows()[0]
			f.read = func(perfline.Stats) service.Book { return c.book }
			wants(t, r.compareAll(ctx, service.Final{}, c.durable), c.want)
			if noted := len(f.notes) > 0; noted != c.noted || f.arrived != c.arrived {
				t.Errorf("%d arrived, notes %q", f.arrived, f.notes)
			}
		})
	}
}

// TestFailedRequests has requests fail in a phase whose results were taken.
func TestFailedRequests(t *testing.T) {
	failing := httptest.NewServer(http.NotFoundHandler())
	defer failing.Close()
	r := &trial{result: &result{}, load: load.Requests(t.Context(), failing.URL, 1000)}
	failed := 0
	if err := backend.Poll(t.Context(), func() (bool, error) {
		failed += r.load.Take().Failed
		return failed > 5, nil
	}); err != nil {
		t.Fatal(err)
	}
	r.endLoad()
	r.endLoad()
	if len(r.wrong) != 1 || r.requests.Failed < failed || !strings.Contains(r.wrong[0].Error(), "404") {
		t.Errorf("%d requests failed in all, of which %d were taken before; wrong: %v", r.requests.Failed, failed, r.wrong)
	}
}

// A service that has no backend settles when nothing waits, and not before.
func TestQuiet(t *testing.T) {
	for _, c := range []struct {
		name  string
		url   string // of the backend for spans; "" means none
		spans bool
		limit time.Duration
		want  string // in the error; "" means none
	}{
		{"nothing waits", "", false, time.Minute, ""},
		{"spans wait for their backend", "http://127.0.0.1:1", true, time.Second, "not all was delivered or lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &trial{result: &result{}, bench: &bench{spans: c.spans}}
			if c.url != "" {
				r.bench.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url}
			}
			if err := r.begin(t.Context(), 50, time.Second); err != nil {
				t.Fatal(err)
			}
			defer r.stop()
			if err := backend.Poll(t.Context(), func() (bool, error) { return r.load.Total().Answered > 5, nil }); err != nil {
				t.Fatal(err)
			}
			r.endLoad()
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			_, err := r.quiet(ctx)
			wants(t, err, c.want)
			if len(r.wrong) > 0 {
				t.Errorf("wrong: %v", r.wrong)
			}
		})
	}
}

// TestCheck has a service end with another account than the load has.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name            string
		begun, answered uint64
		arrived         int
		pending         uint64 // profiles
		says, want      string // in the error; "" means none
	}{
		{"all answered", 1, 1, 1, 0, "", ""},
		{"an answer that did not arrive", 2, 2, 1, 0, "", "answered 2 requests, and 1 answers arrived"},
		{"an answer that the service did not count", 1, 1, 2, 0, "", "answered 1 requests, and 2 answers arrived"},
		{"a request that was not answered", 2, 1, 1, 0, "", "of 2 requests, 1 of them answered"},
		{"a loss that is not counted", 1, 1, 1, 0, "lost", `the end says "lost"`},
		{"profiles given up when all was well", 1, 1, 1, 3, "lost", "3 were given up at the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &trial{result: &result{requests: load.Results{Answered: c.arrived}}, bench: &bench{spans: true}}
			final := service.Final{Err: c.says}
			final.Begun, final.Answered = c.begun, c.answered
			final.Stats.Timeline = observer.Stats{observer.Mark: {Recorded: c.answered * service.Marks}, observer.Measure: {Recorded: c.answered * service.Measures}}
			spans := c.answered * service.SpansOfRequest
			final.Stats.Delivery = exporter.Stats{Accepted: spans, Delivered: spans}
			final.Stats.Profiles = profiling.ExporterStats{Accepted: c.pending, Pending: c.pending}
			final.Stats.Bridge = bridge.Stats{MarkEvents: c.answered * service.Marks, MeasureSpans: c.answered * service.Measures, OtherSpans: c.answered}
			r.check(final)
			r.checkNothingPending(final)
			wants(t, errors.Join(r.wrong...), c.want)
		})
	}
}
