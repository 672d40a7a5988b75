package faulttest

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
)

// A fault is what a receiver does wrong until it is well.
type fault struct {
	name  string
	only  string        // a protocol; empty: both
	lasts time.Duration // from the first item on; 0: see of
	size  int           // of the queue; 0: 1000
	kB    []int         // the items' sizes; nil: 100 of 1 kB

	absent   bool                               // nothing listens
	restarts bool                               // the same, after a first item that arrives
	conn     func(*receiver, net.Conn) net.Conn // what becomes of a connection
	hangs    bool                               // requests are read, and not answered
	limit    int                                // bytes of a request, also when it is well
	reply    reply                              // to requests

	waits    bool          // the items wait until the receiver is well; else all are settled before
	outlasts bool          // the fault lasts until the time of the batch is over, if there is one
	settles  time.Duration // how long it takes to settle the items while the fault lasts
	lost     uint64        // of the items

	begin  string        // the log's line while the fault lasts, after the items' name; empty: none
	begins time.Duration // from the first attempt until this line
	end    string        // the log's line when the receiver is well; empty: none

	// books reports whether the items were lost or sent again for the right cause. nil: not
	// checked.
	books func(queue.Stats) bool
}

// A reply says what a receiver does with a request. The zero value is success.
type reply struct {
	code   codes.Code // of gRPC; not OK: the receiver does not take the request
	status int        // of HTTP, for the same
	after  string     // with code and status: seconds, or a date, until the next attempt

	rejected int64 // partial success: these are not taken
	message  string
	raw      string // answered in place of OTLP
	lost     bool   // taken, but the connection ends before the answer
}

// of returns the fault as a signal meets it.
func (f fault) of(s Signal) fault {
	f.size = cmp.Or(f.size, 1000)
	if f.kB == nil {
		f.kB = slices.Repeat([]int{1}, 100)
	}
	counted := f.lost
	if s.Single && f.reply.rejected > 0 { // each answer turns down the item that it is about
		counted, f.lost = 1, uint64(len(f.kB))
	}
	f.begin = strings.ReplaceAll(f.begin, "LOST", fmt.Sprint(counted))
	switch {
	case s.Timeout > 0:
		f.lasts = cmp.Or(f.lasts, s.Delay+s.Timeout/2)
	case f.outlasts:
		f.waits, f.lost, f.books = true, 0, retried
		f.lasts = 2 * time.Hour
	default:
		f.lasts = cmp.Or(f.lasts, time.Minute)
	}
	return f
}

// survives reports whether a full queue has the i-th item. It may have another one, which was being
// sent.
func (f fault) survives(s Signal, i int) bool {
	if s.DropsOldest {
		return i > len(f.kB)-f.size
	}
	return i < f.size
}

// Patterns of the log's lines. ITEMS stands for the signal's items, and LOST for the number of lost
// ones.
const (
	notDelivered = "ITEMS are not delivered.*"
	refused      = "ITEMS are refused and dropped.*"
	again        = "ITEMS are delivered again"
	warns        = "receiver of ITEMS warns.*"
	turnedDown   = "turned down some ITEMS.*"
	unknown      = "does not know ITEMS.*"
	// the receiver knows the deadline, too
	noAnswer = notDelivered + "(no answer within|DeadlineExceeded)"
)

func exhausted(after string) reply {
	return reply{code: codes.ResourceExhausted, status: http.StatusTooManyRequests, after: after,
		message: "slow down"}
}

func unanswered(s queue.Stats) bool { return s.Unanswered == s.Failed && s.Failed > 0 }
func answered(s queue.Stats) bool   { return s.Unanswered == 0 && s.Failed > 0 }
func retried(s queue.Stats) bool    { return s.Retries > 0 && s.Failed == 0 }

const (
	attempt = 10 * time.Second // OpenTelemetry's default
	large   = 5 << 10          // kB of an item that is larger than the receivers of gRPC take
)

