package main

import (
	"context"

	"github.com/perfline/perfline/bridge"
)

// A variant is one way to make a service's telemetry and to deliver it.
type variant struct {
	name         string
	instrumented func() instrumentation
	open         opener
}

// An opener sets up the telemetry of a process, with OpenTelemetry's globals.
type opener func(context.Context, setting) (*pipeline, error)

const (
	none      = "none"
	reference = "otelhttp + SDK + otlptracegrpc"
	provided  = "otelhttp + bridge.TracerProvider + our exporter"
	pipelined = "perfline.Start + middleware"
	forgetful = "perfline.Start + middleware, Keep off"
	exported  = "otelhttp + SDK + our exporter"
	bridged   = "otelhttp + SDK + bridge.NewProcessor, otlptracegrpc"
	both      = "otelhttp + SDK + bridge.NewProcessor, our exporter"
	complete  = "perfline.Start + middleware + page"
)

// variants begins with the two that the others are compared with. A further variant is a
// line.
var variants = []variant{
	{none, bare, nothing},
	{reference, contrib, sdk(batched)},
	{exported, contrib, sdk(ours)},
	{provided, contrib, ownProvider},
	{pipelined, native, perflineStart(bridge.KeepPolicy{})},
	{forgetful, native, perflineStart(bridge.KeepPolicy{Off: true})},
	{bridged, beside, sdk(batched, joined)},
	{both, beside, sdk(ours, joined)},
}

// judged are the judge's variants. The last one is the README's program.
var judged = []variant{
	{none, bare, nothing},
	{reference, contrib, sdk(batched)},
	{exported, contrib, sdk(ours)},
	{complete, durationsOnly, withPage},
}
