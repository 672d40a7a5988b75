package bridge

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/servertiming"
	"github.com/perfline/perfline/observer"
)

// ServerTiming says what a response tells its client in the Server-Timing header
// (W3C Server Timing), where browsers' developer tools and
// PerformanceResourceTiming.serverTiming show it. The zero value tells which trace
// the request belongs to and nothing else. Pages of another origin see it only if
// the response has a Timing-Allow-Origin header, which is the application's to set.
type ServerTiming struct {
	// Names are the measures that may be told: whole names, or beginnings of names
	// with a "*" behind. How long things take tells strangers about a service, so
	// there is no default. Outbound requests and spans of other instrumentation are
	// told by their entry's name as well. The attribute "desc" of a measure is its
	// description.
	//
	// The header has those that ended before the first byte of the response. Later
	// ones come in a trailer if the client accepts trailers. What is told is
	// recorded even of requests whose trace is not.
	Names []string

	// MaxBytes is how long the header's value may be, and the trailer's. 0 means
	// DefaultServerTimingBytes. A metric "omitted" counts what did not fit.
	MaxBytes int

	// NoTraceparent and NoTrace leave out the trace's id, by which a browser's
	// monitoring finds the trace: as the metric "traceparent", which most read
	// today, and as "trace", as Trace Context 3 has it.
	NoTraceparent, NoTrace bool
}

// DefaultServerTimingBytes leaves room for the rest of the header where proxies
// have 4 KiB for all of it.
const DefaultServerTimingBytes = 1024

const serverTimingKey = "Server-Timing"

// timingRules are a ServerTiming made ready to be applied.
type timingRules struct {
	ServerTiming
	exact    map[string]bool
	prefixes []string
	types    []observer.Type // that timelines record for it, whatever is sampled
}

func (c ServerTiming) rules() timingRules {
	if c.MaxBytes <= 0 {
		c.MaxBytes = DefaultServerTimingBytes
	}
	rules := timingRules{ServerTiming: c, exact: map[string]bool{}}
	for _, name := range c.Names {
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			rules.prefixes = append(rules.prefixes, prefix)
		} else {
			rules.exact[name] = true
		}
	}
	if len(c.Names) > 0 {
		rules.types = []observer.Type{observer.Measure, observer.Resource}
	}
	return rules
}

func (c *timingRules) allows(name string) bool {
	return c.exact[name] || slices.ContainsFunc(c.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// trailers reports whether a response to r may have a Server-Timing trailer.
func (c *timingRules) trailers(r *http.Request) bool {
	return len(c.types) > 0 && r.ProtoAtLeast(1, 1) && r.Method != http.MethodHead && accepts(r.Header["Te"], "trailers")
}

// accepts reports whether a list of tokens, perhaps with parameters, has one.
func accepts(fields []string, token string) bool {
	for _, f := range fields {
		for part := range strings.SplitSeq(f, ",") {
			name, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(name), token) {
				return true
			}
		}
	}
	return false
}

// timing is the Server-Timing of one response.
type timing struct {
	trailers bool             // later measures are announced as a trailer
	sent     []observer.Entry // in the header, kept for the trailer
}

// header adds the header before it is sent.
func (t *timing) header(q *request, res *response) {
	c := &q.m.timing
	var room [256]byte
	entries := c.entries(q.tl)
	value := c.appendEntries(c.appendTrace(room[:0], q.span), entries)
	if len(value) > 0 {
		h := res.Header()
		h[serverTimingKey] = append(h[serverTimingKey], string(value))
	}
	if !t.trailers {
		return
	}
	h := res.Header()
	switch {
	case res.status == http.StatusNoContent, res.status == http.StatusNotModified, res.status < 200,
		h.Get("Content-Length") != "": // HTTP/1 has trailers only where the length is not known
		t.trailers = false
	default:
		t.sent = entries
		h.Add("Trailer", serverTimingKey)
	}
}

// trailer sets the trailer when the handler is done. net/http sends the value that
// the announced field has then.
func (t *timing) trailer(q *request, res *response) {
	if !t.trailers || !res.begun {
		return
	}
	c := &q.m.timing
	value := c.appendEntries(nil, missing(c.entries(q.tl), t.sent))
	h := res.Header()
	if len(value) == 0 {
		h.Del(serverTimingKey)
		return
	}
	h.Set(serverTimingKey, string(value))
}

// entries are those of a timeline that may be told, by their start.
func (c *timingRules) entries(tl *observer.Timeline) []observer.Entry {
	if len(c.types) == 0 {
		return nil
	}
	all := tl.Entries(observer.Filter{Type: observer.Measure}, observer.Filter{Type: observer.Resource})
	return slices.DeleteFunc(all, func(e observer.Entry) bool { return !c.allows(e.Name()) })
}

// missing are the entries that are not among sent. Both are by start, and what was
// once recorded stays where it is, or is cleared.
func missing(all, sent []observer.Entry) (later []observer.Entry) {
	for _, e := range all {
		i := slices.IndexFunc(sent, func(s observer.Entry) bool {
			return e.Name() == s.Name() && e.StartTime() == s.StartTime() && e.Duration() == s.Duration()
		})
		if i < 0 {
			later = append(later, e)
			continue
		}
		sent = sent[i+1:]
	}
	return later
}

// appendTrace appends which trace a span belongs to, as far as there is room.
func (c *timingRules) appendTrace(value []byte, span trace.Span) []byte {
	if c.NoTraceparent && c.NoTrace {
		return value
	}
	sc := span.SpanContext()
	if !sc.IsValid() {
		return value
	}
	var room [55]byte
	tid, sid := sc.TraceID(), sc.SpanID()
	id := append(hex.AppendEncode(append(room[:0], "00-"...), tid[:]), '-')
	id = append(hex.AppendEncode(id, sid[:]), '-')
	id = hex.AppendEncode(id, []byte{byte(sc.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom))})
	if !c.NoTraceparent { // quoted: some readers look for the quotes
		value, _ = c.fit(value, append(append(append(next(value), `traceparent;desc="`...), id...), '"'), 0)
	}
	if !c.NoTrace {
		value, _ = c.fit(value, append(append(next(value), "trace;desc="...), id...), 0)
	}
	return value
}

// appendEntries appends measures, and how many found no room.
func (c *timingRules) appendEntries(value []byte, entries []observer.Entry) []byte {
	const reserve = len(", omitted;desc=1000000")
	omitted := 0
	for i := range entries {
		e := &entries[i]
		m := servertiming.Metric{Name: e.Name(), Duration: e.Duration(), HasDuration: true}
		for a := range e.Attrs() {
			if a.Key == "desc" {
				m.Description = a.Value.Resolve().String()
			}
		}
		var ok bool
		if value, ok = c.fit(value, servertiming.Append(next(value), m), reserve); !ok {
			omitted++
		}
	}
	if omitted > 0 {
		m := servertiming.Metric{Name: "omitted", Description: strconv.Itoa(omitted)}
		value, _ = c.fit(value, servertiming.Append(next(value), m), 0)
	}
	return value
}

// next is value with what stands before another metric.
func next(value []byte) []byte {
	if len(value) == 0 {
		return value
	}
	return append(value, ", "...)
}

// fit returns longer, which begins with value, if it leaves the reserve below
// MaxBytes, and else value.
func (c *timingRules) fit(value, longer []byte, reserve int) (_ []byte, ok bool) {
	if len(longer)+reserve > c.MaxBytes {
		return value, false
	}
	return longer, true
}
