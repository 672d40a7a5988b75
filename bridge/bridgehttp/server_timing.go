package bridgehttp

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp/internal/servertiming"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// ServerTiming says what a response tells its client in the Server-Timing header (W3C Server
// Timing). Browsers show the header in their developer tools and in
// PerformanceResourceTiming.serverTiming. Pages of another origin see it only if the response has a
// Timing-Allow-Origin header, which is the application's to set. With the zero value, responses
// have no such header.
type ServerTiming struct {
	// Trace adds the metric "traceparent", by which a browser's monitoring finds the trace of the
	// request. Its description is a traceparent of W3C Trace Context.
	Trace bool

	// Names are the measures that may be told: whole names, or beginnings of names with a "*"
	// behind. How long things take tells strangers about a service, so there is no default. The
	// attribute "desc" of a measure is its description.
	//
	// Outbound requests and sampled spans of other instrumentation are told by their entry's name,
	// too. The name of an outbound request is its URL, which may be an internal one: mind that with
	// "*" alone.
	//
	// The header has the measures that ended before the first byte of the response. Later measures
	// come in a trailer if the client accepts trailers. Over HTTP/1 a response with a trailer goes
	// without its Content-Length, unless the handler set that. Measures and outbound requests with
	// these names are recorded even of requests whose trace is not.
	Names []string

	// MaxBytes is how long the header's value may be, and the trailer's. 0 means 1024, which leaves
	// room for the rest of the header where proxies have 4 KiB for all of it. A metric "omitted"
	// counts what did not fit.
	MaxBytes int
}

const serverTimingKey = "Server-Timing"

// trailers reports whether a response to r may have a Server-Timing trailer.
func (c *ServerTiming) trailers(r *http.Request) bool {
	return len(c.Names) > 0 && r.ProtoAtLeast(1, 1) && r.Method != http.MethodHead &&
		accepts(r.Header["Te"], "trailers")
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
	room     [1]string // of the header, which most often has no more values
	trailers bool      // later measures may be in a trailer

	// What the header has; nil unless a trailer is announced. net/http sends the header's fields as
	// the trailer too, unless the field is set anew.
	metrics map[sentMetric]int
	fields  map[string]int // a proxy's header may have very many
}

// A sentMetric identifies an entry that the header has.
type sentMetric struct {
	name            string
	start, duration time.Duration
}

func sentMetricOf(e *observer.Entry) sentMetric {
	return sentMetric{e.Name(), e.StartTime(), e.Duration()}
}

// header adds the header before it is sent. It does not look at the response's header if there is
// nothing to tell.
func (t *timing) header(q *request, res *response) {
	c := &q.m.ServerTiming
	if !c.Trace && len(c.Names) == 0 {
		return
	}
	var room [256]byte
	value := room[:0]
	if c.Trace {
		var sc trace.SpanContext
		q.m.timeline.Try(serving.OfSpan, func() { sc = q.span.SpanContext() })
		value = c.appendTrace(value, sc)
	}
	entries := c.entries(q.tl)
	value = c.appendEntries(value, entries)
	if len(value) == 0 && !t.trailers {
		return
	}
	h := res.Header()
	if len(value) > 0 {
		// First, because readers take the first metric of a name. The handler's own header may come
		// from another server.
		h[serverTimingKey] = append(append(t.room[:0], string(value)), h[serverTimingKey]...)
	}
	if res.status == http.StatusNoContent || res.status == http.StatusNotModified ||
		res.status < 200 ||
		h.Get("Content-Length") != "" { // HTTP/1 has trailers only where the length is not known
		t.trailers = false
	}
	announced := accepts(h["Trailer"], serverTimingKey)
	if t.trailers && !announced {
		h.Add("Trailer", serverTimingKey)
	}
	if t.trailers || announced {
		t.metrics, t.fields = map[sentMetric]int{}, map[string]int{}
		for i := range entries {
			t.metrics[sentMetricOf(&entries[i])]++
		}
		for _, v := range h[serverTimingKey] {
			t.fields[v]++
		}
	}
}

// trailer sets the trailer when the handler is done: net/http sends the values that the announced
// field has then.
func (t *timing) trailer(q *request, res *response) {
	if t.fields == nil {
		return
	}
	h := res.Header()
	var values []string
	for _, v := range h[serverTimingKey] {
		if t.fields[v]--; t.fields[v] < 0 {
			values = append(values, v)
		}
	}
	if t.trailers {
		c := &q.m.ServerTiming
		later := slices.DeleteFunc(c.entries(q.tl), func(e observer.Entry) bool {
			k := sentMetricOf(&e)
			t.metrics[k]--
			return t.metrics[k] >= 0
		})
		if value := c.appendEntries(nil, later); len(value) > 0 {
			values = append(values, string(value))
		}
	}
	if len(values) == 0 {
		h.Del(serverTimingKey)
		return
	}
	h[serverTimingKey] = values
}

// entries returns a timeline's entries that the header may have, by their start.
func (c *ServerTiming) entries(tl *record.Timeline) []observer.Entry {
	if len(c.Names) == 0 {
		return nil
	}
	all := (*observer.Timeline)(tl).Entries(observer.Filter{Type: observer.Measure},
		observer.Filter{Type: observer.Resource})
	return slices.DeleteFunc(all, func(e observer.Entry) bool {
		return !text.Matches(c.Names, e.Name())
	})
}

// appendTrace begins a value with the trace that a span belongs to, as far as there is room.
func (c *ServerTiming) appendTrace(value []byte, sc trace.SpanContext) []byte {
	if !sc.IsValid() {
		return value
	}
	tid, sid, b := sc.TraceID(), sc.SpanID(), value
	b = append(b, `traceparent;desc="00-`...) // quoted: some readers look for the quotes
	b = append(hex.AppendEncode(b, tid[:]), '-')
	b = append(hex.AppendEncode(b, sid[:]), '-')
	b = hex.AppendEncode(b,
		[]byte{byte(sc.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom))})
	if b = append(b, '"'); len(b) > c.MaxBytes {
		return value
	}
	return b
}

// appendEntries appends measures, and how many found no room.
func (c *ServerTiming) appendEntries(value []byte, entries []observer.Entry) []byte {
	fit := func(m servertiming.Metric, reserve int) bool {
		longer := value
		if len(value) > 0 {
			longer = append(longer, ", "...)
		}
		longer = servertiming.Append(longer, m)
		if len(longer)+reserve > c.MaxBytes {
			return false
		}
		value = longer
		return true
	}
	omitted := 0
	for i := range entries {
		e := &entries[i]
		m := servertiming.Metric{Name: e.Name(), Duration: e.Duration(), HasDuration: true}
		for a := range e.Attrs() {
			if a.Key == "desc" {
				m.Description = a.Value.String()
			}
		}
		if !fit(m, len(", omitted;desc=1000000")) {
			omitted++
		}
	}
	if omitted > 0 {
		fit(servertiming.Metric{Name: "omitted", Description: strconv.Itoa(omitted)}, 0)
	}
	return value
}
