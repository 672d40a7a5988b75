package requests

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/local"
)

// A Query selects requests. A request must match all fields. A zero field matches any request.
type Query struct {
	Route string // the exact name of the root span, or the name's route in a routes.Table

	// Status is one of these values:
	//
	//   - "ok" or "error": the status of the root span.
	//   - A class of HTTP, such as "5xx", or a complete protocol status, such as "404" or
	//     "UNAVAILABLE". Search compares these values with the root span's attributes.
	Status string

	MinTook, MaxTook time.Duration // the duration is in [MinTook, MaxTook); MaxTook 0 is no bound
	From, To         time.Time     // the end is in [From, To)

	// Attribute is "key" or "key=value". The request matches if any span or mark contains the
	// attribute. Key and value must be equal. The key ends at the first "=". Search compares the
	// printed forms of numbers and other values.
	Attribute string

	// Text is a part of the name of a span or mark, or the beginning of the trace id. Search
	// ignores case.
	Text string

	Classes []local.Class // nil finds requests, streams and inner requests
	Limit   int           // of requests found; 0 means 100
}

const defaultLimit = 100

// Check returns an error if no request can match the query. The error names the first invalid
// field.
func (q Query) Check() error {
	key, _, _ := strings.Cut(q.Attribute, "=")
	switch {
	case !isStatus(q.Status):
		return fmt.Errorf("status %q: must be ok, error, a class such as 5xx, or a status of letters and digits", short(q.Status))
	case q.MinTook < 0:
		return fmt.Errorf("least duration %v: must not be negative", q.MinTook)
	case q.MaxTook < 0:
		return fmt.Errorf("greatest duration %v: must not be negative", q.MaxTook)
	case q.MaxTook > 0 && q.MaxTook <= q.MinTook:
		return fmt.Errorf("greatest duration %v: must be more than the least duration %v",
			q.MaxTook, q.MinTook)
	case !q.From.IsZero() && !q.To.IsZero() && !q.To.After(q.From):
		return fmt.Errorf("end of the time %s: must be after its beginning %s",
			q.To.UTC().Format(time.RFC3339Nano), q.From.UTC().Format(time.RFC3339Nano))
	case q.Attribute != "" && key == "":
		return fmt.Errorf("attribute %q: must begin with a key", short(q.Attribute))
	case len(q.Classes) > 0 && slices.Max(q.Classes) >= local.Classes:
		return fmt.Errorf("class %d: must be at most %d", slices.Max(q.Classes), local.Classes-1)
	case q.Limit < 0:
		return fmt.Errorf("limit %d: must not be negative", q.Limit)
	}
	return nil
}

// has reports whether the query allows a class.
func (q Query) has(c local.Class) bool {
	if q.Classes == nil {
		return isRequest(c)
	}
	return slices.Contains(q.Classes, c)
}

// isStatus reports whether s can be a status: letters, digits and underscores, or nothing.
func isStatus(s string) bool {
	for _, c := range []byte(s) {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return len(s) <= 40
}

// isStatusClass reports whether s is a class of HTTP such as "5xx", in upper or lower case.
func isStatusClass(s string) bool {
	return len(s) == 3 && s[0] >= '1' && s[0] <= '5' && strings.EqualFold(s[1:], "xx")
}

// short shortens a value for an error.
func short(s string) string { return atMost(s, 60) }
