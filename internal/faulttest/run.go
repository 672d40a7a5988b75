package faulttest

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

var protocols = []string{otlp.GRPC, otlp.HTTP}

// Run sends items to receivers that fail and are well again. The books balance at every read and agree with the items that
// arrived. A line of the log has the reason, and another one says that it is over.
func Run(t *testing.T, s Signal) {
	t.Helper()
	for _, f := range theFaults {
		for _, protocol := range protocols {
			if f.only == "" || f.only == protocol {
				t.Run(f.name+" "+protocol, func(t *testing.T) {
					if !f.absent && !f.restarts { // else another test's receiver could get the port
						t.Parallel() // most of its time goes by between tries
					}
					s.underFault(t, protocol, f)
				})
			}
		}
	}
}

func (s Signal) underFault(t *testing.T, protocol string, f fault) {
	f = f.of(s)
	queue := map[string]string{"SCHEDULE_DELAY": "60000"} // ForceFlush makes one batch of all items
	if f.waits {
		queue["SCHEDULE_DELAY"] = "10"
	}
	if f.timeout != "" {
		queue["EXPORT_TIMEOUT"] = f.timeout
	}
	names := make([]string, len(f.kB))
	for i, kB := range f.kB {
		names[i] = fmt.Sprint(i, strings.Repeat("s", kB<<10))
	}
	bytes, overflows := 64<<20, len(names) > f.size
	if overflows && s.Bytes != nil {
		bytes = f.size * s.Bytes(names[len(names)-1])
	}
	r := serve(t, s, protocol, f)
	log := newLog(s)
	d := s.start(t, queue, f.attempt, Config{Endpoint: "http://" + r.address, Protocol: protocol, QueueSize: f.size, QueueBytes: bytes, Logger: log.logger()})
	over := audited(t, d, r, f.size)
	all := uint64(len(names))
	if f.restarts {
		d.Add("before")
		if err := d.ForceFlush(t.Context()); err != nil {
			t.Errorf("the receiver is well, and ForceFlush returned %v", err)
		}
		all++
		r.end()
	}
	for _, name := range names {
		d.Add(name)
	}
	if !f.waits {
		_ = s.settle(t, d) // returns an error if items are lost
	}
	log.wants(t, f.begin)
	faulty := d.Stats()
	r.well()
	if err := s.settle(t, d); err != nil {
		t.Errorf("the receiver is well, and ForceFlush returned %v", err)
	}
	short := !s.Patient && (f.timeout != "" || f.attempt != "") // with short timeouts, items may be lost afterwards, too
	for delivered := false; !delivered; all++ {
		d.Add(fmt.Sprint("after", all))
		if delivered = s.settle(t, d) == nil; !delivered {
			if f.lost++; !short {
				t.Fatalf("the receiver is well and takes nothing: %+v", d.Stats())
			}
		}
	}
	log.wants(t, f.end)
	if err := d.Shutdown(t.Context()); err != nil {
		t.Errorf("the receiver is well, and Shutdown returned %v", err)
	}
	over()
	log.isOver(t)
	b := d.Stats()
	taken := uint64(r.taken())
	if b.Accepted != all || b.Accepted-b.Delivered != f.lost || taken < b.Delivered || taken > b.Delivered+b.Unanswered || b.Pending != 0 || b.PendingBytes != 0 {
		t.Errorf("%d of %d items arrived, want %d lost: %+v", taken, all, f.lost, b)
	}
	for i, name := range names {
		if overflows && f.survives(s, i) && !r.has(name) {
			t.Errorf("item %d of %d did not arrive, in a queue for %d", i, len(names), f.size)
		}
	}
	if f.books != nil && !f.waits && !f.books(faulty) {
		t.Errorf("the cause is wrong in %+v", faulty)
	}
	if f.books != nil && (f.waits || !short) && !f.books(b) {
		t.Errorf("the cause is wrong in %+v, at the end", b)
	}
}

// settle calls ForceFlush. A signal that is patient has it called again while items wait: it gives up after some attempts.
func (s Signal) settle(t *testing.T, d Delivery) error {
	for {
		err := d.ForceFlush(t.Context())
		if err == nil || !s.Patient || t.Context().Err() != nil || d.Stats().Pending == 0 {
			return err
		}
	}
}

