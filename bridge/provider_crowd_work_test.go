package bridge_test

import (
	"fmt"
	"github.com/perfline/perfline/internal/record"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanfuzz"
)

// A worker is a goroutine of a crowd. It does what its bytes say.
type worker struct {
	*crowd
	spanfuzz.Source
	mu    *sync.RWMutex // held for reading while a member that others see is used
	open  *[]*member    // that have started
	calls int

	bursted bool
}

const goroutines = 4

// work runs, in a bubble, the goroutines of a crowd until they have used their bytes, and checks what came of it.
func work(t *testing.T, data []byte) {
	t.Helper()
	config := spanfuzz.Source{Data: data}
	c := newCrowd(t, config.Byte())
	var mu sync.RWMutex
	var started []*member
	for range 1 + config.Below(4) { // all goroutines use these from the beginning
		started = append(started, c.start(nil, config.Below(2), words[config.Below(len(words))]))
	}
	var wg sync.WaitGroup
	for i := range goroutines {
		part := len(config.Data) / goroutines
		w := &worker{crowd: c, Source: spanfuzz.Source{Data: config.Data[i*part : (i+1)*part]}, mu: &mu, open: &started}
		wg.Go(w.run)
	}
	wg.Wait()
	synctest.Wait() // a sweep may run that was due when the last worker was
	c.checkEnded()
	c.check()
	for i, m := range c.all() { // late ends
		if i%3 != 0 {
			m.end()
		}
	}
	c.checkEnded()
	c.check()
	if err := c.provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for _, m := range c.all() { // nothing leaves a provider that is shut down
		m.end()
	}
}

var words = []string{"sample", "sample", "sample", "record", "drop"}

func (w *worker) run() {
	for len(w.Data) > 0 && w.calls < 100 {
		w.calls++
		w.step()
	}
}

// any returns a span that has started, most often a young one.
func (w *worker) any() *member {
	w.mu.RLock()
	defer w.mu.RUnlock()
	all := *w.open
	if i := w.Below(8); i < len(all) {
		return all[len(all)-1-i]
	}
	return all[w.Below(min(256, len(all)))]
}

func (w *worker) add(m *member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.open = append(*w.open, m)
}

func (w *worker) step() {
	m := w.any()
	switch op := w.Below(24); {
	case op < 6:
		w.startOne(m)
	case op < 8:
		attrs := make([]attribute.KeyValue, 1+w.Below(3))
		for i := range attrs {
			attrs[i] = attribute.Int(fmt.Sprintf("%s%p %d %d", m.late(), w, w.calls, i), m.tag)
		}
		m.attributes.add(len(attrs), func() { m.span.SetAttributes(attrs...) })
	case op < 11:
		options := []trace.EventOption{trace.WithAttributes(attribute.Int("tag", m.tag))}
		name := m.late() + "event"
		if w.Below(4) == 0 {
			m.events.add(1, func() { m.span.RecordError(fmt.Errorf("%s", name), options...) })
			return
		}
		m.events.add(1, func() { m.span.AddEvent(name, options...) })
	case op < 12:
		l := trace.Link{Attributes: []attribute.KeyValue{attribute.Int(m.late()+"tag", m.tag)}}
		m.links.add(1, func() { m.span.AddLink(l) })
	case op < 13:
		m.span.SetName(fmt.Sprintf("%srenamed %d", m.late(), m.tag))
	case op < 14:
		m.span.SetStatus(codes.Error, fmt.Sprintf("%sstatus %d", m.late(), m.tag))
	case op < 17:
		m.end()
	case op < 18:
		for range 8 {
			w.endAtOnce(w.start(m, 0, "sample"))
		}
	case op < 19:
		w.flush()
	case op < 20:
		time.Sleep([]time.Duration{1, 3 * time.Second}[w.Below(2)])
	case op < 21:
		w.read(m)
	case op < 22:
		p := &recorder{}
		w.provider.RegisterSpanProcessor(p)
		m.end()
		w.provider.UnregisterSpanProcessor(p)
	case op < 23:
		w.provider.Tracer(w.Text())
		(*record.Timeline)(w.timeline).UnitStats()
	default:
		if w.Below(16) == 0 && !w.bursted { // it takes long
			w.bursted = true
			for range 600 {
				w.start(m, 0, "sample").end()
			}
		}
	}
}

// endAtOnce ends a span on several goroutines, while others add to it.
func (w *worker) endAtOnce(m *member) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			<-start
			switch i {
			case 0:
				m.attributes.add(1, func() { m.span.SetAttributes(attribute.Int("at once", m.tag)) })
			case 1, 2:
				for range 20 { // likely at the very end, too
					m.events.add(1, func() { m.span.AddEvent("event") })
				}
			case 3:
				m.links.add(1, func() { m.span.AddLink(trace.Link{Attributes: []attribute.KeyValue{attribute.Int("tag", m.tag)}}) })
			default:
				m.end()
			}
		})
	}
	close(start)
	wg.Wait()
}

// late says whether a call comes after the end of the span.
func (m *member) late() string {
	if m.closed.Load() {
		return "late "
	}
	return ""
}

func (w *worker) startOne(under *member) {
	var options []trace.SpanStartOption
	switch w.Below(8) {
	case 0:
		under = nil
	case 1:
		options = append(options, trace.WithNewRoot())
	}
	w.add(w.start(under, w.Below(2), words[w.Below(len(words))], options...))
}

// read reads a span that others change.
func (w *worker) read(m *member) {
	span, ok := m.span.(sdktrace.ReadWriteSpan)
	if ok != m.recorded {
		w.t.Errorf("span %d can be read: %t, want %t", m.tag, ok, m.recorded)
	}
	if ok {
		w.checkPieces(m, span.Name(), span.Status(), span.Attributes(), span.Events(), span.Links())
		_, _, _ = span.DroppedAttributes(), span.DroppedEvents(), span.DroppedLinks()
	}
}
