package main

import (
	"math"
	"time"
)

// measured is what the arithmetic for a fleet starts from: this run's figures.
type measured struct {
	spans         float64       // a request
	wire, gzip    float64       // bytes of a sampled request on the wire, plain and compressed
	collectorCPU  time.Duration // a span
	inMemory      float64       // bytes of a span in the Collector's memory
	onDisk        float64       // bytes of a span on Jaeger's disk, with Badger
	profiles      float64       // of a service, a second
	profileWire   float64       // bytes of a profile, on the wire
	profileStored float64       // bytes of a profile, on Pyroscope's disk
}

// A fleet is many services, whose requests are the shop's.
type fleet struct {
	services int
	rate     int     // requests a second of each
	sampled  float64 // the share of requests that is, by a decision at the head; 0 to 1
}

// How the Collectors and what is behind them are filled.
const (
	collectorCores  = 4
	collectorBusy   = 0.6              // of its cores, on average: the rest is for peaks and for one that is missing
	decisionWait    = 10 * time.Second // of deploy/collector-tail.yaml
	collectorMemory = 8e9              // bytes that a Collector with tail sampling has for spans that wait
	garbage         = 2                // what Go's heap takes at GOGC=100, of what is live in it
	day             = 24 * time.Hour
)

// Public figures, of others' machines. Their sources are in the table of them.
const (
	tempoDistributor = 10e6                // bytes/s of received traffic, one replica
	tempoLiveStore   = 6e6                 // the same; the lower end of 6 to 10
	tempoQuerier     = 1e6                 // the same; the lower end of 1 to 2
	tempoOneProcess  = 25e6                // the same; the lower end of 25 to 35
	tempoOneSpans    = 55_000.             // spans/s, the other half of that figure; the lower end of 55 000 to 80 000
	tempoSpan        = 600e6 / 10_428_415. // bytes on disk
	clickHouseSpan   = 722.09 * (1 << 20) / 10_000_000
	clickHouseSpans  = 52_129. // a second, one node
	collectorPublic  = 15_000. // spans a second and core
)

// publicFigures are where the constants above are from.
var publicFigures = []struct{ what, value, source string }{
	{"Tempo, microservices: received traffic of a distributor (2 cores, 2 GB), a live-store (1 core, 4–20 GB), a querier", "10 MB/s; 6–10 MB/s; 1–2 MB/s", "https://grafana.com/docs/tempo/next/set-up-for-tracing/setup-tempo/plan/size/"},
	{"Tempo, one process: the traffic up to which it is recommended", "25–35 MB/s or 55 000–80 000 spans/s", "https://grafana.com/docs/tempo/next/set-up-for-tracing/setup-tempo/plan/deployment-modes/"},
	{"Tempo's blocks (Parquet, a prototype of 2022): a block of about 600 MB, divided by the 10 428 415 values of its column of span ids", "58 bytes a span", "https://github.com/grafana/tempo/blob/main/docs/design-proposals/2022-04%20Parquet.md"},
	{"Jaeger with ClickHouse, one node of 4 OCPUs (8 virtual CPUs) and 60 GB: 10 million spans with 11 attributes in 722.09 MiB", "76 bytes a span, 52 129 spans/s", "https://github.com/jaegertracing/jaeger/blob/main/internal/storage/v2/clickhouse/BENCHMARKING.md"},
	{"A Collector (Splunk's distribution), for comparison with the measured one", "15 000 spans/s and core", "https://help.splunk.com/splunk-observability-cloud/manage-data/splunk-distribution-of-the-opentelemetry-collector/get-started-with-the-splunk-distribution-of-the-opentelemetry-collector/collector-requirements/sizing-and-scaling"},
	{"The tail_sampling processor's decision_wait and num_traces when nothing is said; deploy/collector-tail.yaml says 10 s", "30 s, 50 000", "https://github.com/open-telemetry/opentelemetry-collector-contrib/blob/main/processor/tailsamplingprocessor/README.md"},
}

func (f fleet) requests() float64 { return float64(f.services) * float64(f.rate) }

// spans leave the services each second.
func (f fleet) spans(m measured) float64 { return f.requests() * f.sampled * m.spans }

// wire is what leaves the services, in bytes a second.
func (f fleet) wire(m measured) float64 { return f.requests() * f.sampled * m.wire }

// gzip is what does when they compress it.
func (f fleet) gzip(m measured) float64 { return f.requests() * f.sampled * m.gzip }

// collectors is how many are needed for spans a second.
func collectors(spans float64, m measured) float64 {
	return math.Ceil(spans * m.collectorCPU.Seconds() / (collectorCores * collectorBusy))
}

// oneTempo tells whether one process of Tempo is enough, by bytes and by spans.
func (f fleet) oneTempo(m measured) bool {
	return f.wire(m) <= tempoOneProcess && f.spans(m) <= tempoOneSpans
}

// tailMemory is what waits for a decision at the tail, in bytes: all spans, whatever is
// kept in the end.
func (f fleet) tailMemory(m measured) float64 {
	return fleet{f.services, f.rate, 1}.spans(m) * decisionWait.Seconds() * m.inMemory * garbage
}

// tailTraces is how many traces that is, when each request is one: num_traces of all
// Collectors together.
func (f fleet) tailTraces() float64 { return f.requests() * decisionWait.Seconds() }

// tailCollectors is how many Collectors tail sampling needs, at least: one tier that finds the
// right Collector by the trace id, whose CPU was not measured and is taken for that of a Collector
// without it, and one that decides, by memory or by processors, whichever is more.
func (f fleet) tailCollectors(m measured) (first, second float64) {
	all := fleet{f.services, f.rate, 1}.spans(m)
	first = collectors(all, m)
	return first, max(first, math.Ceil(f.tailMemory(m)/collectorMemory))
}

// perDay is bytes a second as bytes a day.
func perDay(bytesPerSecond float64) float64 { return bytesPerSecond * day.Seconds() }

// profiles are those of all services in a second.
func (f fleet) profiles(m measured) float64 { return float64(f.services) * m.profiles }

// replicas is how many are needed when one takes so much.
func replicas(of, one float64) float64 { return math.Ceil(of / one) }
