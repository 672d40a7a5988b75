package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
)

// A device is reached by files that the network poller does not take: a thread waits in the system
// call.
type device struct{ request, answer int } // file descriptors

// print waits until the device, which is in another process, has answered.
func (d *device) print(ctx context.Context, takes time.Duration) error {
	_, span := otel.Tracer("shop").Start(ctx, "device.print")
	defer span.End()
	return d.ask(takes)
}

//go:noinline
func (d *device) ask(takes time.Duration) error {
	if _, err := syscall.Write(d.request, []byte(takes.String()+"\n")); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	var answer [1]byte
	for {
		n, err := syscall.Read(d.answer, answer[:])
		switch {
		case err == syscall.EINTR:
		case err != nil || n != 1:
			return fmt.Errorf("device: %d bytes: %w", n, err)
		default:
			return nil
		}
	}
}
