package requests

import (
	"fmt"
	"strings"
)

// A Class says what a root span stands for.
type Class uint8

// The classes of root spans.
const (
	RequestsAndStreams Class = iota // the classes Requests and Streams; in a [Query] only
	Requests                        // a unit of work with an end of its own: a request, a message, a job
	Streams                         // a request that lasts as long as its client stays
	Background                      // calls and measures without a request
	Housekeeping                    // the work of a pool of connections itself: see [IsHousekeeping]
)

var classNames = [...]string{"requests and streams", "requests", "streams", "background", "housekeeping"}

// String returns the name of a class in plural, such as "streams".
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("Class(%d)", uint8(c))
}

// has reports whether a query for class c finds requests of class other.
func (c Class) has(other Class) bool {
	return c == other || c == RequestsAndStreams && (other == Requests || other == Streams)
}

// housekeeping has names of spans that pools of connections make: of packages otelsql (two of that name), redisotel
// and otelpgx.
var housekeeping = []string{
	"sql.connector.connect", "sql.conn.reset_session", "sql.conn.ping",
	"db.Connect", "db.Ping",
	"redis.dial",
	"pool.acquire", "pgxpool.acquire",
}

// IsHousekeeping reports whether a background root span with that name is the work of a connection pool itself.
// A pool dials, checks a connection, or resets one. The name decides, because counts of routes have no attributes. Names that
// other programs use as well, such as "connect", are in the background.
func IsHousekeeping(name string) bool {
	for _, known := range housekeeping {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// Class returns what the request stands for. It reads the root span.
func (s Snapshot) Class() Class {
	switch {
	case s.isRequest && isStream(s.root):
		return Streams
	case s.isRequest:
		return Requests
	default:
		return backgroundClass(s.Root().Name)
	}
}

func backgroundClass(name string) Class {
	if IsHousekeeping(name) {
		return Housekeeping
	}
	return Background
}
