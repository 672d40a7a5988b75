package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// serviceText is what one service takes and holds.
func serviceText(o options, c *curve) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s, by `go run -C integration ./scale -length %v -rounds %d`. A request makes %d spans and %d events where there is telemetry. ",
		machine(), o.length, o.rounds, trial.SpansOfRequest, trial.Marks)
	fmt.Fprintf(&out, "A rate is held when no request fails, p99 since a request was due is at most %s, at the end no more requests wait than are due in %s, and no span is lost; one that is not is tried once more. Figures at a rate are medians of the rounds that held it. ",
		duration(heldP99), duration(heldBacklog))
	fmt.Fprintf(&out, "“Highest” is a lower bound: the load, the Collector and what is behind it take of the same %d cores.\n\n", runtime.NumCPU())
	out.WriteString(c.highestTable().String())
	out.WriteString("\nThe same at the rates that were tried with all, the median of the rounds:\n\n")
	out.WriteString(c.ratesTable().String())
	fmt.Fprintf(&out, "\nAt %s requests/s, with %d processors:\n\n", number(float64(c.rate)), runtime.NumCPU())
	out.WriteString(c.waysTable().String())
	return out.String()
}

func (c *curve) highestTable() *table {
	t := &table{}
	t.add("processors, telemetry", "highest rate held, requests/s", "of that without", "what gave way above", "p50", "p99", "CPU a request", "bytes a request on the wire", "spans a request")
	for _, s := range c.subjects {
		if s.search == nil {
			continue
		}
		label := fmt.Sprintf("%d, %s", s.procs, s.way.name)
		m, ok := s.heldAt()
		if !ok {
			t.add(label, "none", none, s.failed.why(), none, none, none, none, none)
			continue
		}
		above := s.failed.why()
		if math.IsInf(s.search.not, 1) {
			above = "nothing: no higher rate was tried"
		}
		t.add(label, number(s.search.held), ratio(s.search.held, c.find(curveWays[0].name, s.procs).search.held), above,
			duration(m.p50), duration(m.p99), duration(m.cpu), number(m.wire), number(m.spans))
	}
	return t
}

func (c *curve) ratesTable() *table {
	t := &table{}
	head := []string{"processors, requests/s"}
	for _, w := range curveWays {
		head = append(head, "p99 "+w.name)
	}
	for _, w := range curveWays {
		head = append(head, "CPU a request "+w.name)
	}
	t.add(append(head, curveWays[1].name+" adds", "of what "+curveWays[2].name+" adds")...)
	for _, procs := range processors(runtime.NumCPU()) {
		for _, rate := range c.rates() {
			var p99, cpu []string
			var took []time.Duration
			for _, w := range curveWays {
				m, ok := c.find(w.name, procs).at(rate)
				if !ok || m.why() != "" {
					p99, cpu = append(p99, none), append(cpu, none)
					continue
				}
				p99, cpu = append(p99, duration(m.p99)), append(cpu, duration(m.cpu))
				took = append(took, m.cpu)
			}
			if len(took) == 0 {
				continue
			}
			adds, of := none, none
			if len(took) == len(curveWays) {
				adds, of = duration(took[1]-took[0]), ratio(float64(took[1]-took[0]), float64(max(0, took[2]-took[0])))
			}
			t.add(slices.Concat([]string{fmt.Sprintf("%d, %s", procs, number(float64(rate)))}, p99, cpu, []string{adds, of})...)
		}
	}
	return t
}

func (c *curve) waysTable() *table {
	t := &table{}
	t.add("telemetry", "p50", "p99", "CPU a request", "of that without", "memory, at most", "bytes a request on the wire", "spans a request", "spans lost")
	without, _ := c.find(curveWays[0].name, runtime.NumCPU()).at(c.rate)
	for _, s := range c.subjects {
		m, ok := s.at(c.rate)
		if s.procs != runtime.NumCPU() || !ok {
			continue
		}
		t.add(s.way.name, duration(m.p50), duration(m.p99), duration(m.cpu), ratio(float64(m.cpu), float64(without.cpu)),
			size(float64(m.memory)), number(m.wire), number(m.spans), number(float64(m.lost)))
	}
	return t
}

