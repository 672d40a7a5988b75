package main

import (
	"context"
	"io"
	"log/slog"
	"runtime/trace"
)

const peerGroup = "other ways"

// peerRows are what the standard library has for saying that something happened.
func peerRows() (rows []*row) {
	ctx := context.Background()
	add := func(name string, burst int, op func(int), settle func() error) {
		rows = append(rows, &row{group: peerGroup, name: name, procs: 1,
			open: func() (*bench, error) {
				return &bench{burst: burst, op: op, settle: settle}, nil
			}})
	}
	log := func(n int) {
		for range n {
			trace.Log(ctx, "m", "v")
		}
	}
	region := func(n int) {
		for range n {
			trace.StartRegion(ctx, "r").End()
		}
	}
	add("`runtime/trace.Log`, off", burst, log, nil)
	add("`runtime/trace.StartRegion…End`, off", burst, region, nil)
	for _, r := range []struct {
		name string
		op   func(int)
	}{{"`runtime/trace.Log`, on", log}, {"`runtime/trace.StartRegion…End`, on", region}} {
		rows = append(rows, &row{group: peerGroup, name: r.name, procs: 1,
			open: func() (*bench, error) {
				return &bench{burst: burst, op: r.op, around: tracing}, nil
			}})
	}
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	add("`slog`, JSON to nowhere, 2 attributes", burst, func(n int) {
		for i := range n {
			logger.LogAttrs(ctx, slog.LevelInfo, "m", slog.String("k", "v"), slog.Int("n", i))
		}
	}, nil)
	return rows
}

// tracing takes an execution trace until the returned function is called. The writing
// at its end is in no column.
func tracing() (stop func(), err error) {
	if err := trace.Start(io.Discard); err != nil {
		return nil, err
	}
	return trace.Stop, nil
}
