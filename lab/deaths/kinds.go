package main

import (
	"context"
	"fmt"
	"net/http"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/lab/internal/cgroup"
)

// A kind is a kind of deaths.
type kind struct {
	name, what  string
	kind, alone blackbox.Kind // with the note of the parent, and without
	crashes     bool          // the report names the request that died
	unwinds     bool          // the panic may end the request before the process dies
	group       bool          // the process has a limit of memory
	every       int           // 1: odd deaths only, 2: even ones only; 0: all
	die         func(context.Context, *service) error
}

// memoryLimit is of the service's control group.
const memoryLimit = 256 << 20

func memorySettings(second bool) []cgroup.Setting {
	text := fmt.Sprint(memoryLimit)
	if second {
		return []cgroup.Setting{{File: "memory.max", Text: text},
			{File: "memory.swap.max", Text: "0", Optional: true}}
	}
	return []cgroup.Setting{{File: "memory.limit_in_bytes", Text: text},
		{File: "memory.memsw.limit_in_bytes", Text: text, Optional: true}}
}

// kinds are the kinds of deaths. os.Exit and log.Fatal share their deaths.
var kinds = []kind{
	{
		name: "map", what: "concurrent map writes", kind: blackbox.FatalError,
		alone: blackbox.FatalError, crashes: true, die: asks("map"),
	},
	{
		name: "nil", what: "nil pointer in a goroutine of a handler", kind: blackbox.Panic,
		alone: blackbox.Panic, crashes: true, die: asks("nil"),
	},
	{
		name: "handler", what: "panic in a handler of gRPC", kind: blackbox.Panic,
		alone: blackbox.Panic, crashes: true, unwinds: true, die: calls,
	},
	{
		name: "stack", what: "stack overflow", kind: blackbox.FatalError,
		alone: blackbox.FatalError, crashes: true, die: asks("stack"),
	},
	{
		name: "kill", what: "SIGKILL", kind: blackbox.Killed, alone: blackbox.Gone,
		die: signals(syscall.SIGKILL),
	},
	{
		name: "memory", what: "memory limit of a control group", kind: blackbox.MemoryLimit,
		alone: blackbox.MemoryLimit, group: true, die: asks("memory"),
	},
	{
		name: "exit", what: "`os.Exit(3)`", kind: blackbox.Exited, alone: blackbox.Gone, every: 2,
		die: asks("exit"),
	},
	{
		name: "fatal", what: "`log.Fatal`", kind: blackbox.Exited, alone: blackbox.Gone, every: 1,
		die: asks("fatal"),
	},
	{
		name: "shutdown", what: "SIGTERM, and `Shutdown`", kind: blackbox.Ended,
		alone: blackbox.Ended, die: signals(syscall.SIGTERM),
	},
}

// standIn returns SIGKILL in place of the memory limit, and says why there is none.
func standIn(k kind, why error) kind {
	k.what = fmt.Sprintf("SIGKILL in place of the memory limit (%v)", why)
	k.kind, k.alone, k.group = blackbox.Killed, blackbox.Gone, false
	k.die = signals(syscall.SIGKILL)
	return k
}

// signals sends a signal to the process.
func signals(s syscall.Signal) func(context.Context, *service) error {
	return func(_ context.Context, v *service) error { return v.command.Process.Signal(s) }
}

// asks makes the request that ends the process. The request has no answer.
func asks(how string) func(context.Context, *service) error {
	return func(ctx context.Context, v *service) error {
		id := newTrace()
		v.dying = id.String()
		_ = v.get(ctx, http.DefaultClient, "/die/"+how, id)
		return nil
	}
}

// calls makes the call that ends the process.
func calls(ctx context.Context, v *service) error {
	id := newTrace()
	v.dying = id.String()
	conn, err := grpc.NewClient(v.calls, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", parentOf(id))
	_, _ = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return nil
}