var theFaults = []fault{
	{name: "absent", absent: true,
		waits: true, begin: notDelivered + "connection refused", end: again, books: retried},
	{name: "absent for too long", absent: true, outlasts: true, settles: 3 * attempt, lost: 100,
		begin: notDelivered + "connection refused", end: again, books: answered},
	{name: "restarts", restarts: true, waits: true,
		begin: notDelivered + "(connection refused|EOF|closed|reset|broken pipe)", end: again,
		books: retried},
	{name: "does not speak", conn: mute,
		waits: true, begin: noAnswer, begins: attempt, end: again, books: retried},
	{name: "hangs", hangs: true,
		waits: true, begin: noAnswer, begins: attempt, end: again, books: retried},
	{name: "hangs for too long", hangs: true, outlasts: true, settles: 3 * attempt, lost: 100,
		begin: noAnswer, begins: attempt, end: again, books: unanswered},
	{name: "slow", hangs: true, lasts: attempt - time.Second, size: 50,
		waits: true, lost: 50, end: "queue is full.* dropped=50"},
	{name: "noise", conn: noise, kB: []int{1},
		waits: true, begin: notDelivered + "(Unavailable|malformed HTTP)", end: again,
		books: retried},
	{name: "an answer that is not OTLP", reply: reply{raw: "\xff\xff\xff"}, begin: warns +
		"is not OTLP"},
	{name: "closes mid-batch", conn: midBatch, kB: []int{30, 30, 30, 30},
		waits: true, begin: notDelivered + "(EOF|reset|broken pipe|closed)", end: again,
		books: retried},
	{name: "closes before the answer", reply: reply{lost: true},
		waits: true, begin: notDelivered + "(EOF|reset|closed)", end: again, books: retried},

	{name: "4 MiB only", limit: 4 << 20, kB: []int{1500, 1500, 1500}},
	{name: "4 MiB only, for 5 MiB", limit: 4 << 20, kB: []int{1, 1, large, 1, 1}, lost: 1,
		begin: refused + "(ResourceExhausted|413).*larger than max", end: again, books: answered},
	{name: "an item of 5 MiB", kB: []int{1, 1, large, 1, 1}},
	{name: "413", only: otlp.HTTP,
		reply: reply{code: codes.ResourceExhausted, status: http.StatusRequestEntityTooLarge,
			message: "too large"},
		lost: 100, begin: refused + "413.*too large", end: again, books: answered},

	{name: "partial success", reply: reply{rejected: 3, message: "too old"}, lost: 3,
		begin: turnedDown + "lost=LOST .*too old", books: answered},
	{name: "partial success without a reason", reply: reply{rejected: 3}, lost: 3,
		begin: turnedDown + "lost=LOST .*no reason", books: answered},
	{name: "partial success of more than all", reply: reply{rejected: 1 << 40, message: "no"},
		lost:  100,
		begin: turnedDown + "lost=LOST ", books: answered},
	{name: "partial success of fewer than none", reply: reply{rejected: -3}, begin: warns +
		"is not OTLP"},
	{name: "a warning", reply: reply{message: "use another port"}, begin: warns +
		"use another port"},

	{name: "exhausted for a second", reply: exhausted("1"),
		waits: true, begin: notDelivered + "slow down", end: again, books: retried},
	{name: "exhausted, says a clock that is slow",
		reply: exhausted("Mon, 01 Jan 1990 00:00:00 GMT"),
		waits: true, begin: notDelivered + "slow down", end: again, books: retried},
	{name: "exhausted, says a clock that is fast",
		reply:    exhausted("Fri, 01 Jan 2100 00:00:00 GMT"),
		outlasts: true, settles: 3 * attempt, lost: 100, begin: notDelivered + "slow down",
		end: again, books: answered},
	{name: "exhausted for good", only: otlp.GRPC, reply: exhausted(""),
		lost: 100, begin: refused + "slow down", end: again, books: answered},
	{name: "429", only: otlp.HTTP, reply: exhausted(""),
		waits: true, begin: notDelivered + "429.*slow down", end: again, books: retried},
	{name: "unavailable",
		reply: reply{code: codes.Unavailable, status: http.StatusServiceUnavailable,
			message: "starting"},
		waits: true, begin: notDelivered + "starting", end: again, books: retried},
	{name: "no credentials",
		reply: reply{code: codes.Unauthenticated, status: http.StatusUnauthorized,
			message: "no token"},
		lost: 100, begin: refused + "no token", end: again, books: answered},
}
