package faulttest

import (
	"context"
	"net"
	"sync"

	"github.com/perfline/perfline/internal/memnet"
)

// A network leads to the receiver. Connections are refused while nothing listens there.
type network interface {
	Listen() net.Listener
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

var _ network = (*memnet.Network)(nil)

// ports is a network of the machine's own ports: each listener has another one. After its end,
// nobody is dialed: another program may have the port then.
type ports struct {
	mu       sync.Mutex
	listener net.Listener // nil: nothing listens
}

// A port is a listener of ports.
type port struct {
	net.Listener
	ports *ports
}

// Close closes the listener. Dial then fails until the next call of Listen. Close implements
// net.Listener.
func (p *port) Close() error {
	p.ports.mu.Lock()
	defer p.ports.mu.Unlock()
	if p.ports.listener == p {
		p.ports.listener = nil
	}
	return p.Listener.Close()
}

// nobody is an address where nothing listens.
const nobody = "127.0.0.1:1"

// Listen returns a listener on a free port of the machine. Listen implements network.
func (p *ports) Listen() net.Listener {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	p.listener = &port{l, p}
	return p.listener
}

// Dial connects to the port of the last open listener, and ignores the address. Without a listener,
// Dial returns an error. Dial implements network.
func (p *ports) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	p.mu.Lock()
	to := nobody
	if p.listener != nil {
		to = p.listener.Addr().String()
	}
	p.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, to)
}
