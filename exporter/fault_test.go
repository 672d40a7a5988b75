package exporter_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/codes"

	"github.com/perfline/perfline/exporter"
)

// A fault is what a receiver does wrong until it is well.
type fault struct {
	name string
	only string            // a protocol; empty: both
	env  map[string]string // of the delivery
	size int               // of the queue; 0: 1000
	kB   []int             // the spans' sizes; nil: 100 of 1 kB

	absent bool                             // nothing listens
	conn   func(*server, net.Conn) net.Conn // what becomes of a connection
	hangs  bool                             // requests are read, and not answered
	limit  int                              // bytes of a request, also when it is well
	reply  reply                            // to requests

	waits bool   // the spans wait until the receiver is well; otherwise all are settled before
	lost  uint64 // of the spans
	begin string // the log's line while the fault lasts; empty: none
	end   string // its line when the receiver is well; empty: none
	books func(exporter.Stats) bool
}

const (
	notDelivered = "spans are not delivered.*"
	refused      = "spans are refused and dropped.*"
	again        = "spans are delivered again"
	warns        = "receiver of spans warns.*"
	turnedDown   = "turned down some spans.*"
	noAnswer     = notDelivered + "(no answer within|DeadlineExceeded)" // the server knows the deadline, too
)

func tried(ms string) map[string]string   { return map[string]string{"OTEL_BSP_EXPORT_TIMEOUT": ms} }
func attempt(ms string) map[string]string { return map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": ms} }

func exhausted(after string) reply {
	return reply{code: codes.ResourceExhausted, status: http.StatusTooManyRequests, after: after, message: "slow down"}
}

func unanswered(s exporter.Stats) bool { return s.Unanswered == s.Failed && s.Failed > 0 }
func answered(s exporter.Stats) bool   { return s.Unanswered == 0 && s.Failed > 0 }
func retried(s exporter.Stats) bool    { return s.Retries > 0 && s.Failed == 0 }

var theFaults = []fault{
	{name: "absent", absent: true, waits: true, begin: notDelivered + "connection refused", end: again, books: retried},
	{name: "absent for too long", absent: true, env: tried("300"), lost: 100, begin: notDelivered + "connection refused", end: again, books: answered},
	{name: "does not speak", conn: mute, env: attempt("500"), waits: true, begin: noAnswer, end: again, books: retried},
	{name: "hangs", hangs: true, env: attempt("500"), waits: true, begin: noAnswer, end: again, books: retried},
	{name: "hangs for too long", hangs: true, env: tried("500"), lost: 100, begin: notDelivered + "(deadline|Deadline)", end: again, books: unanswered},
	{name: "slow", hangs: true, size: 50, waits: true, lost: 50, end: "queue is full.* dropped=50"},
	{name: "noise", conn: noise, kB: []int{1}, waits: true, begin: notDelivered + "(Unavailable|malformed HTTP)", end: again, books: retried},
	{name: "an answer that is not OTLP", reply: reply{raw: "\xff\xff\xff"}, begin: warns + "is not OTLP"},
	{name: "closes mid-batch", conn: midBatch, waits: true, begin: notDelivered + "(EOF|reset|broken pipe|closed)", end: again, books: retried},
	{name: "closes before the answer", reply: reply{lost: true}, waits: true, begin: notDelivered + "(EOF|reset|closed)", end: again, books: retried},

	{name: "4 MiB only", limit: 4 << 20, kB: []int{1500, 1500, 1500, 1500, 1500}},
	{name: "4 MiB only, for 20 MiB", limit: 4 << 20, kB: []int{1, 1, 20 << 10, 1, 1}, lost: 1,
		begin: refused + "(ResourceExhausted|413).*larger than max", end: again, books: answered},
	{name: "a span of 20 MiB", kB: []int{1, 1, 20 << 10, 1, 1}},
	{name: "413", only: exporter.HTTP, reply: reply{code: codes.ResourceExhausted, status: http.StatusRequestEntityTooLarge, message: "too large"},
		lost: 100, begin: refused + "413.*too large", end: again, books: answered},

	{name: "partial success", reply: reply{rejected: 3, message: "too old"}, lost: 3, begin: turnedDown + "spans=3 .*too old", books: answered},
	{name: "partial success without a reason", reply: reply{rejected: 3}, lost: 3, begin: turnedDown + "spans=3 .*no reason", books: answered},
	{name: "partial success of more than all", reply: reply{rejected: 1 << 40, message: "no"}, lost: 100, begin: turnedDown + "spans=100 ", books: answered},
	{name: "partial success of fewer than none", reply: reply{rejected: -3}, begin: warns + "is not OTLP"},
	{name: "a warning", reply: reply{message: "use another port"}, begin: warns + "use another port"},

	{name: "exhausted for a second", reply: exhausted("1"), waits: true, begin: notDelivered + "slow down", end: again, books: retried},
	{name: "exhausted, says a clock that is slow", reply: exhausted("Mon, 01 Jan 1990 00:00:00 GMT"), waits: true, begin: notDelivered + "slow down", end: again, books: retried},
	{name: "exhausted, says a clock that is fast", env: tried("2000"), reply: exhausted("Fri, 01 Jan 2100 00:00:00 GMT"), lost: 100, begin: notDelivered + "slow down", end: again, books: answered},
	{name: "exhausted for good", only: exporter.GRPC, reply: exhausted(""), lost: 100, begin: refused + "slow down", end: again, books: answered},
	{name: "429", only: exporter.HTTP, reply: exhausted(""), waits: true, begin: notDelivered + "429.*slow down", end: again, books: retried},
	{name: "unavailable", reply: reply{code: codes.Unavailable, status: http.StatusServiceUnavailable, message: "starting"},
		waits: true, begin: notDelivered + "starting", end: again, books: retried},
	{name: "no credentials", reply: reply{code: codes.Unauthenticated, status: http.StatusUnauthorized, message: "no token"},
		lost: 100, begin: refused + "no token", end: again, books: answered},
}

// TestFaults sends spans to receivers that fail and are well again. The books balance at every read and agree with what
// arrived. A line of the log has the reason, and another one says that it is over.
func TestFaults(t *testing.T) {
	for _, f := range theFaults {
		for _, protocol := range []string{exporter.GRPC, exporter.HTTP} {
			if f.only == "" || f.only == protocol {
				t.Run(f.name+" "+protocol, func(t *testing.T) {
					if !f.absent { // else another test's server could get the port
						t.Parallel() // most of its time goes by between tries
					}
					underFault(t, protocol, f)
				})
			}
		}
	}
}

func underFault(t *testing.T, protocol string, f fault) {
	vars := map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "60000"} // ForceFlush makes one batch of all spans
	if f.waits {
		vars["OTEL_BSP_SCHEDULE_DELAY"] = "10"
	}
	maps.Copy(vars, f.env)
	s := serve(t, protocol, f)
	log := make(logged, 100)
	f.size = cmp.Or(f.size, 1000)
	d := newUnder(t, vars, exporter.Config{Endpoint: "http://" + s.address, Protocol: protocol, QueueSize: f.size, QueueBytes: 64 << 20,
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	over := audited(t, d, s, f.size)
	if f.kB == nil {
		f.kB = slices.Repeat([]int{1}, 100)
	}
	for i, kB := range f.kB {
		d.OnEnd(spanOf(fmt.Sprint(i, strings.Repeat("s", kB<<10))))
	}
	if !f.waits {
		_ = d.ForceFlush(t.Context()) // returns an error if spans are lost
	}
	log.wants(t, f.begin)
	faulty := d.Stats()
	s.well()
	if err := d.ForceFlush(t.Context()); err != nil {
		t.Errorf("the receiver is well, and ForceFlush returned %v", err)
	}
	all := uint64(len(f.kB))
	for delivered := false; !delivered; all++ {
		d.OnEnd(spanOf(fmt.Sprint("after", all)))
		if delivered = d.ForceFlush(t.Context()) == nil; !delivered {
			if f.lost++; f.env == nil {
				t.Fatalf("the receiver is well and takes nothing: %+v", d.Stats())
			}
		}
	}
	log.wants(t, f.end)
	if err := d.Shutdown(t.Context()); err != nil {
		t.Errorf("the receiver is well, and Shutdown returned %v", err)
	}
	over()
	if len(log) > 0 {
		t.Errorf("one line too many: %s", <-log)
	}
	b := d.Stats()
	taken := uint64(s.taken())
	if b.Accepted != all || b.Lost() != f.lost || taken < b.Delivered || taken > b.Delivered+b.Unanswered || b.Pending != 0 || b.PendingBytes != 0 {
		t.Errorf("%d of %d spans arrived, want %d lost: %+v", taken, all, f.lost, b)
	}
	if f.books != nil && !f.waits && !f.books(faulty) {
		t.Errorf("the cause is wrong in %+v", faulty)
	}
	if f.books != nil && (f.waits || f.env == nil) && !f.books(b) { // with short timeouts, spans may be lost afterwards, too
		t.Errorf("the cause is wrong in %+v, at the end", b)
	}
}

// logged are the lines of a log.
type logged chan string

func (l logged) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// wants waits for the next line, which must match a pattern, unless it is empty.
func (l logged) wants(t *testing.T, pattern string) {
	t.Helper()
	if pattern == "" {
		return
	}
	select {
	case line := <-l:
		if !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("the log says %s\nwant %s", line, pattern)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the log says nothing, want %s", pattern)
	}
}

// audited reads the books until the returned function is called. They must balance at every read, and the server must
// have what they call delivered.
func audited(t *testing.T, d *exporter.Delivery, s *server, size int) (end func()) {
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			b := d.Stats()
			if b.Accepted != b.Delivered+b.Failed+b.Dropped+b.Pending || b.Pending > uint64(size) || b.PendingBytes < 0 || b.Unanswered > b.Failed {
				t.Errorf("the books do not balance: %+v", b)
				return
			}
			if taken := s.taken(); b.Delivered > uint64(taken) {
				t.Errorf("%d spans arrived: %+v", taken, b)
				return
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		reading.Wait()
	}
}

var environment sync.Mutex // guards the process's variables

// newUnder returns a delivery that has read these variables. Deliveries read them in New only.
func newUnder(t *testing.T, vars map[string]string, c exporter.Config) *exporter.Delivery {
	t.Helper()
	environment.Lock()
	defer environment.Unlock()
	for name, value := range vars {
		if err := os.Setenv(name, value); err != nil { // t.Setenv is not for parallel tests
			t.Fatal(err)
		}
	}
	defer func() {
		for name := range vars {
			_ = os.Unsetenv(name)
		}
	}()
	d, err := exporter.NewDelivery(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestHundredThousandAtOnce ends spans on eight goroutines faster than any receiver takes them.
func TestHundredThousandAtOnce(t *testing.T) {
	const goroutines, each = 8, 12_500
	for _, protocol := range []string{exporter.GRPC, exporter.HTTP} {
		for _, size := range []int{exporter.DefaultQueueSize, goroutines * each} {
			t.Run(fmt.Sprintf("%s, queue of %d", protocol, size), func(t *testing.T) {
				s := serve(t, protocol, fault{})
				log := make(logged, 100)
				d, err := exporter.NewDelivery(exporter.Config{Endpoint: "http://" + s.address, Protocol: protocol, QueueSize: size,
					Logger: slog.New(slog.NewTextHandler(log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				over := audited(t, d, s, size)
				var workers sync.WaitGroup
				for g := range goroutines {
					workers.Go(func() {
						for i := range each {
							d.OnEnd(spanOf(fmt.Sprint(g, "/", i)))
						}
					})
				}
				workers.Wait()
				_ = d.ForceFlush(t.Context())
				if err := d.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				over()
				b := d.Stats()
				if b.Accepted != goroutines*each || b.Delivered+b.Dropped != b.Accepted || b.Delivered != uint64(s.taken()) || b.Delivered == 0 {
					t.Errorf("%d arrived: %+v", s.taken(), b)
				}
				if b.Dropped > 0 {
					log.wants(t, "queue is full")
				}
				if len(log) > 0 {
					t.Errorf("one line too many: %s", <-log)
				}
				if size == goroutines*each && b.Dropped > 0 {
					t.Errorf("%d were dropped of a queue that has room for all", b.Dropped)
				}
			})
		}
	}
}

// TestClockJumps has spans that a clock out of order has timed.
func TestClockJumps(t *testing.T) {
	now := time.Now()
	d, r, log := newDelivery(t, fine, 0)
	for _, at := range [][2]time.Time{
		{now, now.Add(-time.Hour)},
		{now.AddDate(-30, 0, 0), now},
		{now, now.AddDate(30, 0, 0)},
		{{}, {}},
		{time.Unix(0, 0), time.Unix(-1, 0)},
		{time.Unix(1<<62, 0), time.Unix(-1<<62, 0)},
	} {
		s := tracetest.SpanStubFromReadOnlySpan(sampled)
		s.StartTime, s.EndTime = at[0], at[1]
		s.Events = []sdktrace.Event{{Name: "e", Time: at[1]}}
		d.OnEnd(s.Snapshot())
	}
	if err := d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if b := d.Stats(); counts(b) != [5]uint64{6, 6} || r.taken() != 6 || log.Len() > 0 {
		t.Errorf("%d of 6 spans arrived: %+v\n%s", r.taken(), b, log)
	}
}