// collectorText is what one Collector carries.
func collectorText(o options, targets []*target, sh shopped) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s: batches of %d of the shop's spans, %s a span, sent over %d connections at rates that double, %v each, through the Collector of deploy/collector.yaml. ",
		machine(), sh.batch.spans(), size(float64(len(sh.batch.request))/float64(sh.batch.spans())), connections, o.length)
	fmt.Fprintf(&out, "A rate is held when nothing is refused, p99 of the answers is at most %s, and as long after the end no more is left in the Collector's queue than it is to take in %s. ", duration(heldSpans), duration(heldQueue))
	out.WriteString("“Highest” is a lower bound, as above; CPU a span depends little on the others, and a core has as many spans as fit into a second of it.\n\n")
	t := &table{}
	t.add("the spans go to", "highest rate held, spans/s", "what gave way above", "p99 of the answers", "CPU of the Collector a span", "spans/s and core", "memory of the Collector, at most", "CPU of what is behind it a span")
	for _, target := range targets {
		best, ok := target.best()
		if !ok {
			t.add(target.name, "none", target.failed.why(), none, none, none, none, none)
			continue
		}
		above, behind := target.failed.why(), none
		if math.IsInf(target.search.not, 1) {
			above = "nothing: no higher rate was tried"
		}
		if target.jaeger != nil {
			behind = duration(best.jaegerCPU)
		}
		t.add(target.name, number(best.rate), above, duration(best.p99), duration(best.cpu), number(perCore(best.cpu)), size(float64(best.memory)), behind)
	}
	out.WriteString(t.String())
	return out.String()
}

// perCore is how many times a second of CPU holds d.
func perCore(d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(time.Second) / float64(d)
}

// storageText is what is stored.
func storageText(o options, m measured, sh shopped) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s. Spans are the shop's; profiles are what it sent in %v at %d requests/s, uploaded each %v: %d of all types.\n\n",
		machine(), sh.length, shopRate, sh.interval, sh.profiles)
	t := &table{explained: true}
	t.add("what", "bytes", "how")
	t.add("a span in OTLP, not compressed", number(sh.spanBytes), "measured: all of the shop's")
	t.add("a span in the Collector's memory", number(m.inMemory), "measured: the heap that decoded batches take, of the Collector's own types")
	t.add("a span on Jaeger's disk, with Badger", number(m.onDisk), fmt.Sprintf("measured: the folder's files after %s spans and an orderly end", number(float64(o.disk))))
	t.add("a span on ClickHouse's disk, with Jaeger", number(clickHouseSpan), "public figure")
	t.add("a span in Tempo's blocks", number(tempoSpan), "estimated: of a public figure of 2022")
	t.add("a profile on the wire", number(sh.profileWire), "measured: with HTTP's headers, compressed")
	t.add("a profile on Pyroscope's disk", number(sh.profileStored), "measured: the folder's files after an orderly end, of one service, without compaction")
	out.WriteString(t.String())
	return out.String()
}

// shares of requests that are sampled, for the fleet's columns.
var shares = []float64{1, 0.1, 0.01}

