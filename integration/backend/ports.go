package backend

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// loopbackPorts are the ports of servers and proxies. They are below the ports that the kernel
// gives to connections (32768 and above on Linux). A connection could otherwise take the port of a
// server that does not have it yet, or that is down.
var loopbackPorts = portRange{20_000, 12_000}

// A portRange is a first port and how many there are.
type portRange struct{ first, count int }

// A port of 127.0.0.1 is reserved until release, also while no server listens there. Several
// processes run tests at the same time: each of them sees the UDP socket at the same port.
type port struct {
	number      int
	reservation net.PacketConn
}

// release gives the port back. A second call does nothing.
func (p port) release() { _ = p.reservation.Close() }

// reserve picks a port that is free, and reserves it.
func (r portRange) reserve(ctx context.Context) (port, error) {
	var err error
	for range 1000 {
		var p port
		if p, err = reserve(ctx, r.first+rand.IntN(r.count)); err == nil {
			return p, nil
		}
	}
	return port{}, fmt.Errorf("no port from %d to %d is free: %w", r.first, r.first+r.count-1, err)
}

func reserve(ctx context.Context, number int) (port, error) {
	address := "127.0.0.1:" + strconv.Itoa(number)
	reservation, err := new(net.ListenConfig).ListenPacket(ctx, "udp", address)
	if err != nil {
		return port{}, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return port{}, errors.Join(err, reservation.Close())
	}
	return port{number, reservation}, nil
}
