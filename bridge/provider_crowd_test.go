package bridge_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/observer"
)

// A crowd is several goroutines that work on the same spans of our provider. Each piece of data has the tag of its span, so
// that a piece in another span is found.
type crowd struct {
	t        *testing.T
	limits   sdktrace.SpanLimits
	timeline *observer.Timeline
	provider *bridge.TracerProvider
	tracers  [2]trace.Tracer
	exported *output
	recorded *output

	mu      sync.Mutex // guards what follows
	members []*member
	seen    map[spanKey]int                     // spans that are exported, and how often
	ended   map[spanKey][]sdktrace.ReadOnlySpan // spans that a processor received
	ids     map[trace.TraceID]uint64            // the last id of a span in each trace
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

// A member is a span, with what the program knows of it.
type member struct {
	tag      int
	ctx      context.Context
	span     trace.Span
	parent   trace.SpanContext
	unit     int  // the tag of its local root, 0 without one
	recorded bool // and perhaps sampled

	attributes, events, links tally
	ends                      atomic.Int64 // calls of End
	closed                    atomic.Bool  // a call of End has returned
}

func (m *member) key() spanKey {
	return spanKey{m.span.SpanContext().TraceID(), m.span.SpanContext().SpanID()}
}

// A tally bounds how many pieces a span has received before its end.
type tally struct {
	begun, done atomic.Int64
	mu          sync.Mutex
	bounded     bool
	least, most int64
}

// add counts n pieces that f adds.
func (t *tally) add(n int, f func()) {
	t.begun.Add(int64(n))
	f()
	t.done.Add(int64(n))
}

// end takes the numbers from before and from after a call of End. The strictest ones count.
func (t *tally) end(least, most int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.bounded {
		t.bounded, t.least, t.most = true, least, most
		return
	}
	t.least, t.most = min(t.least, least), min(t.most, most)
}

// byName decides by the first word of a span's name.
type byName struct{}

func (byName) Description() string { return "by name" }

func (byName) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	switch word, _, _ := strings.Cut(p.Name, " "); word {
	case "drop":
		return sdktrace.SamplingResult{Decision: sdktrace.Drop}
	case "record":
		return sdktrace.SamplingResult{Decision: sdktrace.RecordOnly}
	default:
		return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
	}
}

// NewIDs and NewSpanID make ids of spans that are unique in their trace only.
func (c *crowd) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	c.mu.Lock()
	binary.BigEndian.PutUint64(t[:], uint64(len(c.ids)+1))
	c.ids[t] = 0
	c.mu.Unlock()
	return t, c.NewSpanID(ctx, t)
}

func (c *crowd) NewSpanID(_ context.Context, t trace.TraceID) (s trace.SpanID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[t]++
	binary.BigEndian.PutUint64(s[:], c.ids[t])
	return s
}

func (c *crowd) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c *crowd) ForceFlush(context.Context) error                { return nil }
func (c *crowd) Shutdown(context.Context) error                  { return nil }

func (c *crowd) OnEnd(s sdktrace.ReadOnlySpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := spanKey{s.SpanContext().TraceID(), s.SpanContext().SpanID()}
	c.ended[key] = append(c.ended[key], s)
}

// newCrowd takes its configuration from the first bytes.
func newCrowd(t *testing.T, config byte) *crowd {
	t.Helper()
	c := &crowd{
		t: t, limits: sdktrace.NewSpanLimits(), timeline: observer.NewTimeline(observer.TimelineOptions{}), exported: &output{}, recorded: &output{},
		seen: map[spanKey]int{}, ended: map[spanKey][]sdktrace.ReadOnlySpan{}, ids: map[trace.TraceID]uint64{},
	}
	if config&1 != 0 {
		c.limits.AttributeCountLimit, c.limits.EventCountLimit, c.limits.LinkCountLimit = 4, int(config>>1&3), int(config>>3&3)
	}
	pc := bridge.TracerProviderConfig{
		Timeline: c.timeline, Sampler: byName{}, Limits: &c.limits, IDs: c, Exporters: []bridge.Output{c.exported}, Processors: []sdktrace.SpanProcessor{c},
	}
	if config&32 != 0 {
		pc.Recorders = []bridge.Output{c.recorded}
	}
	c.exported.accepted = func(s bridge.Spans) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for span, err := range otlpenc.Spans(s).All() {
			if err != nil {
				t.Error(err)
			}
			c.seen[spanKey{span.TraceID, span.SpanID}]++
		}
	}
	c.provider = bridge.NewTracerProvider(pc)
	c.tracers = [2]trace.Tracer{c.provider.Tracer("shop"), c.provider.Tracer("payment")}
	return c
}

// start starts a span under another one, or under none if parent is nil.
func (c *crowd) start(parent *member, tracer int, word string, options ...trace.SpanStartOption) *member {
	m := &member{recorded: word != "drop"}
	ctx := context.Background()
	if parent != nil {
		ctx = parent.ctx
	}
	if config := trace.NewSpanStartConfig(options...); !config.NewRoot() && parent != nil {
		m.parent, m.unit = trace.SpanContextFromContext(ctx), parent.unit
	}
	c.mu.Lock()
	m.tag = len(c.members) + 1
	c.members = append(c.members, m)
	c.mu.Unlock()
	if m.unit == 0 && m.recorded {
		m.unit = m.tag
	}
	m.attributes.add(1, func() {
		m.ctx, m.span = c.tracers[tracer].Start(ctx, fmt.Sprintf("%s %d", word, m.tag), append(options, trace.WithAttributes(attribute.Int("tag", m.tag)))...)
	})
	return m
}

// end ends a span, perhaps again.
func (m *member) end(options ...trace.SpanEndOption) {
	m.ends.Add(1)
	defer m.ends.Add(-1)
	tallies := []*tally{&m.attributes, &m.events, &m.links}
	var least [3]int64
	for i, t := range tallies {
		least[i] = t.done.Load()
	}
	m.span.End(options...)
	for i, t := range tallies {
		t.end(least[i], t.begun.Load())
	}
	m.closed.Store(true)
}

// flush flushes the provider. It exports the spans that had ended before. A span has ended when all calls of End have
// returned: the first one may still hand it over.
func (c *crowd) flush() {
	var ended []*member
	for _, m := range c.all() {
		if m.closed.Load() && m.ends.Load() == 0 && m.span.SpanContext().IsSampled() {
			ended = append(ended, m)
		}
	}
	if err := c.provider.ForceFlush(context.Background()); err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range ended {
		if c.seen[m.key()] != 1 {
			c.t.Errorf("span %d ended before a flush, and is exported %d times after it, want 1", m.tag, c.seen[m.key()])
		}
	}
}

// checkEnded checks that spans are exported without a flush soon after their local root has ended. No other goroutine runs.
func (c *crowd) checkEnded() {
	c.t.Helper()
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	all := c.all()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range all {
		if m.closed.Load() && m.span.SpanContext().IsSampled() && all[m.unit-1].closed.Load() && c.seen[m.key()] != 1 {
			c.t.Errorf("span %d has ended, its local root %d too, and it is exported %d times, want 1", m.tag, m.unit, c.seen[m.key()])
		}
	}
}

func (c *crowd) all() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[:len(c.members):len(c.members)]
}