// fleetText is what many services take.
func fleetText(o options, m measured) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Computed by the same run from its own figures, for %s services of %s requests/s each, all alike the one above; lines with a public figure in them are estimates, and so are those that say it.\n\n",
		number(float64(o.services)), number(float64(o.rate)))
	t := &table{explained: true}
	head := []string{"what"}
	for _, share := range shares {
		head = append(head, fmt.Sprintf("%g %% sampled at the head", share*100))
	}
	t.add(append(head, "arithmetic")...)
	line := func(what, how string, of func(fleet) string) {
		row := []string{what}
		for _, share := range shares {
			row = append(row, of(fleet{o.services, o.rate, share}))
		}
		t.add(append(row, how)...)
	}
	line("requests/s", "services × rate; metrics count all of them", func(f fleet) string { return number(f.requests()) })
	line("spans/s", "× share × spans a request", func(f fleet) string { return number(f.spans(m)) })
	line("bytes/s on the wire", "requests/s × share × bytes a request", func(f fleet) string { return size(f.wire(m)) })
	line("the same with gzip", "", func(f fleet) string { return size(f.gzip(m)) })
	line("cores for perfline in all services", "requests/s × (CPU unsampled − without + share × (sampled − unsampled))", func(f fleet) string { return aboveNoise(f.serviceCores(m), number(f.serviceCores(m))) })
	line("of what the services take without it", "", func(f fleet) string { return aboveNoise(f.share(m), fmt.Sprintf("%.1f %%", 100*f.share(m))) })
	line(fmt.Sprintf("Collectors of %d cores, %.0f %% busy", collectorCores, collectorBusy*100), "spans/s × CPU a span, to a receiver that forgets them",
		func(f fleet) string { return number(collectors(f.spans(m), m)) })
	line("the same by the public figure", fmt.Sprintf("spans/s ÷ %s a core", number(collectorPublic)),
		func(f fleet) string {
			return number(math.Ceil(f.spans(m) / (collectorPublic * collectorCores * collectorBusy)))
		})
	line("Tempo: distributors, live-stores, queriers", "bytes/s ÷ 10, 6, 1 MB/s: the cautious end of the public figures", func(f fleet) string {
		b := f.wire(m)
		return fmt.Sprintf("%s, %s, %s", number(replicas(b, tempoDistributor)), number(replicas(b, tempoLiveStore)), number(replicas(b, tempoQuerier)))
	})
	line("Tempo as one process is enough", "up to 25 MB/s and 55 000 spans/s", func(f fleet) string {
		if f.oneTempo(m) {
			return "yes"
		}
		return "no"
	})
	line("Jaeger on ClickHouse: nodes of 4 OCPUs", "spans/s ÷ 52 129, nothing to spare, no copies", func(f fleet) string { return number(replicas(f.spans(m), clickHouseSpans)) })
	line("stored a day: Tempo", "spans × 58 bytes", func(f fleet) string { return size(perDay(f.spans(m) * tempoSpan)) })
	line("stored a day: Jaeger on ClickHouse", "spans × 76 bytes, one copy", func(f fleet) string { return size(perDay(f.spans(m) * clickHouseSpan)) })
	line("stored a day: Jaeger on Badger", "spans × the measured bytes; one node, for comparison only", func(f fleet) string { return size(perDay(f.spans(m) * m.onDisk)) })
	out.WriteString(t.String())

	out.WriteString("\nWhat does not depend on the head's share:\n\n")
	t = &table{explained: true}
	t.add("what", "", "arithmetic")
	whole := fleet{o.services, o.rate, 1}
	first, second := whole.tailCollectors(m)
	t.add("tail sampling: spans that wait, in memory", size(whole.tailMemory(m)),
		fmt.Sprintf("%v × all spans/s × bytes in the Collector's memory × %d, for Go's garbage", decisionWait, garbage))
	t.add("tail sampling: traces that wait", number(whole.tailTraces()), fmt.Sprintf("%v × requests/s, each a trace of its own; num_traces of all Collectors together", decisionWait))
	t.add("tail sampling: Collectors that find the right one", "at least "+number(first), "estimated: those for all spans, above; that load balancing splits batches by trace was not measured")
	t.add("tail sampling: Collectors that decide", "at least "+number(second), fmt.Sprintf("estimated: the memory ÷ %s each, or as many again, whichever is more", size(collectorMemory)))
	t.add("profiles/s", number(whole.profiles(m)), "services × profiles a second of the shop")
	t.add("profiles: bytes/s on the wire", size(whole.profiles(m)*m.profileWire), "× bytes a profile, measured")
	t.add("profiles: stored a day", size(perDay(whole.profiles(m)*m.profileStored)), "× bytes a profile on Pyroscope's disk, one copy, measured without compaction")
	out.WriteString(t.String())
	return out.String()
}

// aboveNoise is the text, unless the difference that v was computed of is below nothing:
// then it was too small for this run.
func aboveNoise(v float64, text string) string {
	if v < 0 {
		return "not measurable"
	}
	return text
}

func publicText() string {
	t := &table{explained: true}
	t.add("figure", "value", "source")
	for _, f := range publicFigures {
		t.add(f.what, f.value, "<"+f.source+">")
	}
	return t.String()
}

// measured is what the fleet is computed of.
func (c *curve) measured(receiver *target, sh shopped) measured {
	at := func(name string) sample {
		m, _ := c.find(name, runtime.NumCPU()).at(c.rate) // compare has measured all of them
		return m
	}
	with := at(curveWays[1].name)
	best, _ := receiver.best() // measureTargets has seen to it
	return measured{
		spans: with.spans, without: at(curveWays[0].name).cpu, with: with.cpu, unsampled: at(furtherWays[1].name).cpu,
		wire: with.wire, gzip: at(furtherWays[0].name).wire, collectorCPU: best.cpu,
		profiles: sh.perSecond(), profileWire: sh.profileWire, profileStored: sh.profileStored,
	}
}
