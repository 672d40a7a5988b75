package bridge_test

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// check compares what has left the provider with what the program knows.
func (c *crowd) check() {
	c.t.Helper()
	if err := c.provider.ForceFlush(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	members := map[spanKey]*member{}
	for _, m := range c.all() {
		members[m.key()] = m
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	exported := c.checkOutput("exported", c.exported, members)
	recorded := c.checkOutput("recorded", c.recorded, members)
	for key, m := range members {
		once := 0
		if m.closed.Load() && m.recorded {
			once = 1
		}
		if got := len(c.ended[key]); got != once {
			c.t.Errorf("a processor received span %d %d times, want %d", m.tag, got, once)
		}
		if got := recorded[key]; len(c.recorded.spans) > 0 && got != once {
			c.t.Errorf("span %d is recorded %d times, want %d", m.tag, got, once)
		}
		if !m.span.SpanContext().IsSampled() {
			once = 0
		}
		if got := exported[key]; got != once {
			c.t.Errorf("span %d is exported %d times, want %d", m.tag, got, once)
		}
	}
	for _, spans := range c.ended {
		for _, s := range spans {
			if m := members[spanKey{s.SpanContext().TraceID(), s.SpanContext().SpanID()}]; m != nil {
				c.checkPieces(m, s.Name(), s.Status(), s.Attributes(), s.Events(), s.Links())
			}
		}
	}
}

// checkOutput returns how often each span is in the output. c.mu is held.
func (c *crowd) checkOutput(what string, o *output, members map[spanKey]*member) map[spanKey]int {
	c.t.Helper()
	found := map[spanKey]int{}
	for _, part := range o.spans {
		unit, count := 0, 0
		for s, err := range otlpenc.Spans(part).All() {
			if err != nil {
				c.t.Fatal(err)
			}
			key := spanKey{s.TraceID, s.SpanID}
			found[key]++
			count++
			m := members[key]
			switch {
			case m == nil:
				c.t.Fatalf("%s: a span that the program does not know: %+v", what, s)
			case unit == 0:
				unit = m.unit
			case unit != m.unit:
				c.t.Errorf("%s: span %d of unit %d is with the spans of unit %d", what, m.tag, m.unit, unit)
			}
			c.checkSpan(what, m, &s)
		}
		if count != part.Count {
			c.t.Errorf("%s: %d spans, but their number is %d", what, count, part.Count)
		}
	}
	return found
}

func (c *crowd) checkSpan(what string, m *member, s *otlpenc.Span) {
	c.t.Helper()
	if s.ParentID != m.parent.SpanID() {
		c.t.Errorf("%s: span %d has the parent %s, want %s", what, m.tag, s.ParentID, m.parent.SpanID())
	}
	if s.TraceFlags != m.span.SpanContext().TraceFlags() {
		c.t.Errorf("%s: span %d has the flags %s, want %s", what, m.tag, s.TraceFlags, m.span.SpanContext().TraceFlags())
	}
	c.checkPieces(m, s.Name, s.Status, s.Attributes, s.Events, s.Links)
	c.checkTally(m, "attributes", &m.attributes, len(s.Attributes), s.DroppedAttributes, c.limits.AttributeCountLimit)
	c.checkTally(m, "events", &m.events, len(s.Events), s.DroppedEvents, c.limits.EventCountLimit)
	c.checkTally(m, "links", &m.links, len(s.Links), s.DroppedLinks, c.limits.LinkCountLimit)
	key := spanKey{s.TraceID, s.SpanID}
	for _, p := range c.ended[key] {
		if len(p.Attributes()) != len(s.Attributes) || len(p.Events()) != len(s.Events) || len(p.Links()) != len(s.Links) || p.Name() != s.Name {
			c.t.Errorf("%s: span %d is not as the processor saw it", what, m.tag)
		}
	}
}

func (c *crowd) checkTally(m *member, what string, t *tally, left, dropped, limit int) {
	c.t.Helper()
	if sum := int64(left + dropped); sum < t.least || sum > t.most {
		c.t.Errorf("span %d has %d %s and dropped %d, want a sum from %d to %d", m.tag, left, what, dropped, t.least, t.most)
	}
	if left > limit || left < limit && dropped > 0 {
		c.t.Errorf("span %d has %d %s and dropped %d, with a limit of %d", m.tag, left, what, dropped, limit)
	}
}

// checkPieces checks that each piece of a span is its own, and came before its end.
func (c *crowd) checkPieces(m *member, name string, status sdktrace.Status, attrs []attribute.KeyValue, events []sdktrace.Event, links []sdktrace.Link) {
	c.t.Helper()
	texts := []string{name, status.Description}
	for _, text := range texts {
		if tag := fmt.Sprint(" ", m.tag); text != "" && !strings.HasSuffix(text, tag) {
			c.t.Errorf("span %d has the name or status %q", m.tag, text)
		}
	}
	all := [][]attribute.KeyValue{attrs}
	for _, e := range events {
		texts = append(texts, e.Name)
		all = append(all, e.Attributes)
	}
	for _, l := range links {
		all = append(all, l.Attributes)
	}
	for _, attrs := range all {
		keys := map[attribute.Key]bool{}
		for _, kv := range attrs {
			if keys[kv.Key] {
				c.t.Errorf("span %d has the key %q twice", m.tag, kv.Key)
			}
			keys[kv.Key] = true
			texts = append(texts, string(kv.Key))
			if kv.Value.Type() == attribute.STRING { // of an exception
				texts = append(texts, kv.Value.AsString())
			} else if kv.Value.AsInt64() != int64(m.tag) {
				c.t.Errorf("span %d has %s=%d, which is of another span", m.tag, kv.Key, kv.Value.AsInt64())
			}
		}
	}
	for _, text := range texts {
		if strings.HasPrefix(text, "late ") {
			c.t.Errorf("span %d has %q, which came after its end", m.tag, text)
		}
	}
}
