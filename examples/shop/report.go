package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/observer"
)

// A measureTable sums up what took time, as an observer of the process timeline is
// given it: the measures of all requests, their queries and calls, and garbage
// collections.
type measureTable struct {
	mu     sync.Mutex // guards byName
	byName map[string]*histogram
}

func watchMeasures(tl *observer.Timeline) (*measureTable, error) {
	t := &measureTable{byName: map[string]*histogram{}}
	_, err := tl.Observe(func(l observer.List) { t.add(l.Entries()) }, observer.Options{
		Types: []observer.Type{observer.Measure, observer.Resource, observer.Server, observer.GC},
	})
	return t, err
}

func (t *measureTable) add(entries []observer.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		name := string(e.Type()) + "\t" + e.Name()
		if e.Type() == observer.Server && e.Duration() == 0 {
			continue // tells which trace the answer belongs to
		}
		h := t.byName[name]
		if h == nil {
			h = &histogram{}
			t.byName[name] = h
		}
		h.add(e.Duration())
	}
}

func report(w io.Writer, l *load, m *measureTable) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\nroute\trequests\terrors\tp50\tp99\tmax\t")
	l.mu.Lock()
	for _, route := range slices.Sorted(maps.Keys(l.routes)) {
		s := l.routes[route]
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%s\t%s\t\n", route, s.times.count, s.errors,
			ms(s.times.quantile(.5)), ms(s.times.quantile(.99)), ms(s.times.max))
	}
	skipped := l.skipped
	l.mu.Unlock()
	_ = tw.Flush() // a terminal does not fail

	fmt.Fprintln(tw, "\nentry\tname\tcount\tp50\tp99\tmax\t")
	m.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(m.byName)) {
		h := m.byName[name]
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t\n", name, h.count, ms(h.quantile(.5)),
			ms(h.quantile(.99)), ms(h.max))
	}
	m.mu.Unlock()
	_ = tw.Flush()
	if skipped > 0 {
		fmt.Fprintf(w, "\n%d requests were not sent: %d were under way already, the most the load allows.\n", skipped, maxInFlight)
	}
}

func reportDelivery(w io.Writer, s perfline.Stats) {
	t, b, d := s.Timeline.Total(), s.Bridge, s.Delivery
	fmt.Fprintf(w, "\n%d entries recorded: %d marks became span events, %d measures became spans, %d marks had no span.\n",
		t.Recorded, b.MarkEvents, b.MeasureSpans, b.MarksWithoutSpan)
	if d.Accepted > 0 {
		fmt.Fprintf(w, "%d spans for the backend: %d delivered, %d lost.\n", d.Accepted,
			d.Delivered, d.Lost())
	} else {
		fmt.Fprintln(w, "No backend is configured: set OTEL_EXPORTER_OTLP_ENDPOINT to send the traces to one.")
	}
	if f := s.Profiles; f.Accepted > 0 {
		fmt.Fprintf(w, "%d profiles for Pyroscope: %d delivered, %d lost.\n", f.Accepted,
			f.Delivered, f.Lost())
		if f.Lost() > 0 || f.Retries > 0 {
			fmt.Fprintf(w, "Of profiles: %d refused, %d unanswered, %d dropped at the full queue, %d given up at the end; sent again %d times.\n",
				f.Refused, f.Unanswered, f.Dropped, f.Pending, f.Retries)
		}
	}
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%.2fms", float64(d)/float64(time.Millisecond))
}
