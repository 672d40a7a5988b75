package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
)

// collectorText is what one Collector carries.
func collectorText(o options, targets []*target, sh shopped) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s: batches of %d of the shop's spans, %s a span, sent over %d connections at rates that double, %v each, through the Collector of deploy/collector.yaml. ",
		machine(), sh.batch.spans(), size(float64(len(sh.batch.request))/float64(sh.batch.spans())), connections, o.length)
	fmt.Fprintf(&out, "A rate is held when nothing is refused, p99 of the answers is at most %s, and as long after the end no more is left in the Collector's queue than it is to take in %s. ", duration(heldSpans), duration(heldQueue))
	out.WriteString("“Highest” is a lower bound: the sender, the Collector and the receiver share the cores. CPU a span depends little on the load, and a core has as many spans as fit into a second of it.\n\n")
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
	fmt.Fprintf(&out, "Computed by the same run from its own figures, for %s services of %s requests/s each. Their requests are the shop's: %s spans and %s on the wire each. Lines with a public figure in them are estimates, and so are those that say it.\n\n",
		number(float64(o.services)), number(float64(o.rate)), number(m.spans), size(m.wire))
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
	line("the same with gzip", "× what gzip leaves of a batch of the shop's spans", func(f fleet) string { return size(f.gzip(m)) })
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

func publicText() string {
	t := &table{explained: true}
	t.add("figure", "value", "source")
	for _, f := range publicFigures {
		t.add(f.what, f.value, "<"+f.source+">")
	}
	return t.String()
}

// figuresOf returns the figures that the fleet is computed from.
func figuresOf(receiver *target, sh shopped, inMemory, onDisk float64) measured {
	best, _ := receiver.best() // measureTargets has seen to it
	return measured{
		spans: sh.requestSpans, wire: sh.requestWire, gzip: sh.requestWire * sh.compressed,
		collectorCPU: best.cpu, inMemory: inMemory, onDisk: onDisk,
		profiles: sh.perSecond(), profileWire: sh.profileWire, profileStored: sh.profileStored,
	}
}

// machine says where the figures are from.
func machine() string {
	model := "an unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores (%s), %s, %s/%s", runtime.NumCPU(), model, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
