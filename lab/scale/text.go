package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/document"
)

// collectorText is what one Collector carries.
func collectorText(o options, targets []*target, shop shopRun) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s, with batches of %d of the shop's spans, %s a span. They are sent over %d connections at rates that double, %v each, through the Collector of deploy/collector.yaml. ",
		document.Machine(), shop.batch.spans(),
		size(float64(shop.batch.bytes())/float64(shop.batch.spans())), connections, o.length)
	fmt.Fprintf(&out, "A rate is sustained when no batch is refused and p99 of the answers is at most %s. After the same time, the Collector's queue may hold only the spans of %s. ", duration(sustainedAnswer), duration(heldQueue))
	out.WriteString("“Highest” is a lower bound: the sender, the Collector and the receiver share the cores. CPU a span depends little on the load, and a core has as many spans as fit into a second of it.\n\n")
	t := &table{}
	t.add("the spans go to", "highest sustained rate, spans/s", "what gave way above",
		"p99 of the answers", "CPU of the Collector a span", "spans/s and core",
		"memory of the Collector, at most", "CPU of what is behind it a span")
	for _, target := range targets {
		best, ok := target.best()
		if !ok {
			t.add(target.name, "none", target.failed.why(), none, none, none, none, none)
			continue
		}
		above, backend := target.failed.why(), none
		if math.IsInf(target.search.not, 1) {
			above = "nothing: no higher rate was tried"
		}
		if target.jaeger != nil {
			backend = duration(best.jaegerCPU)
		}
		t.add(target.name, number(best.rate), above, duration(best.p99), duration(best.cpu),
			number(perCore(best.cpu)), size(float64(best.memory)), backend)
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

// storageText is what a request sends, and what is stored of it.
func storageText(o options, shop shopRun, inMemory, onDisk float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured on %s. Requests and spans are the shop's; profiles are what it sent in %v at %d requests/s, uploaded each %v: %d of all types.\n\n",
		document.Machine(), shop.length, shopRate, shop.interval, shop.profiles)
	t := &table{explained: true}
	t.add("what", "figure", "how")
	t.add("spans of a request", number(shop.requestSpans), "all spans, divided by requests")
	t.add("bytes of a request's spans on the wire", number(shop.requestWire),
		"with gRPC's headers, not compressed")
	t.add("the same with gzip", number(shop.requestWire*shop.compressed),
		"× what gzip leaves of a batch of spans")
	t.add("bytes of a span in OTLP, not compressed", number(shop.spanBytes), "all spans")
	t.add("bytes of a span in the Collector's memory", number(inMemory),
		"the heap that decoded batches take, of the Collector's own types")
	t.add("bytes of a span on Jaeger's disk, with Badger", number(onDisk),
		fmt.Sprintf("the folder's files after %s spans and an orderly end",
			number(float64(o.disk))))
	t.add("profiles of a service in a minute", number(60*shop.profilesPerSecond()),
		"profiles of one upload ÷ interval of uploads")
	t.add("bytes of a profile on the wire", number(shop.profileWire),
		"with HTTP's headers, compressed")
	t.add("bytes of a profile on Pyroscope's disk", number(shop.profileStored),
		"the folder's files after an orderly end, of one service, without compaction")
	out.WriteString(t.String())
	return out.String()
}