// RunUnknown sends items to a receiver that does not know the signal: UNIMPLEMENTED over gRPC, and 404 over HTTP. The log has one line.
// A signal that pauses makes a single attempt, and drops further items. Other signals try each batch.
func RunUnknown(t *testing.T, s Signal) {
	t.Helper()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			const batch, batches = 100, 5
			queues := map[string]string{"SCHEDULE_DELAY": "60000", "MAX_EXPORT_BATCH_SIZE": fmt.Sprint(batch)}
			other := s
			other.Path, other.Method = "/v1/others", "/others/Export"
			r := serve(t, other, protocol, fault{})
			log := newLog(s)
			d := s.start(t, queues, "", Config{Endpoint: "http://" + r.address, Protocol: protocol, QueueSize: 2 * batch * batches, QueueBytes: 64 << 20, Logger: log.logger()})
			over := audited(t, d, r, 2*batch*batches)
			for i := range batch - 1 { // no batch is full before Flush
				d.Add(fmt.Sprint(i))
			}
			for round := range batches {
				if err := d.ForceFlush(t.Context()); !s.Single && (err == nil) != (round > 0 && s.Pauses) {
					t.Errorf("round %d: ForceFlush returned %v", round, err)
				}
				d.Add(fmt.Sprint("round ", round))
			}
			err := d.Shutdown(t.Context())
			over()
			want := queue.Stats{Accepted: batch - 1 + batches, Failed: batch - 1 + batches}
			attempts, line := batches+1, refused
			if s.Pauses {
				want.Failed, want.Dropped = batch-1, batches
				attempts, line = 1, unknown
			}
			b := d.Stats()
			if s.Single { // by chance, some more were added before the first answer
				want.Failed, want.Dropped = b.Failed, want.Accepted-b.Failed
			}
			if b != want || r.requests() != attempts || (err == nil) != s.Pauses {
				t.Errorf("%d requests, want %d; Shutdown returned %v; books are\n%+v, want\n%+v", r.requests(), attempts, err, b, want)
			}
			log.wants(t, line+"(Unimplemented|404)")
			log.isOver(t)
		})
	}
}

// RunCrowd adds items on eight goroutines, faster than any receiver takes them. size is the default of the queue's size.
func RunCrowd(t *testing.T, s Signal, size int) {
	t.Helper()
	const goroutines, each = 8, 12_500
	for _, protocol := range protocols {
		for _, size := range []int{size, goroutines * each} {
			t.Run(fmt.Sprintf("%s, queue of %d", protocol, size), func(t *testing.T) {
				r := serve(t, s, protocol, fault{})
				log := newLog(s)
				d := s.start(t, nil, "", Config{Endpoint: "http://" + r.address, Protocol: protocol, QueueSize: size, Logger: log.logger()})
				over := audited(t, d, r, size)
				var workers sync.WaitGroup
				for g := range goroutines {
					workers.Go(func() {
						for i := range each {
							d.Add(fmt.Sprint(g, "/", i))
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
				if b.Accepted != goroutines*each || b.Delivered+b.Dropped != b.Accepted || b.Delivered != uint64(r.taken()) || b.Delivered == 0 {
					t.Errorf("%d arrived: %+v", r.taken(), b)
				}
				if b.Dropped > 0 {
					log.wants(t, "ITEMS are dropped because the queue is full")
				}
				log.isOver(t)
				if size == goroutines*each && b.Dropped > 0 {
					t.Errorf("%d were dropped of a queue that has room for all", b.Dropped)
				}
			})
		}
	}
}

// A log has the lines of a delivery's logger.
type log struct {
	lines chan string
	what  string
}

func newLog(s Signal) *log { return &log{lines: make(chan string, 100), what: s.What} }

func (l *log) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}

// wants waits for the next line, which must match a pattern, unless it is empty.
func (l *log) wants(t *testing.T, pattern string) {
	t.Helper()
	if pattern == "" {
		return
	}
	pattern = strings.ReplaceAll(pattern, "ITEMS", regexp.QuoteMeta(l.what))
	select {
	case line := <-l.lines:
		if !regexp.MustCompile(pattern).MatchString(line) {
			t.Errorf("the log says %s\nwant %s", line, pattern)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the log says nothing, want %s", pattern)
	}
}

// isOver fails the test if there are further lines.
func (l *log) isOver(t *testing.T) {
	t.Helper()
	if len(l.lines) > 0 {
		t.Errorf("one line too many: %s", <-l.lines)
	}
}

// audited reads the books until the returned function is called. They must balance at every read, and the receiver must
// have the items that they call delivered.
func audited(t *testing.T, d Delivery, r *receiver, size int) (end func()) {
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
			if taken := r.taken(); b.Delivered > uint64(taken) {
				t.Errorf("%d items arrived: %+v", taken, b)
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
