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

// ServerTiming configures the Server-Timing header of responses (W3C Server Timing). The zero value
// sends no header. Browsers show the header in the developer tools and in
// PerformanceResourceTiming.serverTiming. Pages of another origin can read the header only if the
// response also contains Timing-Allow-Origin.
type ServerTiming struct {
	// Trace adds the metric "traceparent". A browser's monitoring can then find the trace of the
	// request. The metric's description is a traceparent of W3C Trace Context.
	Trace bool

	// Names lists the measures that the server sends to clients. An item is a whole name, or a
	// prefix followed by "*". By default, the server sends no measures, because durations reveal
	// facts about a service to strangers. The attribute "desc" of a measure becomes the metric's
	// description.
	//
	// Names also select outbound requests and sampled spans of other instrumentation, by the name
	// of the entry. The name of an outbound request is the URL. Therefore the item "*" reveals
	// internal URLs.
	//
	// The header contains the measures that ended before the first byte of the response. If the
	// client accepts trailers, a trailer contains later measures. An HTTP/1 response with a trailer
	// contains no Content-Length, unless the handler set Content-Length. The timeline records
	// selected measures and outbound requests even if the request's trace is not sampled.
	Names []string

	// MaxBytes limits the header's value and the trailer's value, in bytes. 0 means 1024, because
	// many proxies accept only 4 KiB for all headers together. The metric "omitted" counts the
	// measures that exceed the limit.
	MaxBytes int
}

const serverTimingKey = "Server-Timing"

// trailers reports whether a response to r may have a Server-Timing trailer.
func (c *ServerTiming) trailers(r *http.Request) bool {
	return len(c.Names) > 0 && r.ProtoAtLeast(1, 1) && r.Method != http.MethodHead &&
		accepts(r.Header["Te"], "trailers")
}

// accepts reports whether a list contains a token. Elements of the list may have parameters.
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

// A timing is the Server-Timing of one response.
type timing struct {
	room     [1]string // memory of the header's value
	trailers bool      // a trailer may contain later measures

	// Contents of the header; nil unless a trailer is announced. Without a new value, net/http
	// repeats the header's values in the trailer.
	metrics map[sentMetric]int
	fields  map[string]int // a map, because a proxy's header may have many values
}

// A sentMetric identifies an entry in the header.
type sentMetric struct {
	name            string
	start, duration time.Duration
}

func sentMetricOf(e *observer.Entry) sentMetric {
	return sentMetric{e.Name(), e.StartTime(), e.Duration()}
}

// header adds Server-Timing to the header before the header is sent. Without a metric or a trailer
// it does not access the header.
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
		// First, because readers use the first metric of a name. The handler may have copied its
		// own values from another server.
		h[serverTimingKey] = append(append(t.room[:0], string(value)), h[serverTimingKey]...)
	}
	if res.status == http.StatusNoContent || res.status == http.StatusNotModified ||
		res.status < 200 || h.Get("Content-Length") != "" {
		t.trailers = false // no body, or HTTP/1 with a known length
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

// trailer sets the trailer after the handler. net/http then sends the values of the announced
// field.
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

// entries returns the timeline's entries that Names selects, by their start.
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

// appendTrace begins a value with the metric traceparent, if there is room.
func (c *ServerTiming) appendTrace(value []byte, sc trace.SpanContext) []byte {
	if !sc.IsValid() {
		return value
	}
	tid, sid, b := sc.TraceID(), sc.SpanID(), value
	b = append(b, `traceparent;desc="00-`...) // quoted, because some readers require quotes
	b = append(hex.AppendEncode(b, tid[:]), '-')
	b = append(hex.AppendEncode(b, sid[:]), '-')
	flags := sc.TraceFlags() & (trace.FlagsSampled | trace.FlagsRandom)
	b = hex.AppendEncode(b, []byte{byte(flags)})
	if b = append(b, '"'); len(b) > c.MaxBytes {
		return value
	}
	return b
}

// appendEntries appends the entries as metrics, and the number of entries without room.
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
		for a := range (*record.Entry)(e).Attrs() {
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
