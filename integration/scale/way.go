package main

import (
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// A way is one that the service is run: with which telemetry, set up how.
type way struct {
	name      string
	telemetry trial.Telemetry
	env       []string // beside what subject.start gives to all
	spans     int      // that leave the process for each request
	profiled  bool     // its CPU is, all the time, for a Pyroscope
}

// The ways that every rate is tried with. That with perfline is the second: what the
// others cost is told beside the first, and the fleet is computed of the second.
var curveWays = []way{
	{name: "without", telemetry: trial.None},
	{name: "perfline", telemetry: trial.Perfline, spans: trial.SpansOfRequest},
	{name: "otelhttp + SDK", telemetry: trial.OpenTelemetry, spans: trial.SpansOfRequest},
}

// The ways that are compared at one rate beside those.
var furtherWays = []way{
	{
		name: "perfline, gzip", telemetry: trial.Perfline, spans: trial.SpansOfRequest,
		env: []string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"},
	},
	{
		name: "perfline, nothing sampled", telemetry: trial.Perfline,
		env: []string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"},
	},
	{name: "perfline and profiles", telemetry: trial.Perfline, spans: trial.SpansOfRequest, profiled: true},
}

// inUse is what the service holds besides, as services do: with an empty heap, garbage
// would be collected all the time, which telemetry that makes garbage would have to
// answer for.
const inUse = 32 << 20

// environment is what the service is started with: how many processors, how long spans
// wait for their batch at most, where the Collector and Pyroscope are.
func (w way) environment(procs int, wait time.Duration, traces, profiles string) []string {
	env := append([]string{
		fmt.Sprintf("GOMAXPROCS=%d", procs),
		"OTEL_SERVICE_NAME=scale",
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + traces,
		fmt.Sprintf("OTEL_BSP_SCHEDULE_DELAY=%d", wait.Milliseconds()),
	}, w.env...)
	if w.profiled {
		env = append(env, "PYROSCOPE_SERVER_ADDRESS="+profiles)
	}
	return env
}
